# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a learner says about samples: scores, labels and novelty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proemlc_ros.core.blocks import LearntSamples
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.solving.blas import Array


class Classification(NamedTuple):
    """What a model says about one sample."""

    labels: tuple[str, ...]  # predicted, best score first
    scores: Array  # one for each known label
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


def scores(learner: Learner, rows: Rows) -> Array:
    """Return the scores (n, labels)."""
    return np.ascontiguousarray(learner.ridge.outputs_of_rows(learner.layer.rows(rows))[:, 1:])


def scores_of(learner: Learner, vector: Array) -> Array:
    """Return the scores (1, labels) of one dense sample."""
    return learner.probe(vector).outputs(learner.ridge)[np.newaxis, 1:].copy()


def labels_of(learner: Learner, vector: Array) -> tuple[str, ...]:
    """Return the predicted labels of one dense sample, best score first."""
    outputs = learner.probe(vector).outputs(learner.ridge)
    return choose(learner, outputs[1:] + learner.labels.handicap)


def predict(learner: Learner, rows: Rows) -> list[tuple[str, ...]]:
    """Return the predicted labels of each row, best score first."""
    return [choose(learner, row) for row in scores(learner, rows) + learner.labels.handicap]


def novelty(learner: Learner, rows: Rows) -> Array:
    """Return how unlike everything learnt each row is."""
    hidden = learner.layer.rows(rows)
    leverages = np.einsum('ij,ji->i', hidden, learner.ridge.gains(hidden))
    return np.array([novelty_of(learner, row, float(leverage))
                     for row, leverage in zip(hidden, leverages)], learner.options.dtype)


def classify(learner: Learner, vector: Array) -> Classification:
    """Return everything about one dense sample; its hidden row is computed once."""
    probe = learner.probe(vector)
    outputs = probe.outputs(learner.ridge)[1:]
    _, leverage = probe.gain(learner.ridge)
    return Classification(choose(learner, outputs + learner.labels.handicap), outputs.copy(),
                          novelty_of(learner, probe.hidden, leverage), tuple(learner.labels.names),
                          *learner.thresholds.choice)


def choose(learner: Learner, judged: Array) -> tuple[str, ...]:
    """Return the labels to predict, best score first; judged: scores, -inf for labels unseen."""
    threshold, at_least = learner.thresholds.choice
    names = learner.labels.names
    if not len(judged):
        return ()
    best = int(judged.argmax())
    if judged[best] > threshold:
        columns = (judged > threshold).nonzero()[0].tolist()
        if len(columns) > 1:
            columns.sort(key=judged.item, reverse=True)
        return tuple([names[column] for column in columns])
    return (names[best],) if at_least and judged[best] > -np.inf else ()


def novelty_of(learner: Learner, hidden: Array, leverage: float) -> float:
    """Return the leverage q = hMh as a number from 0 (well known) to 1 (nothing like it known).

    The pull q / (1 + q) that the sample would have on its own score, relative to the same in an
    empty model, where q is |h|^2 / ridge. Neurons around centres fall silent far from them, so for
    them the share of their usual answer that is missing counts as new.
    """
    square = float(hidden.dot(hidden))
    if square == 0.0:
        return 1.0
    share = leverage / (1.0 + leverage) * (learner.options.ridge + square) / square
    known = 1.0 - min(max(share, 0.0), 1.0)
    if learner.layer.radial and learner.mass > 0.0:
        known *= min(1.0, learner.layer.mass(hidden) * learner.samples / learner.mass)
    return 1.0 - known


def novelties_of(learner: Learner, learnt: LearntSamples) -> Array:
    """Return novelty_of() each row of a block, the rows before it having been learnt.

    learner: with samples and mass as before the block.
    """
    leverages, squares, masses = learnt.leverages, learnt.squares, learnt.masses
    share = leverages / (1.0 + leverages)
    with np.errstate(divide='ignore', invalid='ignore'):
        share *= (learner.options.ridge + squares) / squares
    known = np.where(squares == 0.0, 0.0, 1.0 - np.clip(share, 0.0, 1.0))
    if learner.layer.radial:
        before = learner.mass + np.concatenate(([0.0], masses.cumsum()[:-1]))
        samples = learner.samples + np.arange(len(masses))
        heard = before > 0.0
        usual = np.minimum(1.0, masses[heard] * samples[heard] / before[heard])
        known[heard] *= usual
    novelty: Array = 1.0 - known
    return novelty
