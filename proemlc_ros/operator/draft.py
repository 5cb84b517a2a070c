# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One operator's desk: the frozen moment and the marks on it, until they are sent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from proemlc_ros.classifier.records import Annotation, StampedPrediction, StampedVector
from proemlc_ros.operator.recent_vectors import RecentVectors


def annotation_about(moments: RecentVectors, stamp: int, labels: tuple[str, ...],
                     absent: tuple[str, ...] = (), complete: bool = True,
                     annotator: str = '') -> Annotation:
    """Return an annotation of one moment, with its features where they are still at hand.

    The stamp goes along in any case, so that the journal tells when it was; without the features
    the classifier looks the moment up in its own buffer, or says that it is gone.
    """
    said = Annotation(stamp, labels, absent, complete, annotator=annotator)
    moment = moments.find(stamp)
    return said if moment is None else said.about(moment)


@dataclass(slots=True)
class AnnotationDraft:
    """The frozen moment with its marks.

    Args:
        moments: where the features of the moments are kept.
        annotator: who sits at the desk.
        frozen: the moment being labelled, None while live.
        rest_absent: whether unmarked labels are absent; else they are unknown.
        marks: present (True) or absent (False), by label.
    """

    moments: RecentVectors
    annotator: str = ''
    frozen: StampedPrediction | None = None
    rest_absent: bool = True
    marks: dict[str, bool] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the marks are the whole truth.

        Who marks something as absent by hand corrects a detail, and says nothing of the rest.
        """
        return self.rest_absent and all(self.marks.values())

    def freeze(self, sight: StampedPrediction, moment: StampedVector | None = None) -> None:
        """Hold the moment that the operator sees; marks of another moment are dropped."""
        if self.frozen is None or self.frozen.stamp != sight.stamp:
            self.marks.clear()
        self.frozen = sight
        self.moments.hold(sight.stamp, moment)

    def release(self) -> None:
        """Drop the moment and its marks: back to live."""
        self.frozen = None
        self.marks.clear()

    def press(self, name: str) -> bool | None:
        """Step a label's mark on: none, present, absent, none; return the new mark."""
        mark = {None: True, True: False, False: None}[self.marks.get(name)]
        if mark is None:
            del self.marks[name]
        else:
            self.marks[name] = mark
        return mark

    def mark(self, name: str, present: bool) -> None:
        """Mark a label as present or absent."""
        self.marks[name] = present

    def drop_lost(self, before: Collection[str], after: Collection[str]) -> list[str]:
        """Drop the marks of labels that somebody renamed or removed, so that none comes back.

        Args:
            before: the labels that were known.
            after: those that are known now.

        Returns:
            The labels whose marks were dropped.
        """
        lost = [name for name in self.marks if name in before and name not in after]
        for name in lost:
            del self.marks[name]
        return lost

    def annotation(self) -> Annotation:
        """Return what the marks say about the frozen moment.

        Raises:
            ValueError: nothing is frozen.
        """
        present = tuple(name for name, mark in self.marks.items() if mark)
        absent = tuple(name for name, mark in self.marks.items() if not mark)
        return self._say(present, absent, self.complete)

    def none_of_them(self) -> Annotation:
        """Return that the frozen moment shows no label at all, whatever is marked.

        Raises:
            ValueError: nothing is frozen.
        """
        return self._say((), (), complete=True)

    def _say(self, present: tuple[str, ...], absent: tuple[str, ...],
             complete: bool) -> Annotation:
        if self.frozen is None:
            raise ValueError('no moment is frozen')
        return annotation_about(
            self.moments, self.frozen.stamp, present, absent, complete, self.annotator)
