# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From scores to labels: the threshold, and whether a sample may show no label at all."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.solving.blas import Array

# Candidate thresholds, from -1 to 1; targets are -1 and 1.
_STEP = 0.025
CANDIDATES: Array = -1.0 + _STEP * np.arange(81)
# Of all candidates that lose at most this share of the best F1, the one with fewest errors wins;
# and the other way round.
_TOLERANCE = 0.01

Mask = npt.NDArray[np.bool_]


class DecisionRule(NamedTuple):
    """A decision rule: labels above the threshold, and at least so many of the best (0 or 1)."""

    threshold: float
    at_least: int

    def decide(self, scores: Array) -> Mask:
        """Return which labels are predicted, for scores (n, labels); -inf: not to be predicted."""
        return decide(scores, self.threshold, self.at_least)


def decide(scores: Array, threshold: float | Array,
           at_least: int | npt.NDArray[np.intp]) -> Mask:
    """Return which labels are predicted, for scores (n, labels); -inf: not to be predicted.

    threshold and at_least: one for all rows, or (n, 1) and (n,).
    """
    chosen: Mask = scores > threshold
    if np.any(at_least) and scores.shape[1]:
        best, rows = scores.argmax(axis=1), np.arange(len(scores))
        chosen[rows, best] |= (
            (scores[rows, best] > -np.inf) & ~chosen.any(axis=1) & (np.asarray(at_least) > 0))
    return chosen


def best_choice(scores: Array, present: Mask, rule: str = 'learnt',
                weights: Array | None = None, at_least: int | None = None) -> DecisionRule:
    """Return the best decision rule for scores (n, labels) whose labels are known.

    Args:
        scores: of samples that were not learnt, or as if they had been left out.
        present: which labels each sample shows.
        rule: 'learnt' (F1) or 'learnt_hamming' (errors).
        weights: of the samples; None: all alike.
        at_least: whether a label is always predicted, 0 or 1; None: what is better.
    """
    gain, errors = _sums(scores, present, np.ones(len(scores)) if weights is None else weights)
    if at_least is not None:
        other = 1 - at_least
        gain[other], errors[other] = -np.inf, np.inf
    if rule == 'learnt':
        return _fewest(np.where(gain >= (1.0 - _TOLERANCE) * gain.max(), errors, np.inf))
    # Errors alone would rather name nothing than be wrong half of the time, at a loss that is
    # hardly lower: of all that are nearly as good, the one with the best F1 wins.
    return _fewest(np.where(errors <= (1.0 + _TOLERANCE) * errors.min(), -gain, np.inf))


def _fewest(errors: Array) -> DecisionRule:
    """Return the choice with the fewest errors, or the least of another figure.

    Ties, up to rounding: no forced label first, then the threshold nearest to zero.
    """
    least = float(errors.min())
    ties = np.argwhere(errors <= least * (1.0 + math.copysign(1e-9, least)) + 1e-9)
    at_least, place = min(ties.tolist(), key=lambda tie: (tie[0], abs(CANDIDATES[tie[1]])))
    return DecisionRule(float(CANDIDATES[place]), at_least)


def _sums(scores: Array, present: Mask, weights: Array) -> tuple[Array, Array]:
    """Return the F1 and the wrong labels of each candidate, summed over weighted samples.

    Args:
        scores: (n, labels)
        present: (n, labels)
        weights: (n,), or several rows of them.

    Returns:
        Two arrays [at least 0 or 1, row of weights, candidate].
    """
    rows = np.arange(len(scores))
    # How many candidates lie below each score; then how many scores lie above each candidate.
    below = np.ceil((scores - CANDIDATES[0]) * (1.0 / _STEP))
    np.minimum(np.maximum(below, 0.0, out=below), len(CANDIDATES), out=below)
    cells = below.astype(np.intp) + (len(CANDIDATES) + 1) * rows[:, np.newaxis]
    predicted, hits = _above(cells.ravel(), len(rows)), _above(cells[present], len(rows))
    shown = present.sum(axis=1)
    total = predicted + shown[:, np.newaxis]
    none = predicted == 0
    # Nothing shown and nothing predicted is right: an F1 of one.
    gain = weights @ (2.0 * hits / np.maximum(total, 1)) + (weights * (shown == 0)) @ none
    errors = weights @ (total - 2.0 * hits)
    # "At least one" differs only where nothing is predicted: there it names the best label.
    best = scores.argmax(axis=1) if scores.shape[1] else rows
    named = weights * (scores.max(axis=1, initial=-np.inf) > -np.inf)
    right = present[rows, best] if scores.shape[1] else shown > 0
    forced_gain = (named * (2.0 * right / (1 + shown) - (shown == 0))) @ none
    forced_errors = (named * (1.0 - 2.0 * right)) @ none
    return np.stack([gain, gain + forced_gain]), np.stack([errors, errors + forced_errors])


def _above(cells: npt.NDArray[np.intp], rows: int) -> npt.NDArray[np.intp]:
    """Return for each row how many of its scores lie above each candidate."""
    width = len(CANDIDATES) + 1
    counts = np.bincount(cells, minlength=rows * width).reshape(rows, width)
    return np.asarray(counts[:, :0:-1].cumsum(axis=1)[:, ::-1])
