# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Calibrated probabilities: a logistic curve per label (Platt), shrunk towards a common one.

And how well known an input is, by its leverage and by how much the neurons answer to it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array, compiled

Mask = npt.NDArray[np.bool_]
Targets = npt.NDArray[np.int8]

# The curve before there is evidence: p = 1 / (1 + exp(-(slope score + offset))). Targets are -1
# and 1; a ridge pulls the scores of the few that show a label down, so that -0.1 is half way.
PRIOR = 5.0, 0.5
# Precision of that prior, and of the common curve as prior of a label's own.
_COMMON_PRECISION = 6.0, 6.0
_LABEL_PRECISION = 4.0, 2.0
# Scores are counted in bins, so that the cost of a fit hardly depends on the samples.
_LIMIT, _BINS = 2.0, 80
_CENTRES: Array = (np.arange(_BINS) + 0.5) * (2.0 * _LIMIT / _BINS) - _LIMIT
_ROUNDS = 8
# Steps below this have a square beyond the precision, which is what the next one would be.
_SETTLED = 1e-8
_SLOPES = 0.5, 50.0
# A label that every sample shows teaches nothing of what lacks it. There it is as likely as not
# where the input is as familiar as this share of what was learnt.
_FAMILIAR = math.exp(-1.0)


class LeftOut(NamedTuple):
    """Scores of learnt samples, each as if it had been left out."""

    scores: Array  # (n, labels)
    targets: Targets  # (n, labels): -1, 1; 0: unknown
    weights: Array  # (n,)
    known: Array  # (n,), how well known each sample is, itself included
    distances: Array = np.zeros(0)  # (n,), to all but near-copies; NaN: not known; empty: of none
    # (n, 2), the neuron around each, and that around a near-copy; -1: none, -2: not known which
    copies: npt.NDArray[np.intp] = np.zeros((0, 2), dtype=np.intp)
    views: float = math.inf  # how many views they are of; at most as many as there are samples


class Calibration(NamedTuple):
    """The logistic curve of every label."""

    slopes: Array  # (labels,)
    offsets: Array  # (labels,)
    common: tuple[float, float]  # slope and offset of labels to come
    uncontrasted: Mask  # (labels,), those that no sample lacks
    usual: float  # how well known learnt samples are on average

    @classmethod
    def prior(cls, labels: int = 0) -> Calibration:
        """Return the calibration without evidence."""
        return cls(np.full(labels, PRIOR[0]), np.full(labels, PRIOR[1]), PRIOR,
                   np.zeros(labels, dtype=bool), 1.0)

    def plus(self, labels: int) -> Calibration:
        """Return the same with so many labels more."""
        slope, offset = self.common
        return self._replace(slopes=np.append(self.slopes, [slope] * labels),
                             offsets=np.append(self.offsets, [offset] * labels),
                             uncontrasted=np.append(self.uncontrasted, [False] * labels))

    def minus_label(self, place: int) -> Calibration:
        """Return the same without a label."""
        return self._replace(slopes=np.delete(self.slopes, place),
                             offsets=np.delete(self.offsets, place),
                             uncontrasted=np.delete(self.uncontrasted, place))

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each label, for scores (labels,) or (n, labels).

        A score of -inf, of a label that no sample has shown, becomes 0.
        """
        if compiled is not None and scores.ndim == 1 and scores.dtype == np.float64:
            chances: Array = np.empty(len(scores))
            compiled.logistic(scores, self.slopes, self.offsets, chances)
            return chances
        # The logistic function by way of tanh, which takes infinite numbers quietly.
        answer: Array = np.multiply(scores, 0.5 * self.slopes, dtype=np.float64)
        answer += 0.5 * self.offsets
        np.tanh(answer, out=answer)
        answer += 1.0
        answer *= 0.5
        return answer

    def with_familiarity(self, probabilities: Array, known: Array | float) -> Array:
        """Return the probabilities where labels without contrast follow the familiarity."""
        share = np.minimum(np.asarray(known, dtype=np.float64) / max(self.usual, 1e-9), 1.0)
        alike = share / (share + _FAMILIAR)
        return np.where(self.uncontrasted & (probabilities > 0.0), alike[..., np.newaxis],
                        probabilities)


def fit_calibration(evidence: LeftOut, counts: npt.NDArray[np.int64]) -> Calibration:
    """Return the calibration that left-out scores tell.

    Args:
        evidence: the scores.
        counts: for each label how many samples showed it; a label that only one sample shows has
            no score to tell of, since without that sample it is not known at all.
    """
    fitted, common = _curves(evidence, counts)
    slopes, offsets, lacking = fitted
    weight = float(evidence.weights.sum())
    usual = float(evidence.weights @ evidence.known) / weight if weight else 1.0
    return Calibration(slopes, offsets, common, (lacking == 0.0) & (counts > 0), usual)


def _curves(evidence: LeftOut,
            counts: npt.NDArray[np.int64]) -> tuple[Array, tuple[float, float]]:
    """Return slopes, offsets and the weight of the samples that lack each label, (3, labels).

    And slope and offset of the common curve.
    """
    # float32 is enough to find a bin, and faster.
    bins = ((evidence.scores.astype(np.float32) + np.float32(_LIMIT))
            * np.float32(_BINS / (2.0 * _LIMIT)))
    cells = np.minimum(np.maximum(bins, 0.0), _BINS - 1).astype(np.intp)
    labels = evidence.scores.shape[1]
    cells += _BINS * np.arange(labels)
    usable = (evidence.targets != 0) & (counts > 1)
    shown = usable & (evidence.targets > 0)
    weights = np.broadcast_to(evidence.weights[:, np.newaxis], cells.shape)
    positive, total = (_histograms(cells[part], weights[part], labels)
                       for part in (shown, usable))
    slope, offset = _newton(positive.sum(axis=0, keepdims=True), total.sum(axis=0, keepdims=True),
                            PRIOR, _COMMON_PRECISION)
    common = float(slope[0]), float(offset[0])
    slopes, offsets = _newton(positive, total, common, _LABEL_PRECISION)
    lacking = ((evidence.targets < 0) * evidence.weights[:, np.newaxis]).sum(axis=0)
    return np.stack([slopes, offsets, lacking]), common


def _histograms(cells: npt.NDArray[np.intp], weights: Array, labels: int) -> Array:
    counts: Array = np.bincount(cells, weights, minlength=_BINS * labels).astype(np.float64)
    return counts.reshape(labels, _BINS)


def _newton(positive: Array, total: Array, prior: tuple[float, float],
            precision: tuple[float, float]) -> tuple[Array, Array]:
    """Return slopes and offsets of greatest posterior probability, one per row of counts."""
    slopes, offsets = (np.full(len(positive), value) for value in prior)
    squares = _CENTRES * _CENTRES
    for _ in range(_ROUNDS):
        chances = 0.5 + 0.5 * np.tanh(
            0.5 * (slopes[:, np.newaxis] * _CENTRES + offsets[:, np.newaxis]))
        errors = total * chances - positive
        curve = total * (chances * (1.0 - chances))
        down = (errors @ _CENTRES + precision[0] * (slopes - prior[0]),
                errors.sum(axis=1) + precision[1] * (offsets - prior[1]))
        a, b, c = (curve @ squares + precision[0], curve @ _CENTRES,
                   curve.sum(axis=1) + precision[1])
        determinant = a * c - b * b
        step = ((c * down[0] - b * down[1]) / determinant,
                (a * down[1] - b * down[0]) / determinant)
        slopes = np.clip(slopes - np.clip(step[0], -4.0, 4.0), *_SLOPES)
        offsets = offsets - np.clip(step[1], -4.0, 4.0)
        if max(np.abs(step[0]).max(initial=0.0), np.abs(step[1]).max(initial=0.0)) < _SETTLED:
            break
    return slopes, offsets


def known_share(leverage: float, square: float, mass: float, ridge: float,
                usual_mass: float) -> float:
    """Return how well known an input is, from 0 (nothing like it) to 1.

    The leverage q = hMh counts by the pull q / (1 + q) that the sample would have on its own
    score, relative to the same in an empty model, where q is |h|^2 / ridge. Neurons around centres
    fall silent far from them, so for them the share of their usual answer that is missing counts
    as new.

    Args:
        leverage: hMh of the input.
        square: |h|^2.
        mass: |neurons|^2.
        ridge: weight of the penalty.
        usual_mass: of a learnt sample on average; 0: it does not matter.
    """
    # Rounding may leave a leverage of -1e-16; beyond that, the precision has not held it.
    if square == 0.0 or not (-0.1 < leverage < math.inf and square < math.inf):
        return 0.0
    share = leverage / (1.0 + leverage) * (ridge + square) / square
    known = 1.0 - min(max(share, 0.0), 1.0)
    return known * min(1.0, mass / usual_mass) if usual_mass > 0.0 else known


def known_shares(leverages: Array, squares: Array, masses: Array, ridge: float,
                 usual_mass: Array | float) -> Array:
    """Return known_share() of each row; usual_mass: one for all, or one per row."""
    with np.errstate(divide='ignore', invalid='ignore'):
        shares = leverages / (1.0 + leverages) * ((ridge + squares) / squares)
        answers = np.where(np.greater(usual_mass, 0.0), masses / usual_mass, 1.0)
    known = np.where(np.isfinite(shares), 1.0 - np.clip(shares, 0.0, 1.0), 0.0)
    known *= np.minimum(answers, 1.0)
    return known
