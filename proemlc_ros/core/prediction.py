# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions: labels, scores and novelty of a sample; prequential ones, made before learning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.thresholds import Mask, decide

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner
    from proemlc_ros.core.learning import AppliedRules, LearntSamples


class Classification(NamedTuple):
    """The prediction for one sample."""

    labels: tuple[str, ...]  # predicted, best score first
    scores: Array  # one per known label
    novelty: float  # 0: well known, 1: nothing like it was learnt
    names: tuple[str, ...]  # of all known labels, in the order of scores
    threshold: float  # the score above which a label was predicted
    at_least: int  # how many of the best were predicted whatever their score: 0 or 1

    def with_offset(self, offset: float) -> Classification:
        """Return the same decided with another threshold: higher by offset, or lower."""
        threshold = self.threshold + offset
        order = np.argsort(-self.scores, kind='stable')
        labels = [self.names[column] for column in order if self.scores[column] > threshold]
        if not labels and self.at_least and self.labels:
            labels = [self.labels[0]]
        return self._replace(labels=tuple(labels), threshold=threshold)


def choose(learner: Learner, scores: Array) -> tuple[str, ...]:
    """Return the labels to predict, best score first; scores: -inf for labels never shown."""
    threshold, at_least = learner.thresholds.choice
    names = learner.labels.names
    if not len(scores):
        return ()
    best = int(scores.argmax())
    if scores[best] > threshold:
        columns = (scores > threshold).nonzero()[0].tolist()
        if len(columns) > 1:
            columns.sort(key=scores.item, reverse=True)
        return tuple([names[column] for column in columns])
    return (names[best],) if at_least and scores[best] > -np.inf else ()


def novelty_of(learner: Learner, hidden: Array, leverage: float) -> float:
    """Return the leverage q = hMh as a number from 0 (well known) to 1 (nothing like it known).

    The pull q / (1 + q) that the sample would have on its own score, relative to the same in an
    empty model, where q is |h|^2 / ridge. Neurons around centres fall silent far from them, so for
    them the share of their usual answer that is missing counts as new.
    """
    square = float(hidden.dot(hidden))
    if square == 0.0 or not _is_sound(leverage, square):
        return 1.0
    share = leverage / (1.0 + leverage) * (learner.options.ridge + square) / square
    known = 1.0 - min(max(share, 0.0), 1.0)
    if learner.layer.radial and learner.mass > 0.0:
        known *= min(1.0, learner.layer.mass(hidden) * learner.samples / learner.mass)
    return 1.0 - known


def _is_sound(leverage: float, square: float) -> bool:
    """Whether the precision has held the leverage; rounding may leave one of -1e-16."""
    return -0.1 < leverage < math.inf and square < math.inf


def _block_novelty(learner: Learner, learnt: LearntSamples) -> Array:
    """Return novelty_of() each row of a block, the rows before it having been learnt.

    learner: with samples and mass as before the block.
    """
    leverages, squares, masses = learnt.leverages, learnt.squares, learnt.masses
    share = leverages / (1.0 + leverages)
    with np.errstate(divide='ignore', invalid='ignore'):
        share *= (learner.options.ridge + squares) / squares
    unknown = (squares == 0.0) | ~np.isfinite(share)
    known = np.where(unknown, 0.0, 1.0 - np.clip(share, 0.0, 1.0))
    if learner.layer.radial:
        before = learner.mass + np.concatenate(([0.0], masses.cumsum()[:-1]))
        samples = learner.samples + np.arange(len(masses))
        heard = before > 0.0
        known[heard] *= np.minimum(1.0, masses[heard] * samples[heard] / before[heard])
    novelty: Array = 1.0 - known
    return novelty


class PrequentialResult(NamedTuple):
    """Predictions for n samples, each made just before the sample was learnt."""

    labels: list[tuple[str, ...]]  # predicted, best score first
    scores: Array  # (n, labels); of a label not known yet: the score that it would have had
    novelty: Array  # (n,)


class PrequentialRecorder:
    """Collects predictions of test-then-train, sample by sample or block by block."""

    def __init__(self) -> None:
        self._labels: list[tuple[str, ...]] = []
        self._outputs: list[Array] = []
        self._novelty: list[Array] = []

    def record(self, learner: Learner, known: int, outputs: Array, leverage: float,
               hidden: Array) -> None:
        """Add the prediction for one sample.

        Args:
            learner: as before the sample is learnt; new labels may be known already.
            known: how many labels were known before the sample.
            outputs: of the sample, unnamed label first.
            leverage: of the sample.
            hidden: its hidden row.
        """
        scores = outputs[1:known + 1] + learner.labels.handicap[:known]
        self._labels.append(choose(learner, scores))
        self._outputs.append(outputs[np.newaxis])
        self._novelty.append(np.array([novelty_of(learner, hidden, leverage)]))

    def record_block(self, learner: Learner, rules: AppliedRules, learnt: LearntSamples) -> None:
        """Add the predictions for a block of samples, each as before it was learnt.

        Args:
            learner: with samples and mass as before the block.
            rules: how their labels were predicted.
            learnt: the samples.
        """
        scores = learnt.scores[:, 1:] + rules.handicaps
        chosen = decide(scores, rules.thresholds[:, np.newaxis], rules.at_least)
        self._labels += _names_of(learner.labels.names, chosen, scores)
        self._outputs.append(learnt.scores)
        self._novelty.append(_block_novelty(learner, learnt))

    def record_nothing(self, known: int) -> None:
        """Add the empty prediction of a model that has learnt nothing."""
        self._labels.append(())
        self._outputs.append(np.zeros((1, known + 1)))
        self._novelty.append(np.ones(1))

    def result(self, labels: int) -> PrequentialResult:
        """Return all predictions, with scores for that many labels."""
        scores = np.empty((len(self._labels), labels))
        start = 0
        for outputs in self._outputs:
            part = scores[start:start + len(outputs)]
            part[:] = outputs[:, :1]
            part[:, :outputs.shape[1] - 1] = outputs[:, 1:]
            start += len(outputs)
        return PrequentialResult(self._labels, scores, np.concatenate(self._novelty))


def _names_of(names: list[str], chosen: Mask, scores: Array) -> list[tuple[str, ...]]:
    """Return the chosen labels of each row, best score first."""
    rows, columns = chosen.nonzero()
    best_first = np.lexsort((-scores[rows, columns], rows))
    ranked = [names[column] for column in columns[best_first].tolist()]
    stops = chosen.sum(axis=1).cumsum().tolist()
    return [tuple(ranked[start:stop]) for start, stop in zip([0, *stops], stops)]
