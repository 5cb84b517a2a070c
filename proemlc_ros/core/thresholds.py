# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From scores to labels: the threshold, and whether a sample may show no label at all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.solving.blas import Array

# Candidate thresholds, from -1 to 1; targets are -1 and 1.
_STEP = 0.025
CANDIDATES: Array = -1.0 + _STEP * np.arange(81)
# The rule is chosen again when a quarter more samples have come, at the latest after so many.
_PATIENCE = 32
# Without at least this many samples the threshold is zero and the best label is always named.
_EVIDENCE = 10
# Of all candidates that lose at most this share of the best F1, the one with fewest errors wins.
_TOLERANCE = 0.01
# For least errors: how many more of them tell that "at least one label" should be otherwise.
_CLEARLY = 0.1

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


class Thresholds:
    """Finds the best decision rule from scores given before their samples were learnt.

    For each candidate it sums up the F1 and the errors that it would have had, sample by sample,
    with "at least one label" and without; so it notices by itself whether a sample without labels
    is normal in this data. Rule 'zero' is the paper's, and finds nothing.
    """

    def __init__(self, rule: str, forgetting: float = 1.0) -> None:
        """Start without evidence; rule: 'zero', 'learnt' (F1) or 'learnt_hamming' (errors)."""
        self.rule = rule
        self.forgetting = forgetting
        self.learns = rule != 'zero'
        # [at least 0 or 1, candidate]: sums of F1 and of wrong labels; and of samples.
        self.gain: Array = np.zeros((2, len(CANDIDATES)))
        self.errors: Array = np.zeros((2, len(CANDIDATES)))
        self.samples = 0.0
        self.observed = 0
        self.choice = DecisionRule(0.0, 1 if self.learns else 0)
        # Rows of scores (n, labels) with the labels shown; later ones may have more columns.
        self._pending: list[tuple[Array, Mask]] = []

    def observe(self, scores: Array, present: Mask) -> None:
        """Add the scores of one sample before it is learnt.

        Args:
            scores: one per label; -inf for those not yet shown by any sample, and unknown ones.
            present: which labels the sample shows.
        """
        self.observe_rows(scores[np.newaxis], present[np.newaxis])

    def observe_rows(self, scores: Array, present: Mask) -> list[tuple[int, DecisionRule]]:
        """Add the scores of samples (n, labels), in order.

        Returns:
            The choices that held meanwhile, each with the first sample that it held for.
        """
        held = [(0, self.choice)]
        if not self.learns:
            return held
        waiting = sum(len(rows) for rows, _ in self._pending)
        due = [stop for stop in range(1, len(scores) + 1) if _is_due(self.observed + stop)]
        self.add_rows(scores, present)
        if due:
            for stop in self._add_up([waiting + stop for stop in due]):
                self.choice = self._best()
                held.append((stop - waiting, self.choice))
        return [(start, choice) for start, choice in held if start < len(scores)]

    def add_rows(self, scores: Array, present: Mask) -> None:
        """Add the scores of samples (n, labels) and leave the choice as it is."""
        if self.learns:
            self._pending.append((scores, present))
            self.observed += len(scores)

    def take_back(self, scores: Array, present: Mask) -> None:
        """Remove the sample that was added last, given what its scores were then."""
        if not self.learns:
            return
        self.settle()
        gain, errors = _sums(scores[np.newaxis], present[np.newaxis], np.ones(1))
        self.gain = (self.gain - gain) / self.forgetting
        self.errors = (self.errors - errors) / self.forgetting
        self.samples = (self.samples - 1.0) / self.forgetting
        self.observed -= 1
        self.choice = self._best()

    def merge(self, other: Thresholds) -> None:
        """Add the evidence of another model."""
        self.settle()
        other.settle()
        self.gain += other.gain
        self.errors += other.errors
        self.samples += other.samples
        self.observed += other.observed
        self.choice = self._best()

    def choose(self) -> None:
        """Choose again from all samples added."""
        self.settle()
        self.choice = self._best()

    def settle(self) -> None:
        """Add the pending samples to the sums; needed before a label is removed."""
        if self._pending:
            list(self._add_up([sum(len(rows) for rows, _ in self._pending)]))

    def _add_up(self, stops: list[int]) -> Iterator[int]:
        """Add the pending samples up to each stop to the sums, and yield the stop."""
        scores, present = self._pending_rows()
        last = stops[-1]
        self._pending = [(scores[last:], present[last:])] if last < len(scores) else []
        # One row of weights per stretch: the samples before and behind it weigh nothing.
        ages = np.array(stops)[:, np.newaxis] - 1 - np.arange(last)
        lengths = np.diff(stops, prepend=0)
        weights = np.where((ages >= 0) & (ages < lengths[:, np.newaxis]),
                           self.forgetting ** np.maximum(ages, 0.0), 0.0)
        gains, errors = _sums(scores[:last], present[:last], weights)
        for number, stop in enumerate(stops):
            decay = self.forgetting ** int(lengths[number])
            self.gain = self.gain * decay + gains[:, number]
            self.errors = self.errors * decay + errors[:, number]
            self.samples = self.samples * decay + float(weights[number].sum())
            yield stop

    def _pending_rows(self) -> tuple[Array, Mask]:
        """Return scores and presence of the pending samples; earlier ones lack later labels."""
        labels = self._pending[-1][0].shape[1] if self._pending else 0
        scores = np.full((sum(len(rows) for rows, _ in self._pending), labels), -np.inf)
        present = np.zeros(scores.shape, dtype=bool)
        start = 0
        for rows, shown in self._pending:
            cells = slice(start, start + len(rows)), slice(rows.shape[1])
            scores[cells], present[cells] = rows, shown
            start += len(rows)
        return scores, present

    def _best(self) -> DecisionRule:
        if not self.learns or self.samples < _EVIDENCE:
            return DecisionRule(0.0, 1 if self.learns else 0)
        return _best_of(self.gain, self.errors, self.rule)

    # ----- whole -----

    def copy(self) -> Thresholds:
        """Return an independent copy."""
        return self.restore(self.rule, self.forgetting, self.arrays())

    def arrays(self) -> dict[str, Array]:
        """Return everything that was found, as arrays."""
        scores, present = self._pending_rows()
        return {'gain': self.gain.copy(), 'errors': self.errors.copy(),
                'numbers': np.array([self.samples, self.observed, *self.choice]),
                'scores': scores, 'present': present.astype(np.float32)}

    @classmethod
    def restore(cls, rule: str, forgetting: float, arrays: dict[str, Array]) -> Thresholds:
        """Make the thresholds again from what arrays() returned."""
        thresholds = cls(rule, forgetting)
        thresholds.gain, thresholds.errors = arrays['gain'], arrays['errors']
        samples, observed, threshold, at_least = arrays['numbers'].tolist()
        thresholds.samples, thresholds.observed = samples, int(observed)
        thresholds.choice = DecisionRule(threshold, int(at_least))
        if len(arrays['scores']):
            thresholds._pending = [(arrays['scores'], arrays['present'] > 0.0)]
        return thresholds


def _is_due(observed: int) -> bool:
    """Whether the rule is chosen again after that many samples."""
    return observed % min(_PATIENCE, observed // 4 or 1) == 0


def best_choice(scores: Array, present: Mask, rule: str = 'learnt') -> DecisionRule:
    """Return the best decision rule for scores (n, labels) whose labels are known.

    Args:
        scores: of samples that were not learnt, or as if they had been left out.
        present: which labels each sample shows.
        rule: 'learnt' (F1) or 'learnt_hamming' (errors).
    """
    return _best_of(*_sums(scores, present, np.ones(len(scores))), rule)


def _best_of(gain: Array, errors: Array, rule: str) -> DecisionRule:
    near = np.where(gain >= (1.0 - _TOLERANCE) * gain.max(), errors, np.inf)
    choice = _fewest(near)
    if rule == 'learnt':
        return choice
    # Whether a sample may be without labels is a trait of the data, on which F1 is the better
    # witness: weak scores of the first samples make every forced label look like an error.
    alike = np.where(np.arange(2)[:, np.newaxis] == choice.at_least, errors, np.inf)
    return _fewest(alike if alike.min() <= (1.0 + _CLEARLY) * errors.min() else errors)


def _fewest(errors: Array) -> DecisionRule:
    """Return the choice with the fewest errors.

    Ties, up to rounding: no forced label first, then the threshold nearest to zero.
    """
    least = float(errors.min())
    # Taking samples back may leave sums below zero.
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
