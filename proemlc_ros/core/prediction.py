# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a learner says about samples: scores, labels and novelty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.blas import Array
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.rows import Rows


class Classification(NamedTuple):
    """What a model says about one sample."""

    labels: tuple[str, ...]  # predicted, best score first
    scores: Array  # one for each known label
    novelty: float  # 0: well known, 1: nothing like it was learnt
    names: tuple[str, ...]  # of all known labels, in the order of scores


def scores(learner: Learner, rows: Rows) -> Array:
    """Return the scores (n, labels)."""
    return np.ascontiguousarray(learner.ridge.outputs_of_rows(learner.layer.rows(rows))[:, 1:])


def predict(learner: Learner, rows: Rows) -> list[tuple[str, ...]]:
    """Return the predicted labels of each row, best score first."""
    outputs = scores(learner, rows)
    return [best_first(learner.labels.names, row, chosen)
            for row, chosen in zip(outputs, learner.thresholds.decide(outputs))]


def novelty(learner: Learner, rows: Rows) -> Array:
    """Return how unlike everything learnt each row is."""
    hidden = learner.layer.rows(rows)
    leverages = np.einsum('ij,ji->i', hidden, learner.ridge.gains(hidden))
    squares = np.einsum('ij,ij->i', hidden, hidden)
    return np.array([novelty_of(leverage, square, learner.options.ridge)
                     for leverage, square in zip(leverages, squares)], learner.options.dtype)


def classify(learner: Learner, vector: Array) -> Classification:
    """Return everything about one dense sample; its hidden row is computed once."""
    hidden = learner.layer.row(vector)
    outputs = learner.ridge.outputs(hidden)[1:]
    _, leverage = learner.ridge.gain(hidden)
    names = learner.labels.names
    chosen, = learner.thresholds.decide(outputs[np.newaxis])
    share = novelty_of(leverage, float(hidden.dot(hidden)), learner.options.ridge)
    return Classification(best_first(names, outputs, chosen), outputs, share, tuple(names))


def best_first(names: list[str], outputs: Array, chosen: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the names of the chosen labels, best score first."""
    columns = np.flatnonzero(chosen)
    if len(columns) > 1:
        columns = columns[(-outputs[columns]).argsort(kind='stable')]
    return tuple([names[column] for column in columns])


def novelty_of(leverage: float, square: float, ridge: float) -> float:
    """Return the leverage q = hMh as a number from 0 (well known) to 1 (nothing like it known).

    The pull q / (1 + q) that the sample would have on its own score, relative to the same in an
    empty model, where q is |h|^2 / ridge.
    """
    if square == 0.0:
        return 1.0
    share = leverage / (1.0 + leverage) * (ridge + square) / square
    return min(max(float(share), 0.0), 1.0)
