# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How much probabilities can be relied on: log loss and expected calibration error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_BINS = 10
# A probability of exactly 0 or 1 that is wrong must not cost infinitely much.
_LEAST = 1e-7

Array = npt.NDArray[np.floating]
Mask = npt.NDArray[np.bool_]


class ProbabilityMetrics:
    """Adds up over the labels of all samples, block by block.

    >>> metrics = ProbabilityMetrics()
    >>> metrics.add(np.array([[0.9, 0.1]]), np.array([[True, False]]))
    >>> round(metrics.values()['calibration_error'], 3)
    0.1
    """

    def __init__(self) -> None:
        self._loss = 0.0
        # Of the probabilities from 0 to 0.1, 0.1 to 0.2 …: number, sum, and labels present.
        self._bins = np.zeros((3, _BINS))

    def add(self, probabilities: Array, present: Mask, judged: Mask | None = None) -> None:
        """Add predictions (n, labels); judged: whose truth is known, None: all."""
        chances = np.clip(np.asarray(probabilities, np.float64), _LEAST, 1.0 - _LEAST)
        if judged is not None:
            chances, present = chances[judged], present[judged]
        chances, present = chances.ravel(), present.ravel()
        self._loss -= float(np.log(np.where(present, chances, 1.0 - chances)).sum())
        places = np.minimum((chances * _BINS).astype(np.intp), _BINS - 1)
        for row, weights in enumerate((np.ones(len(chances)), chances, present)):
            self._bins[row] += np.bincount(places, weights, minlength=_BINS)

    def values(self) -> dict[str, float]:
        """Return both by name, averaged over all labels of all samples; empty before the first.

        The calibration error is the distance between the mean probability and the share of labels
        present, averaged over ten bins of probability.
        """
        count, chances, present = self._bins
        total = float(count.sum())
        if not total:
            return {}
        return {'log_loss': self._loss / total,
                'calibration_error': float(np.abs(chances - present).sum()) / total}
