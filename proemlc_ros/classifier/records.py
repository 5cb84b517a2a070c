# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What passes between nodes, journal, bags and operators, as plain objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
NANOSECONDS = 1_000_000_000
Kind = TypeVar('Kind')


def _by_identity(kind: type[Kind]) -> type[Kind]:
    """Make each tuple equal to itself alone; the arrays in them do not compare as a whole."""
    for name in ('__eq__', '__ne__', '__hash__'):
        setattr(kind, name, getattr(object, name))
    return kind


# Named tuples: frozen dataclasses take four times as long to make, and recordings have millions.
@_by_identity
class StampedVector(NamedTuple):
    """A feature vector and when it was sensed.

    Args:
        stamp: nanoseconds; 0 where the source gives no time.
        data: the values, shape (d,).
        extractor: what made the values, empty where not stated.
    """

    stamp: int
    data: Vector
    extractor: str = ''


@_by_identity
class Annotation(NamedTuple):
    """What an operator says about one moment.

    Args:
        stamp: nanoseconds of the moment meant; 0 means the newest one.
        labels: names that are present.
        absent: names that are absent; matters where `complete` is false.
        complete: whether every name that is not listed is absent.
        features: the values themselves, or None to look them up by stamp.
        extractor: what made the features.
        annotator: who says so.
    """

    stamp: int
    labels: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True
    features: Vector | None = None
    extractor: str = ''
    annotator: str = ''

    def about(self, moment: StampedVector) -> Annotation:
        """Return the same statement with the moment's own stamp, values and extractor."""
        return Annotation(moment.stamp, self.labels, self.absent, self.complete, moment.data,
                          moment.extractor, self.annotator)

    def bare(self) -> Annotation:
        """Return the same statement without the values."""
        return self._replace(features=None)

    def renamed(self, old: str, new: str) -> Annotation:
        """Return the same statement after a label got another name."""
        return self._replace(labels=_renamed(self.labels, old, new),
                             absent=_renamed(self.absent, old, new))

    def without(self, names: Iterable[str]) -> Annotation:
        """Return the same statement without some labels."""
        gone = set(names)
        return self._replace(labels=tuple(name for name in self.labels if name not in gone),
                             absent=tuple(name for name in self.absent if name not in gone))


def _renamed(names: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)


class EventKind(IntEnum):
    """What happened; the values are those of ModelEvent."""

    UNDO = 1
    RENAME = 2
    REMOVE = 3
    RESET = 4
    LOAD = 5


@dataclass(frozen=True, slots=True)
class Event:
    """A change of the model that is journalled so that a replay repeats it.

    Args:
        kind: what happened.
        stamp: nanoseconds; when it happened.
        label: the label concerned, empty where the kind uses none.
        new_label: the label's new name, for RENAME.
        file_name: the model file, for LOAD.
    """

    kind: EventKind
    stamp: int = 0
    label: str = ''
    new_label: str = ''
    file_name: str = ''


@dataclass(frozen=True, slots=True, eq=False)
class StampedPrediction:
    """What the classifier said of one moment: this is what an operator looks at.

    Args:
        stamp: nanoseconds, of the feature vector.
        predicted: names of the predicted labels, best first.
        scores: one a label, in the order of the label set of that version.
        novelty: 0 (well known) to 1 (nothing like it).
        version: of the label set.
    """

    stamp: int
    predicted: tuple[str, ...]
    scores: NDArray[np.float32]
    novelty: float
    version: int


@dataclass(frozen=True, slots=True)
class LabelState:
    """The known labels with what the classifier tells of them."""

    names: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    thresholds: tuple[float, ...] = ()
    samples: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """The robot asks what one moment shows.

    Args:
        moment: what was sensed.
        text: why the robot asks, for people.
        candidates: the likeliest labels, best first.
        scores: of the candidates.
        novelty: of the moment.
    """

    moment: StampedVector
    text: str
    candidates: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    novelty: float = 0.0

    def sight(self) -> StampedPrediction:
        """Return the moment asked about as something to freeze; its scores are not known."""
        return StampedPrediction(self.moment.stamp, (), np.empty(0, np.float32), self.novelty, version=-1)
