# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of multi-label predictions, on indicator arrays (n samples, m labels).

Conventions for empty sets, one for all: 0/0 is 1 where truth and prediction are both empty (the
prediction was right), else 0. A label that is neither present nor predicted anywhere has no F1 and
is left out of the macro average. Samples in which all labels, or none, are present have nothing to
rank: their ranking loss is 0 and their average precision 1; without a present label the one-error
and the coverage of a sample are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.metrics import ranking
from proemlc_ros.errors import EmptyInputError, LengthMismatchError, NotFiniteError

Array = npt.NDArray[np.float64]
Indicators = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


class SetCounts(NamedTuple):
    """The sizes that all set metrics are made of, one per sample (or one per label)."""

    hits: Counts
    predicted: Counts
    present: Counts


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
        raise EmptyInputError(f'{name} has no rows; there is nothing to compare')
    if array.dtype == np.bool_:
        return array
    if not np.isin(array, (0, 1)).all():
        wrong = array[~np.isin(array, (0, 1))].flat[0]
        raise NotFiniteError(f'{name} holds {wrong!r}; indicators are 0 or 1')
    return array.astype(np.bool_)


def pair(Y_true: object, Y_pred: object) -> tuple[Indicators, Indicators]:
    """Return truth and prediction as indicators of one shape."""
    truth, predicted = indicators(Y_true, 'Y_true'), indicators(Y_pred, 'Y_pred')
    if truth.shape != predicted.shape:
        raise LengthMismatchError(
            f'Y_true has the shape {truth.shape}, Y_pred {predicted.shape}; they must agree')
    return truth, predicted


def example_counts(truth: Indicators, predicted: Indicators) -> SetCounts:
    """Count per sample."""
    return SetCounts((truth & predicted).sum(axis=1), predicted.sum(axis=1), truth.sum(axis=1))


def label_counts(truth: Indicators, predicted: Indicators) -> SetCounts:
    """Count per label."""
    return SetCounts((truth & predicted).sum(axis=0), predicted.sum(axis=0), truth.sum(axis=0))


def ratio(counts: SetCounts, above: Counts, below: Counts) -> Array:
    """Divide with the convention of this module for 0/0."""
    both_empty = (counts.predicted + counts.present == 0).astype(np.float64)
    result: Array = np.where(below > 0, above / np.maximum(below, 1), both_empty)
    return result


def example_accuracy(counts: SetCounts) -> Array:
    """Return the Jaccard similarity of each sample."""
    return ratio(counts, counts.hits, counts.predicted + counts.present - counts.hits)


def example_precision(counts: SetCounts) -> Array:
    """Return the share of each sample's predicted labels that are present."""
    return ratio(counts, counts.hits, counts.predicted)


def example_recall(counts: SetCounts) -> Array:
    """Return the share of each sample's present labels that are predicted."""
    return ratio(counts, counts.hits, counts.present)


def example_f1(counts: SetCounts) -> Array:
    """Return the harmonic mean of precision and recall of each sample."""
    return ratio(counts, 2 * counts.hits, counts.predicted + counts.present)


def example_exact(counts: SetCounts) -> Array:
    """Return 1.0 for each sample whose label set is predicted exactly."""
    right = (counts.hits == counts.predicted) & (counts.hits == counts.present)
    exact: Array = right.astype(np.float64)
    return exact


EXAMPLE_METRICS = {'accuracy': example_accuracy, 'precision': example_precision,
                    'recall': example_recall, 'f1_example': example_f1,
                    'subset_accuracy': example_exact}


def harmonic_mean(precision: float, recall: float) -> float:
    """Return the F1 that the paper reports: of precision and recall averaged over samples."""
    total = precision + recall
    return 2.0 * precision * recall / total if total > 0.0 else 0.0


def micro_f1_of(counts: SetCounts) -> float:
    """Return F1 over all decisions together; 1 when nothing is present or predicted."""
    below = int(counts.predicted.sum() + counts.present.sum())
    return 2.0 * int(counts.hits.sum()) / below if below else 1.0


def macro_f1_of(counts: SetCounts) -> float:
    """Return the mean F1 of the labels present or predicted somewhere; 1 without any."""
    below = counts.predicted + counts.present
    used = below > 0
    return float(np.mean(2.0 * counts.hits[used] / below[used])) if used.any() else 1.0


def hamming_loss(Y_true: object, Y_pred: object) -> float:
    """Return the share of wrong decisions; 0 without any label."""
    truth, predicted = pair(Y_true, Y_pred)
    return float(np.mean(truth != predicted)) if truth.size else 0.0


def accuracy(Y_true: object, Y_pred: object) -> float:
    """Return the Jaccard similarity of truth and prediction, averaged over samples."""
    return float(example_accuracy(example_counts(*pair(Y_true, Y_pred))).mean())


def precision(Y_true: object, Y_pred: object) -> float:
    """Return precision, averaged over samples."""
    return float(example_precision(example_counts(*pair(Y_true, Y_pred))).mean())


def recall(Y_true: object, Y_pred: object) -> float:
    """Return recall, averaged over samples."""
    return float(example_recall(example_counts(*pair(Y_true, Y_pred))).mean())


def f1_paper(Y_true: object, Y_pred: object) -> float:
    """Return the harmonic mean of averaged precision and averaged recall (the paper's F1)."""
    return harmonic_mean(precision(Y_true, Y_pred), recall(Y_true, Y_pred))


def f1_example(Y_true: object, Y_pred: object) -> float:
    """Return F1, averaged over samples."""
    return float(example_f1(example_counts(*pair(Y_true, Y_pred))).mean())


def subset_accuracy(Y_true: object, Y_pred: object) -> float:
    """Return the share of samples whose label set is predicted exactly."""
    return float(example_exact(example_counts(*pair(Y_true, Y_pred))).mean())


def f1_micro(Y_true: object, Y_pred: object) -> float:
    """Return F1 over all decisions together."""
    return micro_f1_of(label_counts(*pair(Y_true, Y_pred)))


def f1_macro(Y_true: object, Y_pred: object) -> float:
    """Return F1 averaged over labels."""
    return macro_f1_of(label_counts(*pair(Y_true, Y_pred)))


def evaluate(Y_true: object, Y_pred: object, scores: object = None) -> dict[str, float]:
    """Return every metric by name; the ranking metrics only where scores are given.

    >>> evaluate([[1, 0], [1, 1]], [[1, 0], [0, 1]])['hamming_loss']
    0.25
    """
    truth, predicted = pair(Y_true, Y_pred)
    per_sample = example_counts(truth, predicted)
    values = {'hamming_loss': hamming_loss(truth, predicted)}
    values.update((name, float(metric(per_sample).mean()))
                  for name, metric in EXAMPLE_METRICS.items())
    values['f1_paper'] = harmonic_mean(values['precision'], values['recall'])
    per_label = label_counts(truth, predicted)
    values['f1_micro'], values['f1_macro'] = micro_f1_of(per_label), macro_f1_of(per_label)
    if scores is not None:
        ranked = ranking.read_scores(scores, truth)
        values.update((name, float(metric(truth, ranked).mean()))
                      for name, metric in ranking.RANKING_METRICS.items())
    return values
