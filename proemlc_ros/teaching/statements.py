# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the classifier tells people: what it sees, which labels it knows, what it asks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.teaching.moments import Moment


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
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
class LabelTable:
    """The known labels with what the classifier tells of them."""

    names: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    thresholds: tuple[float, ...] = ()
    samples: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The robot asks what one moment shows.

    Args:
        moment: what was sensed.
        text: why the robot asks, for people.
        candidates: the likeliest labels, best first.
        scores: of the candidates.
        novelty: of the moment.
    """

    moment: Moment
    text: str
    candidates: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    novelty: float = 0.0

    def sight(self) -> Sight:
        """Return the moment asked about as something to freeze; its scores are not known."""
        return Sight(self.moment.stamp, (), np.empty(0, np.float32), self.novelty, version=-1)
