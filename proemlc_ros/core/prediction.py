# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions: labels, scores and novelty of a sample; prequential ones, made before learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.calibration import Mask, known_share, known_shares
from proemlc_ros.core.deciding.decision import explain
from proemlc_ros.core.deciding.novelty import distance_of, distances_of
from proemlc_ros.core.rows import Rows

if TYPE_CHECKING:
    from proemlc_ros.core.learner import CachedSample, Learner
    from proemlc_ros.core.learning import AppliedDecisions, LearntSamples


class Classification(NamedTuple):
    """The prediction for one sample.

    As float32, the predicted labels are exactly those whose value is above the threshold: the
    probability, or the score where by_probability is not set.
    """

    labels: tuple[str, ...]  # predicted, best first
    scores: Array  # one per known label
    novelty: float  # 0: well known, 1: nothing like it was learnt
    names: tuple[str, ...]  # of all known labels, in the order of scores
    threshold: float  # the value above which a label was predicted
    at_least: int  # how many of the best are predicted whatever their value: 0 or 1
    probabilities: Array = np.zeros(0, np.float32)  # one per known label; calibrated
    by_probability: bool = False
    unknown: bool = False  # too novel for any label; scores and probabilities tell the best guess

    def or_unknown(self, above: float) -> Classification:
        """Return the same without labels where the novelty is above a value; above 1: never."""
        if self.novelty <= above or not self.names:
            return self
        return self.decided([], self.threshold)._replace(unknown=True)

    def with_offset(self, offset: float) -> Classification:
        """Return the same decided with another threshold: higher by offset, or lower."""
        values = self.probabilities if self.by_probability else self.scores
        threshold = self.threshold + offset
        order = np.argsort(-values, kind='stable').tolist()
        columns = [column for column in order if values[column] > threshold]
        if not columns and self.at_least and self.labels:
            columns = [self.names.index(self.labels[0])]
        return self.decided(columns, threshold)

    def decided(self, columns: list[int], threshold: float) -> Classification:
        """Return the same with these labels predicted, and a threshold that tells them."""
        chosen = np.zeros(len(self.names), dtype=bool)
        chosen[columns] = True
        values = self.probabilities if self.by_probability else self.scores
        explained = explain(values, chosen, threshold)
        scores, probabilities = self.scores, self.probabilities
        if self.by_probability:
            probabilities = explained.values
        else:
            # Only where float32 cannot tell equal scores apart is one of them moved.
            moved = explained.values != values.astype(np.float32)
            scores = np.where(moved, explained.values, values) if moved.any() else scores
        return Classification(tuple([self.names[column] for column in columns]), scores,
                              self.novelty, self.names, explained.threshold, self.at_least,
                              probabilities, self.by_probability)


def classify(learner: Learner, sample: CachedSample) -> Classification:
    """Return the prediction for one sample."""
    outputs = sample.outputs(learner.ridge)
    _, leverage = sample.gain(learner.ridge)
    known = _known_share_of(learner, sample.hidden, leverage)
    usable = outputs[1:] + learner.labels.handicap
    decision = learner.decider.decision
    probabilities = decision.probabilities(usable, known)
    novelty = decision.novelty_of_one(probabilities, known,
                                      distance_of(learner.layer, sample.hidden, leverage))
    found = Classification((), outputs[1:].copy(), novelty, tuple(learner.labels.names),
                           decision.threshold, decision.at_least,
                           probabilities.astype(np.float32), decision.by_probability)
    return found.decided(decision.columns(usable, probabilities), decision.threshold)


def choose(learner: Learner, sample: CachedSample) -> tuple[str, ...]:
    """Return the labels to predict, best first."""
    scores = sample.outputs(learner.ridge)[1:] + learner.labels.handicap
    decision = learner.decision
    probabilities: Array = scores
    if decision.by_probability:
        known = None
        if decision.needs_familiarity:
            known = _known_share_of(learner, sample.hidden, sample.gain(learner.ridge)[1])
        probabilities = decision.probabilities(scores, known)
    names = learner.labels.names
    return tuple([names[column] for column in decision.columns(scores, probabilities)])


def _known_share_of(learner: Learner, hidden: Array, leverage: float) -> float:
    """Return how well known a sample is, from 0 to 1."""
    return known_share(leverage, float(hidden.dot(hidden)), learner.layer.mass(hidden),
                       learner.options.ridge, learner.usual_mass)


def leverages_of(learner: Learner, hidden: Array) -> Array:
    """Return the leverage of each hidden row."""
    leverages: Array = np.einsum('ij,ji->i', hidden, learner.ridge.gains(hidden))
    return leverages


def known_of_rows(learner: Learner, hidden: Array, leverages: Array | None = None) -> Array:
    """Return known_share_of() each hidden row."""
    leverages = leverages_of(learner, hidden) if leverages is None else leverages
    return known_shares(leverages, np.einsum('ij,ij->i', hidden, hidden),
                        learner.layer.masses(hidden), learner.options.ridge, learner.usual_mass)


def novelty_of_rows(learner: Learner, hidden: Array) -> Array:
    """Return how new each hidden row is, from 0 to 1."""
    leverages = leverages_of(learner, hidden)
    known = known_of_rows(learner, hidden, leverages)
    scores = learner.ridge.outputs_of_rows(hidden)[:, 1:] + learner.labels.handicap
    decision = learner.decision
    return decision.novelty(decision.probabilities(scores, known), known,
                            distances_of(learner.layer, hidden, leverages))


def probabilities_of(learner: Learner, hidden: Array) -> Array:
    """Return the probabilities of the labels (n, labels) for hidden rows."""
    scores = learner.ridge.outputs_of_rows(hidden)[:, 1:] + learner.labels.handicap
    known = (known_of_rows(learner, hidden) if learner.decision.calibration.uncontrasted.any()
             else None)
    return learner.decision.probabilities(scores, known)


def choose_rows(learner: Learner, rows: Rows) -> list[tuple[str, ...]]:
    """Return the labels to predict for each sample, best first."""
    hidden = learner.layer.rows(rows)
    scores = learner.ridge.outputs_of_rows(hidden)[:, 1:] + learner.labels.handicap
    values: Array = scores
    decision = learner.decision
    if decision.by_probability:
        known = known_of_rows(learner, hidden) if decision.needs_familiarity else None
        values = decision.probabilities(scores, known)
    return _names_of(learner.labels.names, decision.decide(scores, values), values)


def _known_of_block(learner: Learner, learnt: LearntSamples) -> Array:
    """Return known_share_of() each row of a block, the rows before it having been learnt.

    learner: with samples and mass as before the block.
    """
    usual: Array | float = 0.0
    if learner.layer.radial:
        before = learner.mass + np.concatenate(([0.0], learnt.masses.cumsum()[:-1]))
        usual = before / np.maximum(learner.samples + np.arange(len(before)), 1)
    return known_shares(learnt.leverages, learnt.squares, learnt.masses, learner.options.ridge,
                        usual)


class PrequentialResult(NamedTuple):
    """Predictions for n samples, each made just before the sample was learnt."""

    labels: list[tuple[str, ...]]  # predicted, best score first
    scores: Array  # (n, labels); of a label not known yet: the score that it would have had
    novelty: Array  # (n,)
    probabilities: Array  # (n, labels); of a label not known yet: 0


class PrequentialRecorder:
    """Collects predictions of test-then-train, sample by sample or block by block."""

    def __init__(self) -> None:
        self._labels: list[tuple[str, ...]] = []
        self._outputs: list[Array] = []
        self._novelty: list[Array] = []
        self._probabilities: list[Array] = []

    def record(self, learner: Learner, known: int, sample: CachedSample) -> None:
        """Add the prediction for one sample.

        Args:
            learner: as before the sample is learnt; new labels may be known already.
            known: how many labels were known before the sample.
            sample: is about to be learnt.
        """
        found = classify(learner, sample)
        self._labels.append(found.labels)
        self._outputs.append(sample.outputs(learner.ridge)[np.newaxis])
        self._novelty.append(np.array([found.novelty]))
        self._probabilities.append(found.probabilities[np.newaxis, :known])

    def record_block(self, learner: Learner, applied: AppliedDecisions,
                     learnt: LearntSamples) -> None:
        """Add the predictions for a block of samples, each as before it was learnt.

        Args:
            learner: with samples and mass as before the block.
            applied: how their labels were predicted.
            learnt: the samples.
        """
        known = _known_of_block(learner, learnt)
        scores = learnt.scores[:, 1:] + applied.handicaps
        novelty = np.empty(len(scores))
        places = [place for place, _ in applied.held] + [len(scores)]
        for (start, decision), stop in zip(applied.held, places[1:]):
            part = slice(start, stop)
            probabilities = decision.probabilities(scores[part], known[part])
            chosen = decision.decide(scores[part], probabilities)
            values = probabilities if decision.by_probability else scores[part]
            self._labels += _names_of(learner.labels.names, chosen, values)
            self._probabilities.append(probabilities)
            novelty[part] = decision.novelty(probabilities, known[part],
                                             learnt.distances[part])
        self._outputs.append(learnt.scores)
        self._novelty.append(novelty)

    def record_nothing(self, known: int) -> None:
        """Add the empty prediction of a model that has learnt nothing."""
        self._labels.append(())
        self._outputs.append(np.zeros((1, known + 1)))
        self._novelty.append(np.ones(1))
        self._probabilities.append(np.zeros((1, known)))

    def result(self, labels: int) -> PrequentialResult:
        """Return all predictions, with scores for that many labels."""
        scores = np.empty((len(self._labels), labels))
        start = 0
        for outputs in self._outputs:
            part = scores[start:start + len(outputs)]
            part[:] = outputs[:, :1]
            part[:, :outputs.shape[1] - 1] = outputs[:, 1:]
            start += len(outputs)
        probabilities = np.zeros(scores.shape)
        start = 0
        for known in self._probabilities:
            probabilities[start:start + len(known), :known.shape[1]] = known
            start += len(known)
        return PrequentialResult(self._labels, scores, np.concatenate(self._novelty),
                                 probabilities)


def _names_of(names: list[str], chosen: Mask, scores: Array) -> list[tuple[str, ...]]:
    """Return the chosen labels of each row, best first."""
    rows, columns = chosen.nonzero()
    best_first = np.lexsort((-scores[rows, columns], rows))
    ranked = [names[column] for column in columns[best_first].tolist()]
    stops = chosen.sum(axis=1).cumsum().tolist()
    return [tuple(ranked[start:stop]) for start, stop in zip([0, *stops], stops)]
