# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From scores to labels: the threshold, and whether a sample may show no label at all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
        # [output, absent or present, bin]; output 0 is the label that nobody has named yet.
        self.histogram: npt.NDArray[np.int64] = np.zeros((1, 2, _BINS), dtype=np.int64)
        # Complete annotations in all, and those without any label.
        self.tally: npt.NDArray[np.int64] = np.zeros(2, dtype=np.int64)
        # Number of labels, and the threshold for them; None: to be computed.
        self._value: tuple[int, float] | None = None

    def observe(self, scores: Array, targets: Array, complete: bool, step: int = 1) -> None:
        """Count the scores (n, outputs) of samples, before they are learnt; step -1: take back.

        targets: 1 present, -1 absent, 0 unknown.
        """
        if not self.learns:
            return
        bins = np.clip((scores - _LOW) * (1.0 / _STEP), 0, _BINS - 1).astype(np.intp)
        present = targets > 0.0
        rows, outputs = np.nonzero(targets)
        np.add.at(self.histogram, (outputs, present[rows, outputs].astype(np.intp),
                                   bins[rows, outputs]), step)
        if complete:
            self.tally[0] += step * len(scores)
            self.tally[1] += step * (len(scores) - np.count_nonzero(present.any(axis=1)))
        self._value = None

    @property
    def at_least_one(self) -> bool:
        """Whether the best label is predicted even when its score is below the threshold."""
        return self.learns and bool(self.tally[1] < _NORMAL_SHARE * self.tally[0])

    @property
    def value(self) -> float:
        """The score above which a label is predicted."""
        return self._value_among(len(self.histogram) - 1)

    def _value_among(self, labels: int) -> float:
        """Return the threshold as it is when only the first labels are known."""
        if not self.learns:
            return 0.0
        if self._value is None or self._value[0] != labels:
            self._value = labels, self._best(self.histogram[1:labels + 1].sum(axis=0))
        return self._value[1]

    def decide(self, scores: Array) -> npt.NDArray[np.bool_]:
        """Return which labels are predicted, for scores (n, labels)."""
        chosen: npt.NDArray[np.bool_] = scores > self._value_among(scores.shape[1])
        if self.at_least_one and scores.shape[1]:
            chosen[np.arange(len(scores)), scores.argmax(axis=1)] = True
        return chosen

    @staticmethod
    def _best(histogram: npt.NDArray[np.int64]) -> float:
        """Return the edge between two bins where F1 is best; the one nearest zero of equals."""
        absent, present = (counts[::-1].cumsum()[::-1] for counts in histogram)
        if not present[0]:
            return 0.0
        f1 = 2.0 * present / (present + absent + present[0])
        edges = _LOW + _STEP * np.arange(_BINS)
        best = np.flatnonzero(f1 >= f1.max() - 1e-12)
        return float(edges[best[np.abs(edges[best]).argmin()]])

    # ----- outputs -----

    def add_output(self) -> None:
        """Append a label; its past is that of the label that nobody had named."""
        self.histogram = np.concatenate([self.histogram, self.histogram[:1]])
        self._value = None

    def remove_output(self, column: int) -> None:
        """Remove a label; later columns move up by one."""
        self.histogram = np.delete(self.histogram, column, axis=0)
        self._value = None

    def merge(self, other: Thresholds, columns: list[int]) -> None:
        """Add the counts of another model; columns: where its labels are here.

        A label that the other has never met was absent there, as its unnamed label was.
        """
        sources = np.zeros(len(self.histogram), dtype=np.intp)
        sources[columns] = np.arange(1, len(columns) + 1)
        self.histogram += other.histogram[sources]
        self.tally += other.tally
        self._value = None

    # ----- whole -----

    def emptied(self) -> Thresholds:
        """Return the same without any counts."""
        twin = self.copy()
        twin.histogram[:] = 0
        twin.tally[:] = 0
        return twin

    def copy(self) -> Thresholds:
        """Return an independent copy."""
        return self.restore(self.rule, self.arrays())

    def arrays(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return copies of the counts."""
        return {'histogram': self.histogram.copy(), 'tally': self.tally.copy()}

    @classmethod
    def restore(cls, rule: str, arrays: dict[str, npt.NDArray[np.int64]]) -> Thresholds:
        """Make the thresholds again from what arrays() returned."""
        thresholds = cls(rule)
        thresholds.histogram, thresholds.tally = arrays['histogram'], arrays['tally']
        return thresholds
