# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The two things teaching is made of: a sensed moment and what somebody says about it."""

from __future__ import annotations

from collections.abc import Iterable
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
class Moment(NamedTuple):
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

    def about(self, moment: Moment) -> Annotation:
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
