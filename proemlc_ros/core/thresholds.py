# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From scores to labels: the threshold, and whether a sample may show no label at all."""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.blas import Array

# Scores are counted in steps of 0.02 from -2 to 2; targets are -1 and 1, so few fall outside.
_BINS = 200
_LOW, _STEP = -2.0, 0.02
# "No label" is a normal answer once this share of the complete annotations gave it.
_NORMAL_SHARE = 0.02


class Thresholds:
    """One threshold for all labels: zero (the paper's), or learnt from earlier scores.

    Learnt means: scores are counted before their sample is learnt, apart for labels that turned
    out present and absent, and the threshold is where F1 over these counts is best.
    """

    def __init__(self, rule: str) -> None:
        """Start with the threshold zero; rule: 'zero' or 'learnt'."""
        self.rule = rule
        self.learns = rule == 'learnt'
        # Row 0: scores of absent labels, row 1: of present ones.
        self.histogram: Array = np.zeros((2, _BINS))
        # Complete annotations in all, and those without any label.
        self.tally: Array = np.zeros(2)
        self._value: float | None = None

    def observe(self, scores: Array, targets: Array, complete: bool, sign: float = 1.0) -> None:
        """Count the scores (n, outputs) of samples, before they are learnt; sign -1: take back.

        targets: 1 present, -1 absent, 0 unknown; the first column, of the unnamed label, is not
        counted.
        """
        if not self.learns:
            return
        known = scores[:, 1:]
        bins = np.clip((known - _LOW) * (1.0 / _STEP), 0, _BINS - 1).astype(np.intp)
        present, absent = targets[:, 1:] > 0.0, targets[:, 1:] < 0.0
        self.histogram[1] += sign * np.bincount(bins[present], minlength=_BINS)
        self.histogram[0] += sign * np.bincount(bins[absent], minlength=_BINS)
        if complete:
            self.tally[0] += sign * len(scores)
            self.tally[1] += sign * (len(scores) - np.count_nonzero(present.any(axis=1)))
        self._value = None

    @property
    def at_least_one(self) -> bool:
        """Whether the best label is predicted even when its score is below the threshold."""
        return self.learns and bool(self.tally[1] < _NORMAL_SHARE * self.tally[0])

    @property
    def value(self) -> float:
        """The score above which a label is predicted."""
        if self._value is None:
            self._value = self._best() if self.learns else 0.0
        return self._value

    def decide(self, scores: Array) -> Array:
        """Return which labels are predicted, for scores (n, labels)."""
        chosen: Array = scores > self.value
        if self.at_least_one and scores.shape[1]:
            chosen[np.arange(len(scores)), scores.argmax(axis=1)] = True
        return chosen

    def _best(self) -> float:
        """Return the edge between two bins where F1 is best; the one nearest zero of equals."""
        absent, present = (counts[::-1].cumsum()[::-1] for counts in self.histogram)
        if not present[0]:
            return 0.0
        f1 = 2.0 * present / (present + absent + present[0])
        edges = _LOW + _STEP * np.arange(_BINS)
        best = np.flatnonzero(f1 >= f1.max() - 1e-12)
        return float(edges[best[np.abs(edges[best]).argmin()]])

    def copy(self) -> Thresholds:
        """Return an independent copy."""
        twin = Thresholds(self.rule)
        twin.histogram, twin.tally = self.histogram.copy(), self.tally.copy()
        return twin

    def add(self, other: Thresholds) -> None:
        """Add the counts of another model."""
        self.histogram += other.histogram
        self.tally += other.tally
        self._value = None
