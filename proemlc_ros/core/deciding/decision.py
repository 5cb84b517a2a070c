# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The decision: probabilities of the labels, which are predicted, and the threshold that tells.

The set of labels with the greatest expected F1 is, for independent labels, always the k most
probable ones for some k. With S the number of other labels shown, E[F1] of the first k is the sum
over them of p E[2 / (k + 1 + S)], and E[1 / (c + S)] is the integral of t^(c - 1) E[t^S] from 0 to
1, where E[t^S] is a product over the labels: a few nodes of Gauss and Legendre give it for every k
at once.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array, compiled
from proemlc_ros.core.deciding.calibration import Calibration, LeftOut, Mask, fit_calibration
from proemlc_ros.core.deciding.novelty import NoveltyScale, doubt_of, doubts_of

# Candidate thresholds, from -1 to 1; targets are -1 and 1.
_STEP = 0.025
CANDIDATES: Array = -1.0 + _STEP * np.arange(81)
# Of all candidates that lose at most this share of the best F1, the one with fewest errors wins;
# and the other way round.
_TOLERANCE = 0.01


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


_NODES = 10
# Labels that may be in the set; all others count by the sum of their probabilities (Poisson).
MOST_CHOSEN = 48
_LEAST = 0.004
_SURE = 1e-12
# Relative difference below which two expected gains count as equal.
_SAME = 1e-12


@cache
def _quadrature() -> tuple[Array, Array]:
    """Return 1 - t at the nodes, and their weights times the powers of t (candidates, nodes).

    Not before it is needed: compiled code has its own, and NumPy imports its polynomials.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    points = 0.5 * (nodes + 1.0)
    # Weights for the interval 0 to 1 are half as large; the F1 counts hits twice.
    return 1.0 - points, weights * points ** np.arange(1, MOST_CHOSEN + 1)[:, np.newaxis]


def best_set(probabilities: Array, empty: float, exclusive: bool = False,
             tolerance: float = 0.0) -> list[int]:
    """Return the labels to predict for one sample (labels,), most probable first.

    Args:
        probabilities: of the labels.
        empty: how many times as likely a sample without labels is as independent labels say; 0:
            there is none.
        exclusive: no sample shows more than one label.
        tolerance: of all sizes that lose at most this share of the best F1, the one with the
            fewest expected errors is taken: that nearest to the labels likelier than not.
    """
    columns: list[int]
    if compiled is not None:
        columns = compiled.best_set(np.ascontiguousarray(probabilities), empty, exclusive,
                                    tolerance)
    else:
        chosen = plain_sets(probabilities[np.newaxis], empty, exclusive, tolerance)[0]
        order = (-probabilities).argsort(kind='stable')
        columns = order[chosen[order]].tolist()
    return columns


def best_sets(probabilities: Array, empty: float, exclusive: bool = False,
              tolerance: float = 0.0) -> Mask:
    """Do the same for rows (n, labels); return which labels are predicted."""
    if compiled is None:
        return plain_sets(probabilities, empty, exclusive, tolerance)
    chosen: Mask = np.empty(probabilities.shape, dtype=bool)
    compiled.best_sets(np.ascontiguousarray(probabilities), empty, exclusive, tolerance, chosen)
    return chosen


def plain_sets(probabilities: Array, empty: float, exclusive: bool, tolerance: float) -> Mask:
    """Do the same in NumPy."""
    if not probabilities.shape[1]:
        return np.zeros(probabilities.shape, dtype=bool)
    order = np.argsort(-probabilities, axis=1, kind='stable')[:, :MOST_CHOSEN]
    ranked = np.take_along_axis(probabilities, order, axis=1)
    ranked[:, 1:][ranked[:, 1:] < _LEAST] = 0.0
    if exclusive:
        gains, nothing = _exclusive_gains(ranked), np.ones_like(ranked[:, 0])
    else:
        gains, nothing = _expected_gains(ranked, np.maximum(
            probabilities.sum(axis=1) - ranked.sum(axis=1), 0.0))
    enough = (1.0 - tolerance) * (1.0 - _SAME) * gains.max(axis=1)
    good = gains >= enough[:, np.newaxis]
    likely = (ranked > 0.5).sum(axis=1) - 1
    last = good.shape[1] - 1 - good[:, ::-1].argmax(axis=1)
    best = np.minimum(np.maximum(good.argmax(axis=1), likely), last)
    gain = (1.0 + _SAME) * gains[np.arange(len(gains)), best]
    sizes = np.where((ranked[:, 0] > 0.0) & (gain >= empty * nothing), best + 1, 0)
    chosen = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(ranked.shape[1]) < sizes[:, np.newaxis], axis=1)
    # More labels than were tried: those that are likelier than not belong to them.
    full = sizes == MOST_CHOSEN
    chosen[full] |= probabilities[full] > 0.5
    return chosen


def try_tolerances(probabilities: Array, shown: Mask, weights: Array, empty: float,
                   exclusive: bool, tolerances: Array) -> Array:
    """Return the weighted sums of F1 and of errors of the best sets, (2, tolerances).

    Args:
        probabilities: of the labels (n, labels).
        shown: which labels the samples show.
        weights: of the samples.
        empty: see best_set(); likewise exclusive.
        exclusive: see empty.
        tolerances: to try.
    """
    if compiled is None:
        return plain_tries(probabilities, shown, weights, empty, exclusive, tolerances)
    results: Array = np.empty((2, len(tolerances)))
    compiled.try_tolerances(np.ascontiguousarray(probabilities), np.ascontiguousarray(shown),
                            np.ascontiguousarray(weights), tolerances, results, empty, exclusive)
    return results


def plain_tries(probabilities: Array, shown: Mask, weights: Array, empty: float,
                exclusive: bool, tolerances: Array) -> Array:
    """Do the same in NumPy."""
    results: Array = np.empty((2, len(tolerances)))
    for place, tolerance in enumerate(tolerances.tolist()):
        chosen = plain_sets(probabilities, empty, exclusive, tolerance)
        hits, sizes = (chosen & shown).sum(axis=1), chosen.sum(axis=1) + shown.sum(axis=1)
        results[0, place] = weights @ np.where(sizes, 2.0 * hits / np.maximum(sizes, 1), 1.0)
        results[1, place] = weights @ (sizes - 2 * hits)
    return results


def _exclusive_gains(ranked: Array) -> Array:
    """Return the same where one label excludes the others: by odds, relative to no label."""
    odds = ranked / np.maximum(1.0 - ranked, _SURE)
    gains: Array = odds.cumsum(axis=1) * (2.0 / np.arange(2, ranked.shape[1] + 2))
    return gains


def _expected_gains(ranked: Array, rest: Array) -> tuple[Array, Array]:
    """Return the expected F1 of the first 1, 2, 3 … labels (n, k), and the chance of none (n,)."""
    below, powers = _quadrature()
    factors = 1.0 - ranked[..., np.newaxis] * below
    product = factors.prod(axis=1) * np.exp(-rest[:, np.newaxis] * below)
    shares = (ranked[..., np.newaxis] / factors).cumsum(axis=1)
    gains: Array = np.einsum('nkq,kq,nq->nk', shares, powers[:ranked.shape[1]], product)
    return gains, (1.0 - ranked).prod(axis=1) * np.exp(-rest)


# Rules that compare probabilities; the others compare scores.
BY_PROBABILITY = ('expected_f1', 'probable')
EVEN = 0.5
# Samples by which a threshold learnt from them counts half; before, it stays near zero.
_HALF_TRUSTED = 50.0
# Shares of the expected F1 that fewer errors may cost, to choose among; that of the beginning.
_LOSSES: Array = np.array([0.0, 0.05, 0.15])
_EARLY_LOSS = 0.9
# Left-out samples that the choice is made by in a stream, and what it may lose of their best F1.
_TRIED, _AS_GOOD = 256, 0.01
# An input known less than this share of what learnt samples are is unlike them. The bias knows
# every input a little, more with a larger ridge.
_UNUSUAL = 0.9
# Samples without labels are an exception where they are rarer than this share of what independent
# labels would leave without one.
_RARE = 0.5


class Decision(NamedTuple):
    """How scores become labels; fitted once, then applied to any number of samples."""

    rule: str
    threshold: float  # of scores, or of probabilities
    at_least: int  # 1: the best label is predicted where none is above the threshold
    empty: float  # how likely no label is, compared with what independent labels say
    exclusive: bool  # no sample shows more than one label
    tolerance: float  # share of the expected F1 that fewer labels may cost
    calibration: Calibration
    novelty_scale: NoveltyScale | None = None  # None: too few samples, or an older file

    @classmethod
    def prior(cls, rule: str) -> Decision:
        """Return the decision without evidence: at least one label, except for the paper's."""
        return cls(rule, EVEN if rule in BY_PROBABILITY else 0.0, int(rule != 'zero'), 0.0,
                   False, _EARLY_LOSS, Calibration.prior())

    @property
    def by_probability(self) -> bool:
        """Whether probabilities are compared with the threshold, rather than scores."""
        return self.rule in BY_PROBABILITY

    @property
    def _follows_familiarity(self) -> bool:
        # Several times as fast as any(), with each prediction.
        return bool(np.count_nonzero(self.calibration.uncontrasted))

    @property
    def needs_familiarity(self) -> bool:
        """Whether a prediction depends on how familiar the input is."""
        return self.by_probability and self._follows_familiarity

    def probabilities(self, scores: Array, known: Array | float | None = None) -> Array:
        """Return the probabilities for scores (labels,) or (n, labels).

        known: how well known the input is; None: not asked for, as needs_familiarity says.
        """
        found = self.calibration.probabilities(scores)
        if known is not None and self._follows_familiarity:
            found = self.calibration.with_familiarity(found, known)
        return found

    def decide(self, scores: Array, probabilities: Array) -> Mask:
        """Return which labels are predicted, for rows (n, labels)."""
        if not self.by_probability:
            return decide(scores, self.threshold, self.at_least)
        if self.rule == 'probable' or not scores.shape[1]:
            return decide(probabilities, EVEN, self.at_least) & (probabilities > 0.0)
        return best_sets(probabilities, self.empty, self.exclusive, self.tolerance)

    def novelty(self, probabilities: Array, known: Array, distances: Array) -> Array:
        """Return how new samples are, 0 to 1, for probabilities (n, labels).

        The percentile among learnt samples, each left out. Before there are enough of them:
        something is familiar that the neurons have met and that a label accounts for. Where
        samples without labels are normal, that none accounts for it tells nothing.

        Args:
            probabilities: of the labels.
            known: how well known the inputs are, by their leverage.
            distances: of the inputs to everything learnt.
        """
        if self.novelty_scale is not None:
            return self.novelty_scale.novelties(distances, doubts_of(probabilities))
        best = probabilities.max(axis=-1, initial=0.0)
        explained = 1.0 - (1.0 - best) * (1.0 - self.empty)
        usual = _UNUSUAL * max(self.calibration.usual, 1e-9)
        novelty: Array = 1.0 - explained * np.minimum(known / usual, 1.0)
        return novelty

    def novelty_of_one(self, probabilities: Array, known: float, distance: float) -> float:
        """Do the same for one sample (labels,), without arrays once there is a distribution."""
        if self.novelty_scale is not None:
            return self.novelty_scale.novelty(distance, doubt_of(probabilities))
        return float(self.novelty(probabilities[np.newaxis], np.array([known]),
                                  np.array([distance]))[0])

    def columns(self, scores: Array, probabilities: Array) -> list[int]:
        """Return the predicted labels of one sample (labels,), best first."""
        if self.rule == 'expected_f1':
            return best_set(probabilities, self.empty, self.exclusive, self.tolerance)
        values = probabilities if self.by_probability else scores
        columns: list[int] = (values > self.threshold).nonzero()[0].tolist()
        if not columns and self.at_least and len(values):
            best = int(values.argmax())
            return [best] if scores[best] > -np.inf else []
        return sorted(columns, key=values.item, reverse=True) if len(columns) > 1 else columns

    def thresholds(self, offset: float = 0.0) -> Array:
        """Return for each label the score above which it is predicted, or likelier than not.

        offset: of the threshold, which is one of scores or of probabilities.
        """
        if not self.by_probability:
            return np.full(self.labels, self.threshold + offset)
        level = min(max(EVEN + offset, 1e-6), 1.0 - 1e-6)
        levels: Array = ((math.log(level / (1.0 - level)) - self.calibration.offsets)
                         / self.calibration.slopes)
        return levels

    @property
    def labels(self) -> int:
        """How many labels it decides about."""
        return len(self.calibration.slopes)

    def with_labels(self, labels: int) -> Decision:
        """Return the same for a set of labels that has grown."""
        more = labels - self.labels
        return self if more <= 0 else self._replace(calibration=self.calibration.plus(more))

    def minus_label(self, place: int) -> Decision:
        """Return the same without a label."""
        return self._replace(calibration=self.calibration.minus_label(place))


def fit_decision(rule: str, evidence: LeftOut, counts: npt.NDArray[np.int64],
                 radial: bool = True, tried: int = _TRIED) -> Decision:
    """Return the decision that left-out scores tell.

    Args:
        rule: 'zero', 'learnt', 'learnt_hamming', 'probable' or 'expected_f1'.
        evidence: scores of learnt samples, each as if left out.
        counts: for each label how many samples showed it.
        radial: whether neurons answer to the neighbourhood of samples, so that they can tell what
            resembles them; others cannot.
        tried: left-out samples that tell how many labels are worth naming; more tell it better.
    """
    calibration = fit_calibration(evidence, counts)
    if not radial:
        calibration = calibration._replace(uncontrasted=np.zeros(len(counts), dtype=bool))
    # Without its only sample a label would not be known.
    alone = (counts == 0) | (counts == 1) & (evidence.targets > 0)
    scores = np.where(alone, -np.inf, evidence.scores)
    empty = _weight_of_empty(calibration, scores, evidence)
    exclusive = bool(((evidence.targets > 0).sum(axis=1) <= 1).all())
    # The expected F1 weighs for each sample whether it shows none, unless that never happens.
    at_least = int(empty == 0.0 if rule == 'expected_f1' else empty < _RARE)
    prior = Decision(rule, EVEN, at_least, empty, exclusive, _EARLY_LOSS, calibration)
    doubts = doubts_of(prior.probabilities(scores, evidence.known))
    prior = prior._replace(novelty_scale=NoveltyScale.fit(evidence, doubts, 1.0 - empty))
    if rule == 'expected_f1':
        return prior._replace(tolerance=_tolerance(prior, scores, evidence, tried))
    if rule in BY_PROBABILITY:
        return prior
    if rule == 'zero':
        return prior._replace(threshold=0.0, at_least=0)
    usable = np.where(evidence.targets == 0, -np.inf, scores)
    threshold = best_choice(usable, evidence.targets > 0, rule, evidence.weights,
                            at_least).threshold
    trust = len(scores) / (len(scores) + _HALF_TRUSTED)
    return prior._replace(threshold=threshold * trust)


def _tolerance(decision: Decision, scores: Array, evidence: LeftOut, tried: int) -> float:
    """Return which share of the expected F1 may be lost to fewer errors.

    It is the one with the fewest errors of all that hardly lose F1 where samples were left out.
    Probabilities learnt from a few samples are not worth naming more labels for than the best one
    and those likelier than not.
    """
    rows = slice(None, None, -(-len(scores) // tried) or 1)
    targets, weights = evidence.targets[rows], evidence.weights[rows]
    chances = np.where(targets == 0, 0.0, decision.calibration.probabilities(scores[rows]))
    f1s, errors = try_tolerances(chances, targets > 0, weights, decision.empty,
                                 decision.exclusive, _LOSSES).tolist()
    enough = (1.0 - _AS_GOOD) * max(f1s)
    loss: float
    _, loss = min((wrong, loss) for wrong, loss, f1 in zip(errors, _LOSSES.tolist(), f1s,
                                                           strict=True) if f1 >= enough)
    early = _HALF_TRUSTED / (len(scores) + _HALF_TRUSTED)
    return loss + (_EARLY_LOSS - loss) * early * early


def _weight_of_empty(calibration: Calibration, scores: Array, evidence: LeftOut) -> float:
    """Return how many times as likely no label is as independent labels say, at most 1."""
    if calibration.uncontrasted.all():
        return 1.0  # Nothing is known yet of samples that show anything else.
    complete = (evidence.targets != 0).all(axis=1)
    weights = evidence.weights * complete
    bare = float(weights @ ~(evidence.targets > 0).any(axis=1))
    if bare == 0.0:
        return 0.0
    nothing = (1.0 - calibration.probabilities(scores)).prod(axis=1)
    return min(1.0, bare / max(float(weights @ nothing), 1e-9))


class Explained(NamedTuple):
    """Values of labels in which the predicted ones are those above a threshold, as float32."""

    values: Array
    threshold: float


def explain(values: Array, chosen: Mask, threshold: float) -> Explained:
    """Return values and a threshold by which anyone finds the predicted labels again.

    Args:
        values: scores or probabilities of one sample.
        chosen: which labels are predicted.
        threshold: to be named if it tells them from the others.
    """
    shown: Array = values.astype(np.float32)
    if compiled is not None:
        return Explained(shown, compiled.explain(shown, chosen, threshold))
    return _explain(shown, chosen, threshold)


def _explain(shown: Array, chosen: Mask, threshold: float) -> Explained:
    """Do the same in NumPy, for float32."""
    level = np.float32(threshold)
    least = shown[chosen].min(initial=np.inf)
    most = shown[~chosen].max(initial=-np.inf)
    if least > level >= most:
        return Explained(shown, float(level))
    if not chosen.any():
        return Explained(shown, float(max(level, most)))
    level = max(most, np.float32(-1e30))
    between = np.float32(0.5) * (level + least)
    if most > -np.inf and level < between < least:
        level = between
    elif most == -np.inf:
        level = np.nextafter(least, np.float32(-np.inf))
    # Equal values, of which some were preferred: those move up by what float32 can tell.
    shown[chosen & (shown <= level)] = np.nextafter(level, np.float32(np.inf))
    return Explained(shown, float(level))
