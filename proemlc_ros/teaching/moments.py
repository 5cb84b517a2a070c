# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The two things teaching is made of: a sensed moment and what somebody says about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A feature vector and when it was sensed.

    Args:
        stamp: nanoseconds; 0 where the source gives no time.
        data: the values, shape (d,).
        extractor: what made the values, empty where not stated.
    """

    stamp: int
    data: Vector
    extractor: str = ''


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
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
        # Not replace(), which takes longer than finding the moment.
        return Annotation(moment.stamp, self.labels, self.absent, self.complete, moment.data,
                          moment.extractor, self.annotator)

    def bare(self) -> Annotation:
        """Return the same statement without the values."""
        return replace(self, features=None)

    def renamed(self, old: str, new: str) -> Annotation:
        """Return the same statement after a label got another name."""
        return replace(self, labels=_renamed(self.labels, old, new),
                       absent=_renamed(self.absent, old, new))

    def without(self, names: Iterable[str]) -> Annotation:
        """Return the same statement without some labels."""
        gone = set(names)
        return replace(self, labels=tuple(name for name in self.labels if name not in gone),
                       absent=tuple(name for name in self.absent if name not in gone))


def _renamed(names: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)
