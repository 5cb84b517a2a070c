# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The decision: probabilities of the labels, which are predicted, and the threshold that tells."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.deciding.calibration import Calibration, LeftOut, Mask, fit_calibration
from proemlc_ros.core.deciding.compiled import compiled
from proemlc_ros.core.deciding.expected_f1 import best_set, best_sets, try_tolerances
from proemlc_ros.core.deciding.thresholds import best_choice, decide
from proemlc_ros.core.solving.blas import Array

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
# An input known less than this share of what learnt samples are is unlike them.
_UNUSUAL = 0.5
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

    def novelty(self, probabilities: Array, known: Array | float) -> Array:
        """Return how new samples are, 0 to 1, for probabilities (labels,) or (n, labels).

        Something is familiar that the neurons have met and that a label accounts for. Where
        samples without labels are normal, that none accounts for it tells nothing.

        known: how well known the inputs are, by their leverage.
        """
        best = probabilities.max(axis=-1, initial=0.0)
        explained = 1.0 - (1.0 - best) * (1.0 - self.empty)
        usual = _UNUSUAL * max(self.calibration.usual, 1e-9)
        novelty: Array = 1.0 - explained * np.minimum(known / usual, 1.0)
        return novelty

    def novelty_of_one(self, probabilities: Array, known: float) -> float:
        """Do the same for one sample (labels,), in a third of the time."""
        best = float(probabilities.max(initial=0.0))
        explained = 1.0 - (1.0 - best) * (1.0 - self.empty)
        usual = _UNUSUAL * max(self.calibration.usual, 1e-9)
        return 1.0 - explained * min(known / usual, 1.0)

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
