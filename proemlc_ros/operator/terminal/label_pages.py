# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which labels are on the screen, and by which keys they are marked."""

from __future__ import annotations

from dataclasses import dataclass

from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.operator.similar import matching

# Keys of the labels on the screen: digits, then the letters that mean nothing else.
LABEL_KEYS = '123456789befghijkmoptvwyz'


@dataclass(slots=True)
class LabelPages:
    """The labels that pass the filter, page by page.

    Args:
        robot: whose labels.
        desk: which may have marked labels that are still unknown.
        filter: part of a name.
        size: labels that fit on the screen.
    """

    robot: ClassifierView
    desk: AnnotationDraft
    filter: str = ''
    size: int = len(LABEL_KEYS)
    _page: int = 0

    def names(self) -> list[str]:
        """Return the labels that pass the filter; newly typed ones first."""
        known = self.robot.labels.names
        typed = [name for name in self.desk.marks if name not in known]
        return typed + matching(self.filter, known)

    def visible(self) -> list[tuple[str, str]]:
        """Return key and label of those on the screen."""
        names = self.names()
        size = max(1, min(self.size, len(LABEL_KEYS)))
        self._page = max(0, min(self._page, (len(names) - 1) // size))
        return list(zip(LABEL_KEYS, names[self._page * size:][:size], strict=False))

    def narrow(self, text: str) -> None:
        """Filter by another text, from the first page on."""
        self.filter, self._page = text, 0

    def next(self) -> None:
        """Turn to the next page, if there is one."""
        self._page += 1

    def previous(self) -> None:
        """Turn back a page."""
        self._page -= 1
