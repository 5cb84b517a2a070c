# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of sets of labels and of rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from indicator_pairs import indicator_pairs

from proemlc_ros.core import metrics
from proemlc_ros.errors import EmptyInputError, LengthMismatchError, NotFiniteError

# Two labels right of three and one wrong; nothing found; nothing there and nothing said.
TRUTH = [[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
GUESS = [[1, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_metrics_worked_by_hand():
    values = metrics.evaluate(TRUTH, GUESS)
    assert values['hamming_loss'] == pytest.approx(3 / 12)
    assert values['accuracy'] == pytest.approx((2 / 4 + 0 + 1) / 3)
    assert values['precision'] == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert values['recall'] == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert values['f1_example'] == pytest.approx((4 / 6 + 0 + 1) / 3)
    assert values['f1_paper'] == pytest.approx(5 / 9)
    assert values['subset_accuracy'] == pytest.approx(1 / 3)
    assert values['f1_micro'] == pytest.approx(4 / (3 + 4))
    assert values['f1_macro'] == pytest.approx((1 + 1 + 0 + 0) / 4)


def test_both_f1_differ():
    truth, guess = [[1, 1, 1, 1], [1, 0, 0, 0]], [[1, 0, 0, 0], [1, 0, 0, 0]]
    values = metrics.evaluate(truth, guess)
    assert values['f1_paper'] == pytest.approx(2 * 1 * 0.625 / 1.625)
    assert values['f1_example'] == pytest.approx((2 / 5 + 1) / 2)


def test_empty_truth_with_a_guess_is_wrong_on_every_count():
    values = metrics.evaluate([[0, 0]], [[1, 0]])
    assert [values[name] for name in ('accuracy', 'precision', 'recall', 'f1_example')] == [0] * 4


def test_macro_leaves_out_labels_without_any_part():
    values = metrics.evaluate([[1, 0], [1, 0]], [[1, 0], [0, 0]])
    assert values['f1_macro'] == pytest.approx(2 / 3)


def test_single_functions_equal_evaluate():
    values = metrics.evaluate(TRUTH, GUESS)
    for name in ('hamming_loss', 'f1_example'):
        assert getattr(metrics, name)(TRUTH, GUESS) == values[name]


@pytest.mark.parametrize(('truth', 'guess', 'error'), [
    ([[1, 0]], [[1, 0, 0]], LengthMismatchError),
    ([[1, 2]], [[1, 0]], NotFiniteError),
    ([[1, 0]], [[1, float('nan')]], NotFiniteError),
    (np.zeros((0, 2)), np.zeros((0, 2)), EmptyInputError),
    (np.zeros((1, 2, 1)), np.zeros((1, 2, 1)), LengthMismatchError),
])
def test_bad_input_is_named(truth, guess, error):
    with pytest.raises(error):
        metrics.hamming_loss(truth, guess)


@settings(deadline=None)
@given(indicator_pairs(2))
def test_set_metrics_equal_scikit_learn(pairs):
    learn = pytest.importorskip('sklearn.metrics')
    truth, guess, _ = pairs
    values = metrics.evaluate(truth, guess)
    assert values['hamming_loss'] == pytest.approx(learn.hamming_loss(truth, guess))
    assert values['subset_accuracy'] == pytest.approx(learn.accuracy_score(truth, guess))
    if truth.any() or guess.any():
        assert values['f1_micro'] == pytest.approx(learn.f1_score(truth, guess, average='micro'))
        assert values['f1_macro'] == pytest.approx(
            learn.f1_score(truth, guess, average='macro', zero_division=np.nan))
    used = truth.any(axis=1) | guess.any(axis=1)  # both empty: there the conventions differ
    if used.any():
        truth, guess = truth[used], guess[used]
        options = {'average': 'samples', 'zero_division': 0}
        values = metrics.evaluate(truth, guess)
        for name, theirs in (('accuracy', learn.jaccard_score),
                             ('precision', learn.precision_score),
                             ('recall', learn.recall_score), ('f1_example', learn.f1_score)):
            assert values[name] == pytest.approx(theirs(truth, guess, **options))


def test_ranking_worked_by_hand():
    truth, scores = [[1, 0, 1, 0]], [[0.9, 0.8, 0.1, 0.0]]
    values = metrics.evaluate(truth, np.zeros((1, 4), bool), scores)
    assert values['one_error'] == 0
    assert values['coverage'] == 3
    assert values['ranking_loss'] == pytest.approx(1 / 4)
    assert values['average_precision'] == pytest.approx((1 + 2 / 3) / 2)


def test_ranking_without_any_label_has_nothing_wrong():
    nothing = np.zeros((3, 0))
    values = metrics.evaluate(nothing, nothing, nothing)
    assert (values['one_error'], values['coverage']) == (0, 0)


def test_bad_scores_are_named():
    with pytest.raises(LengthMismatchError):
        metrics.evaluate([[1, 0]], [[1, 0]], [[1, 2, 3]])
    with pytest.raises(NotFiniteError):
        metrics.evaluate([[1, 0]], [[1, 0]], [[1, np.nan]])


@settings(deadline=None)
@given(indicator_pairs(2))
def test_ranking_metrics_equal_scikit_learn(pairs):
    learn = pytest.importorskip('sklearn.metrics')
    truth, guess, scores = pairs
    values = metrics.evaluate(truth, guess, scores)
    assert values['coverage'] == pytest.approx(learn.coverage_error(truth, scores))
    assert values['ranking_loss'] == pytest.approx(learn.label_ranking_loss(truth, scores))
    assert values['average_precision'] == pytest.approx(
        learn.label_ranking_average_precision_score(truth, scores))
