# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Test, then train: what a model said about each sample just before it learnt it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proemlc_ros.core.blas import Array
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.prediction import choose, novelty_of


class Outcome(NamedTuple):
    """What was said about n samples, each just before it was learnt."""

    labels: list[tuple[str, ...]]  # predicted, best score first
    scores: Array  # (n, labels); of a label not known yet: the score that it would have had
    novelty: Array  # (n,)


class Trial:
    """Collects what was said, sample by sample."""

    def __init__(self) -> None:
        """Start empty."""
        self._labels: list[tuple[str, ...]] = []
        self._outputs: list[Array] = []
        self._novelty: list[float] = []

    def record(self, learner: Learner, known: int, outputs: Array, leverage: float,
               hidden: Array) -> None:
        """Note one sample: its outputs, unnamed label first, when `known` labels were known."""
        scores = outputs[1:known + 1] + learner.labels.handicap[:known]
        self._labels.append(choose(learner, scores))
        self._outputs.append(outputs)
        self._novelty.append(novelty_of(learner, hidden, leverage))

    def record_nothing(self, known: int) -> None:
        """Note that nothing had been learnt yet."""
        self._labels.append(())
        self._outputs.append(np.zeros(known + 1))
        self._novelty.append(1.0)

    def outcome(self, labels: int) -> Outcome:
        """Return everything noted, with scores for that many labels."""
        scores = np.empty((len(self._outputs), labels))
        for row, outputs in zip(scores, self._outputs):
            row[:] = outputs[0]
            row[:len(outputs) - 1] = outputs[1:]
        return Outcome(self._labels, scores, np.array(self._novelty))
