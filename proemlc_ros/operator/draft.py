# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One operator's annotation draft: a frozen prediction and the marks on it, until it is sent."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from proemlc_ros.operator.recent import RecentVectors
from proemlc_ros.records import WHOLE, Annotation, Region, StampedPrediction, StampedVector, Vector

# Vectors of one burst that a new one is compared with, the last ones.
_COMPARED = 50
# Bursts that are remembered; several people may record at once.
_MOST_BURSTS = 32
# Distance between two samples of a burst, relative to their length, that makes a near copy.
NEAR_COPY = 0.02
# Near copies in a row after which more of the same view brings nothing.
_MANY_COPIES = 3
_ANOTHER_VIEW = ('More of this view brings nothing: turn it, change the light, or show it in '
                 'another place.')
_REQUEST = re.compile(r'burst:([0-9a-f]{12}):(\d{1,9})')


def annotation_at(vectors: RecentVectors, stamp: int, labels: tuple[str, ...],
                  absent: tuple[str, ...] = (), complete: bool = True,
                  annotator: str = '', vector: StampedVector | None = None,
                  region: Region = WHOLE) -> Annotation:
    """Return an annotation of one stamp, with its feature vector where that is still kept.

    The stamp is sent in any case, for the journal. Without the vector the classifier looks the
    stamp up in its own buffer, or answers that it is gone.

    Args:
        vectors: where the feature vectors are kept.
        stamp: nanoseconds.
        labels: names that are present.
        absent: names that are absent.
        complete: whether every name that is not listed is absent.
        annotator: who says so.
        vector: that of the region, where the caller has it.
        region: that the annotation is about.
    """
    annotation = Annotation(stamp, labels, absent, complete, annotator=annotator, region=region)
    if vector is None and region.is_whole:
        vector = vectors.find(stamp)
    return annotation if vector is None else annotation.about(vector)


@dataclass(slots=True)
class AnnotationDraft:
    """A frozen prediction with its marks.

    Args:
        vectors: where the feature vectors are kept.
        annotator: who annotates.
        frozen: the prediction being annotated, None while live.
        rest_absent: whether unmarked labels are absent; otherwise they are unknown.
        marks: present (True) or absent (False), by label.
    """

    vectors: RecentVectors
    annotator: str = ''
    frozen: StampedPrediction | None = None
    rest_absent: bool = True
    marks: dict[str, bool] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether unmarked labels are absent.

        Somebody who marks a label as absent by hand corrects a detail, and says nothing of the
        rest.
        """
        return self.rest_absent and all(self.marks.values())

    @property
    def has_vector(self) -> bool:
        """Whether the feature vector of the frozen prediction is here.

        Without it the classifier must still have the vector in its buffer when the annotation
        comes.
        """
        return self.frozen is not None and self.vectors.find(self.frozen.stamp) is not None

    def freeze(self, prediction: StampedPrediction, vector: StampedVector | None = None) -> None:
        """Hold what the operator sees; marks on another prediction are dropped.

        Args:
            prediction: what is annotated.
            vector: its feature vector where the caller has it, such as from a query.
        """
        if self.frozen is None or self.frozen.stamp != prediction.stamp:
            self.marks.clear()
        self.frozen = prediction
        self.vectors.hold(prediction.stamp, vector)

    def release(self) -> None:
        """Drop the frozen prediction and its marks: back to live."""
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
        """Drop the marks of labels that somebody renamed or removed; a mark would restore them.

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
        """Return the annotation that the marks make.

        Raises:
            ValueError: nothing is frozen.
        """
        present = tuple(name for name, mark in self.marks.items() if mark)
        absent = tuple(name for name, mark in self.marks.items() if not mark)
        return self._annotation(present, absent, self.complete)

    def none_of_them(self) -> Annotation:
        """Return the annotation that no label is present, whatever is marked.

        Raises:
            ValueError: nothing is frozen.
        """
        return self._annotation((), (), complete=True)

    def _annotation(self, present: tuple[str, ...], absent: tuple[str, ...],
                    complete: bool) -> Annotation:
        if self.frozen is None:
            raise ValueError('nothing is frozen: call freeze first')
        return annotation_at(
            self.vectors, self.frozen.stamp, present, absent, complete, self.annotator)


def burst_request(burst: str, number: int) -> str:
    """Return the request id of one sample of a burst; the journal keeps it.

    >>> burst_request('0123456789ab', 4)
    'burst:0123456789ab:4'
    """
    return f'burst:{burst}:{number}'


def burst_of(request_id: str) -> str:
    """Return the burst that a request belongs to, empty where it is of none.

    >>> burst_of('burst:0123456789ab:4'), burst_of('another id')
    ('0123456789ab', '')
    """
    found = _REQUEST.fullmatch(request_id)
    return found[1] if found else ''


class NearCopies:
    """Tells which samples of a burst show nothing new.

    Args:
        distance: from one vector to another, relative to its length, below which it is a near
            copy; 0 leaves out identical ones only.

    >>> copies = NearCopies(0.1)
    >>> [copies.is_near('b', np.array([x, 1.0], np.float32)) for x in (1.0, 1.01, 1.5)]
    [False, True, False]
    """

    def __init__(self, distance: float = NEAR_COPY) -> None:
        self._distance = distance
        self._in_row = 0
        self._kept: OrderedDict[str, deque[Vector]] = OrderedDict()

    @property
    def advice(self) -> str:
        """What would teach more than the last vectors did; empty while they bring something."""
        return _ANOTHER_VIEW if self._in_row >= _MANY_COPIES else ''

    def is_near(self, burst: str, vector: Vector) -> bool:
        """Tell whether a vector is a near copy of one of its burst; if not, it is kept."""
        kept = self._kept.setdefault(burst, deque(maxlen=_COMPARED))
        if len(self._kept) > _MOST_BURSTS:
            self._kept.popitem(last=False)
        limit = self._distance * float(np.linalg.norm(vector))
        if any(other.shape == vector.shape
               and float(np.linalg.norm(other - vector)) <= limit for other in kept):
            self._in_row += 1
            return True
        kept.append(vector)
        self._in_row = 0
        return False
