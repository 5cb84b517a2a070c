# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of the screen that take keys: a line being typed, and the pages of labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.operator.similar import completion, matching

ENTER = frozenset({'\n', '\r', 'KEY_ENTER'})
BACKSPACE = frozenset({'\x7f', '\b', 'KEY_BACKSPACE'})
ESCAPE = '\x1b'
TAB = '\t'
ERASE_LINE = '\x15'
MAX_LENGTH = 200
# Keys of the labels on the screen: digits, then the letters that have no other function.
LABEL_KEYS = '123456789befghijkmoptvwyz'


@dataclass(slots=True)
class Prompt:
    """A line that the operator types.

    Args:
        prefix: shown before the text.
        done: called with the text after Enter.
        known: names that Tab completes; None for no completion.
        text: typed so far.
        changed: called after each change of the text.
    """

    prefix: str
    done: Callable[[str], None]
    known: Sequence[str] | None = None
    text: str = ''
    changed: Callable[[str], None] = lambda text: None

    def key(self, key: str) -> bool:
        """Take a key; return whether the prompt stays open. Enter closes it and calls `done`."""
        if key == ESCAPE:
            return False
        if key in ENTER:
            self.done(self.text.strip())
            return False
        before = self.text
        if key in BACKSPACE:
            self.text = self.text[:-1]
        elif key == ERASE_LINE:
            self.text = ''
        elif key == TAB and self.known is not None:
            self.text = completion(self.text, self.known)
        elif len(key) == 1 and key.isprintable() and len(self.text) < MAX_LENGTH:
            self.text += key
        if self.text != before:
            self.changed(self.text)
        return True

    def suggestions(self, limit: int = 8) -> list[str]:
        """Return known names that the text may become."""
        if not self.known or not self.text:
            return []
        return matching(self.text, self.known)[:limit]


@dataclass(slots=True)
class LabelPages:
    """The labels that pass the filter, page by page.

    Args:
        view: has the labels.
        draft: may have marks on labels that are still unknown.
        filter: part of a name.
        size: labels that fit on the screen.
    """

    view: ClassifierView
    draft: AnnotationDraft
    filter: str = ''
    size: int = len(LABEL_KEYS)
    _page: int = 0

    def names(self) -> list[str]:
        """Return the labels that pass the filter; newly typed ones first."""
        known = self.view.labels.names
        typed = [name for name in self.draft.marks if name not in known]
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
