# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures: cases worked by hand, agreement with scikit-learn, and streaming == batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proemlc_ros.core import metrics
from proemlc_ros.core.metrics import RollingMetrics, StreamingMetrics, ranking
from proemlc_ros.errors import (
    EmptyInputError,
    LabelError,
    LengthMismatchError,
    NotFiniteError,
    ParameterError,
)

# Two labels right of three and one wrong; nothing found; nothing there and nothing predicted.
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
    assert metrics.f1_paper(truth, guess) == pytest.approx(2 * 1 * 0.625 / 1.625)
    assert metrics.f1_example(truth, guess) == pytest.approx((2 / 5 + 1) / 2)


def test_empty_truth_with_a_guess_is_wrong_on_every_count():
    values = metrics.evaluate([[0, 0]], [[1, 0]])
    assert [values[name] for name in ('accuracy', 'precision', 'recall', 'f1_example')] == [0] * 4


def test_macro_leaves_out_labels_without_any_part():
    assert metrics.f1_macro([[1, 0], [1, 0]], [[1, 0], [0, 0]]) == pytest.approx(2 / 3)


def test_ranking_worked_by_hand():
    truth, scores = [[1, 0, 1, 0]], [[0.9, 0.8, 0.1, 0.0]]
    values = metrics.evaluate(truth, np.zeros((1, 4), bool), scores)
    assert values['one_error'] == 0
    assert values['coverage'] == 3
    assert values['ranking_loss'] == pytest.approx(1 / 4)
    assert values['average_precision'] == pytest.approx((1 + 2 / 3) / 2)


def test_ranking_without_any_label_has_nothing_wrong():
    nothing = np.zeros((3, 0))
    assert (ranking.one_error(nothing, nothing), ranking.coverage(nothing, nothing)) == (0, 0)


def test_single_functions_equal_evaluate():
    scores = np.arange(12).reshape(3, 4) % 5
    values = metrics.evaluate(TRUTH, GUESS, scores)
    for name in ('hamming_loss', 'accuracy', 'precision', 'recall', 'f1_paper', 'f1_example',
                 'subset_accuracy', 'f1_micro', 'f1_macro'):
        assert getattr(metrics, name)(TRUTH, GUESS) == pytest.approx(values[name])
    for name in ranking.RANKING_METRICS:
        assert getattr(ranking, name)(TRUTH, scores) == pytest.approx(values[name])


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


def test_bad_scores_are_named():
    with pytest.raises(LengthMismatchError):
        ranking.one_error([[1, 0]], [[1, 2, 3]])
    with pytest.raises(NotFiniteError):
        ranking.one_error([[1, 0]], [[1, np.nan]])


def indicator_pairs(least_labels=1):
    shape = st.tuples(st.integers(1, 12), st.integers(least_labels, 6))
    return shape.flatmap(lambda size: st.tuples(
        arrays.arrays(bool, size), arrays.arrays(bool, size),
        arrays.arrays(float, size, elements=st.integers(-3, 3))))


@settings(deadline=None)
@given(indicator_pairs(2))
def test_set_metrics_equal_scikit_learn(pairs):
    learn = pytest.importorskip('sklearn.metrics')
    truth, guess, _ = pairs
    assert metrics.hamming_loss(truth, guess) == pytest.approx(learn.hamming_loss(truth, guess))
    assert metrics.subset_accuracy(truth, guess) == pytest.approx(
        learn.accuracy_score(truth, guess))
    if truth.any() or guess.any():
        assert metrics.f1_micro(truth, guess) == pytest.approx(
            learn.f1_score(truth, guess, average='micro'))
        assert metrics.f1_macro(truth, guess) == pytest.approx(
            learn.f1_score(truth, guess, average='macro', zero_division=np.nan))
    used = truth.any(axis=1) | guess.any(axis=1)  # both empty: there the conventions differ
    if used.any():
        truth, guess = truth[used], guess[used]
        options = {'average': 'samples', 'zero_division': 0}
        for ours, theirs in ((metrics.accuracy, learn.jaccard_score),
                             (metrics.precision, learn.precision_score),
                             (metrics.recall, learn.recall_score),
                             (metrics.f1_example, learn.f1_score)):
            assert ours(truth, guess) == pytest.approx(theirs(truth, guess, **options))


@settings(deadline=None)
@given(indicator_pairs(2))
def test_ranking_metrics_equal_scikit_learn(pairs):
    learn = pytest.importorskip('sklearn.metrics')
    truth, _, scores = pairs
    assert ranking.coverage(truth, scores) == pytest.approx(learn.coverage_error(truth, scores))
    assert ranking.ranking_loss(truth, scores) == pytest.approx(
        learn.label_ranking_loss(truth, scores))
    assert ranking.average_precision(truth, scores) == pytest.approx(
        learn.label_ranking_average_precision_score(truth, scores))


@settings(deadline=None)
@given(indicator_pairs(), st.booleans(), st.integers(1, 5))
def test_streaming_equals_batch(pairs, with_scores, chunk):
    truth, guess, scores = pairs
    stream = StreamingMetrics()
    for start in range(0, len(truth), chunk):
        part = slice(start, start + chunk)
        stream.add(truth[part], guess[part], scores[part] if with_scores else None)
    batch = metrics.evaluate(truth, guess, scores if with_scores else None)
    assert stream.values() == pytest.approx(batch)
    assert stream.samples == len(truth)


@settings(deadline=None)
@given(indicator_pairs(), st.integers(1, 15))
def test_rolling_equals_batch_of_the_latest(pairs, window):
    truth, guess, scores = pairs
    rolling = RollingMetrics(window)
    for row in range(len(truth)):
        rolling.add(truth[row], guess[row], scores[row])
        part = slice(max(0, row + 1 - window), row + 1)
        assert rolling.values() == pytest.approx(
            metrics.evaluate(truth[part], guess[part], scores[part]))
    assert rolling.samples == min(window, len(truth))


def test_labels_may_be_added_to_a_stream_but_not_taken_away():
    for stream in (StreamingMetrics(), RollingMetrics(10)):
        stream.add([1, 0], [1, 1])
        stream.add([0, 0, 1], [0, 0, 0])
        assert stream.values()['hamming_loss'] == pytest.approx(2 / 5)
        assert stream.values()['f1_macro'] == pytest.approx((1 + 0 + 0) / 3)
        with pytest.raises(LabelError, match='2 labels came after rows of 3'):
            stream.add([1, 0], [1, 0])


def test_nothing_seen_gives_no_values():
    assert StreamingMetrics().values() == {}
    assert RollingMetrics(3).values() == {}


def test_ranking_counts_only_ranked_samples():
    stream = StreamingMetrics()
    stream.add([1, 0], [1, 0])
    stream.add([1, 0], [1, 0], [0.0, 1.0])
    assert stream.values()['one_error'] == 1.0


@pytest.mark.parametrize('window', [0, -1, 2.5, True])
def test_window_must_be_a_positive_whole_number(window):
    with pytest.raises(ParameterError, match='window'):
        RollingMetrics(window)
