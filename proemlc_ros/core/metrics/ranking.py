# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of how well scores rank the present labels of a sample above the absent ones.

Ties: equal scores share the worst rank among them, and a tied pair counts as ranked wrongly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from proemlc_ros.errors import LengthMismatchError, NotFiniteError

Array = npt.NDArray[np.float64]
Indicators = npt.NDArray[np.bool_]


def read_scores(scores: object, truth: Indicators) -> Array:
    """Return scores as an array of the shape of truth.

    Raises:
        LengthMismatchError: when the shape is another.
        NotFiniteError: when a score is not a number.
    """
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim == 1:
        array = array[np.newaxis, :]
    if array.shape != truth.shape:
        raise LengthMismatchError(
            f'the scores have the shape {array.shape}, the truth {truth.shape}; they must agree')
    if np.isnan(array).any():
        raise NotFiniteError('a score is NaN; it has no place in a ranking')
    return array


def sample_one_error(truth: Indicators, scores: Array) -> Array:
    """Return 1.0 for each sample whose best label is absent; the first of equals is the best."""
    if not truth.shape[1]:
        return np.zeros(len(truth))
    best = truth[np.arange(len(truth)), scores.argmax(axis=1)]
    wrong: Array = (~best & truth.any(axis=1)).astype(np.float64)
    return wrong


def sample_coverage(truth: Indicators, scores: Array) -> Array:
    """Return how many labels from the top must be taken to have every present one."""
    if not truth.shape[1]:
        return np.zeros(len(truth))
    lowest = np.where(truth, scores, np.inf).min(axis=1, keepdims=True)
    depth: Array = (scores >= lowest).sum(axis=1).astype(np.float64)
    return depth


def sample_ranking_loss(truth: Indicators, scores: Array) -> Array:
    """Return the share of (present, absent) pairs in which the absent label is not below."""
    losses = np.zeros(len(truth))
    for row, (present, values) in enumerate(zip(truth, scores, strict=True)):
        above, below = values[present], np.sort(values[~present])
        if above.size and below.size:
            wrong = below.size - np.searchsorted(below, above, side='left')
            losses[row] = wrong.sum() / (above.size * below.size)
    return losses


def sample_average_precision(truth: Indicators, scores: Array) -> Array:
    """Return, averaged over present labels, the share of present ones ranked as high or higher."""
    values = np.ones(len(truth))
    for row, (present, score) in enumerate(zip(truth, scores, strict=True)):
        if present.any() and not present.all():
            everyone, chosen = np.sort(score), np.sort(score[present])
            ranks = everyone.size - np.searchsorted(everyone, chosen, side='left')
            hits = chosen.size - np.searchsorted(chosen, chosen, side='left')
            values[row] = np.mean(hits / ranks)
    return values


RANKING_METRICS = {'one_error': sample_one_error, 'coverage': sample_coverage,
                    'ranking_loss': sample_ranking_loss,
                    'average_precision': sample_average_precision}


def one_error(Y_true: object, scores: object) -> float:
    """Return the share of samples whose best label is absent."""
    return _mean(sample_one_error, Y_true, scores)


def coverage(Y_true: object, scores: object) -> float:
    """Return how deep, on average, a ranking must be read to find every present label."""
    return _mean(sample_coverage, Y_true, scores)


def ranking_loss(Y_true: object, scores: object) -> float:
    """Return the share of wrongly ranked pairs, averaged over samples."""
    return _mean(sample_ranking_loss, Y_true, scores)


def average_precision(Y_true: object, scores: object) -> float:
    """Return label ranking average precision, averaged over samples."""
    return _mean(sample_average_precision, Y_true, scores)


def _mean(metric: Callable[[Indicators, Array], Array], Y_true: object,
          scores: object) -> float:
    truth = _truth(Y_true)
    return float(metric(truth, read_scores(scores, truth)).mean())


def _truth(values: object) -> Indicators:
    # Imported late: metrics imports this module.
    from proemlc_ros.core.metrics.sets import indicators
    return indicators(values, 'Y_true')
