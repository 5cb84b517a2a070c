# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of multi-label predictions, on indicator arrays (n samples, m labels).

Conventions for empty sets, one for all: 0/0 is 1 where truth and prediction are both empty (the
prediction was right), else 0. A label that is neither present nor predicted anywhere has no F1 and
is left out of the macro average. Samples in which all labels, or none, are present have nothing to
rank: their ranking loss is 0 and their average precision 1; without a present label the one-error
and the coverage of a sample are 0. In rankings equal scores share the worst rank among them, and a
tied pair counts as ranked wrongly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.prequential import (
    CurvePoint,
    JudgedLabels,
    LabelCounts,
    LossCurve,
    PrequentialMetrics,
)
from proemlc_ros.errors import EmptyInputError, LengthMismatchError, NotFiniteError

__all__ = [
    'CurvePoint', 'JudgedLabels', 'LabelCounts', 'LossCurve', 'PrequentialMetrics',
    'ProbabilityMetrics', 'evaluate', 'f1_example', 'hamming_loss', 'indicators',
]

Array = npt.NDArray[np.float64]
Indicators = npt.NDArray[np.bool_]


def _check_scores(scores: object, truth: Indicators) -> Array:
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


def _sample_one_error(truth: Indicators, scores: Array) -> Array:
    """Return 1.0 for each sample whose best label is absent; the first of equals is the best."""
    if not truth.shape[1]:
        return np.zeros(len(truth))
    best = truth[np.arange(len(truth)), scores.argmax(axis=1)]
    wrong: Array = (~best & truth.any(axis=1)).astype(np.float64)
    return wrong


def _sample_coverage(truth: Indicators, scores: Array) -> Array:
    """Return how many labels from the top must be taken to have every present one."""
    if not truth.shape[1]:
        return np.zeros(len(truth))
    lowest = np.where(truth, scores, np.inf).min(axis=1, keepdims=True)
    depth: Array = (scores >= lowest).sum(axis=1).astype(np.float64)
    return depth


def _sample_ranking_loss(truth: Indicators, scores: Array) -> Array:
    """Return the share of (present, absent) pairs in which the absent label is not below."""
    losses = np.zeros(len(truth))
    for row, (present, values) in enumerate(zip(truth, scores, strict=True)):
        above, below = values[present], np.sort(values[~present])
        if above.size and below.size:
            wrong = below.size - np.searchsorted(below, above, side='left')
            losses[row] = wrong.sum() / (above.size * below.size)
    return losses


def _sample_average_precision(truth: Indicators, scores: Array) -> Array:
    """Return, averaged over present labels, the share of present ones ranked as high or higher."""
    values = np.ones(len(truth))
    for row, (present, score) in enumerate(zip(truth, scores, strict=True)):
        if present.any() and not present.all():
            everyone, chosen = np.sort(score), np.sort(score[present])
            ranks = everyone.size - np.searchsorted(everyone, chosen, side='left')
            hits = chosen.size - np.searchsorted(chosen, chosen, side='left')
            values[row] = np.mean(hits / ranks)
    return values


_RANKING_METRICS = {'one_error': _sample_one_error, 'coverage': _sample_coverage,
                    'ranking_loss': _sample_ranking_loss,
                    'average_precision': _sample_average_precision}


class _SetCounts(NamedTuple):
    """The sizes that all set metrics are made of, one per sample (or one per label)."""

    hits: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    present: npt.NDArray[np.int64]

    @classmethod
    def along(cls, axis: int, truth: Indicators, predicted: Indicators) -> _SetCounts:
        """Count labels per sample, along axis 1, or samples per label."""
        return cls(*(array.sum(axis=axis) for array in (truth & predicted, predicted, truth)))

    @property
    def both(self) -> npt.NDArray[np.int64]:
        """The sizes of prediction and truth together."""
        return self.predicted + self.present

    def share(self, above: npt.NDArray[np.int64], below: npt.NDArray[np.int64]) -> float:
        """Return the mean quotient, with the convention of this module for 0/0."""
        return float(np.where(below > 0, above / np.maximum(below, 1), self.both == 0).mean())


def indicators(values: object, name: str = 'Y') -> Indicators:
    """Return an indicator array of 0/1 or boolean values as boolean; one row stays one row.

    Raises:
        NotFiniteError: when a value is neither 0 nor 1.
        EmptyInputError: when there is no row.
        LengthMismatchError: when it has more than two dimensions.
    """
    array = np.asarray(values)
    if array.ndim == 1:
        array = array[np.newaxis, :]
    if array.ndim != 2:
        raise LengthMismatchError(f'{name} has {array.ndim} dimensions; give (samples, labels)')
    if not len(array):
        raise EmptyInputError(f'{name} has no rows; there is nothing to evaluate')
    if array.dtype == np.bool_:
        return array
    if not np.isin(array, (0, 1)).all():
        wrong = array[~np.isin(array, (0, 1))].flat[0]
        raise NotFiniteError(f'{name} holds {wrong!r}; indicators are 0 or 1')
    return array.astype(np.bool_)


def _pair(Y_true: object, Y_pred: object) -> tuple[Indicators, Indicators]:
    """Return truth and prediction as indicators of one shape."""
    truth, predicted = indicators(Y_true, 'Y_true'), indicators(Y_pred, 'Y_pred')
    if truth.shape != predicted.shape:
        raise LengthMismatchError(
            f'Y_true has the shape {truth.shape}, Y_pred {predicted.shape}; they must agree')
    return truth, predicted


def hamming_loss(Y_true: object, Y_pred: object) -> float:
    """Return the share of wrong decisions; 0 without any label."""
    truth, predicted = _pair(Y_true, Y_pred)
    return float(np.mean(truth != predicted)) if truth.size else 0.0


def f1_example(Y_true: object, Y_pred: object) -> float:
    """Return F1, averaged over samples."""
    counts = _SetCounts.along(1, *_pair(Y_true, Y_pred))
    return counts.share(2 * counts.hits, counts.both)


def evaluate(Y_true: object, Y_pred: object, scores: object = None) -> dict[str, float]:
    """Return every metric by name; the ranking metrics only where scores are given.

    accuracy is the Jaccard similarity, f1_paper the harmonic mean of precision and recall, each
    averaged over samples.

    >>> evaluate([[1, 0], [1, 1]], [[1, 0], [0, 1]])['hamming_loss']
    0.25
    """
    truth, predicted = _pair(Y_true, Y_pred)
    counts, labels = (_SetCounts.along(axis, truth, predicted) for axis in (1, 0))
    hits, said, there = counts
    precision, recall = counts.share(hits, said), counts.share(hits, there)
    used = labels.both > 0
    values = {
        'hamming_loss': hamming_loss(truth, predicted),
        'accuracy': counts.share(hits, counts.both - hits),
        'precision': precision,
        'recall': recall,
        'f1_example': counts.share(2 * hits, counts.both),
        'subset_accuracy': float(np.mean((hits == said) & (hits == there))),
        'f1_paper': 2.0 * precision * recall / ((precision + recall) or 1.0),
        'f1_micro': 2.0 * int(hits.sum()) / int(counts.both.sum()) if used.any() else 1.0,
        'f1_macro': (float(np.mean(2.0 * labels.hits[used] / labels.both[used]))
                     if used.any() else 1.0),
    }
    if scores is not None:
        ranked = _check_scores(scores, truth)
        values.update((name, float(metric(truth, ranked).mean()))
                      for name, metric in _RANKING_METRICS.items())
    return values


_BINS = 10
# A probability of exactly 0 or 1 that is wrong must not cost infinitely much.
_LEAST = 1e-7


class ProbabilityMetrics:
    """Adds up over the labels of all samples, block by block.

    >>> metrics = ProbabilityMetrics()
    >>> metrics.add(np.array([[0.9, 0.1]]), np.array([[True, False]]))
    >>> round(metrics.values()['calibration_error'], 3)
    0.1
    """

    def __init__(self) -> None:
        self._loss = 0.0
        # Of the probabilities from 0 to 0.1, 0.1 to 0.2 …: number, sum, and labels present.
        self._bins = np.zeros((3, _BINS))

    def add(self, probabilities: npt.NDArray[np.floating], present: Indicators,
            judged: Indicators | None = None) -> None:
        """Add predictions (n, labels); judged: whose truth is known, None: all."""
        chances = np.clip(np.asarray(probabilities, np.float64), _LEAST, 1.0 - _LEAST)
        if judged is not None:
            chances, present = chances[judged], present[judged]
        chances, present = chances.ravel(), present.ravel()
        self._loss -= float(np.log(np.where(present, chances, 1.0 - chances)).sum())
        places = np.minimum((chances * _BINS).astype(np.intp), _BINS - 1)
        for row, weights in enumerate((np.ones(len(chances)), chances, present)):
            self._bins[row] += np.bincount(places, weights, minlength=_BINS)

    def values(self) -> dict[str, float]:
        """Return both by name, averaged over all labels of all samples; empty before the first.

        The calibration error is the distance between the mean probability and the share of labels
        present, averaged over ten bins of probability.
        """
        count, chances, present = self._bins
        total = float(count.sum())
        if not total:
            return {}
        return {'log_loss': self._loss / total,
                'calibration_error': float(np.abs(chances - present).sum()) / total}
