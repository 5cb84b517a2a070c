# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics over a stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indicator_pairs import indicator_pairs

from proemlc_ros.core import metrics as batch_metrics
from proemlc_ros.core.metrics import JudgedLabels, LossCurve, PrequentialMetrics
from proemlc_ros.errors import ParameterError


def test_a_long_curve_keeps_its_sums_and_stays_short():
    wrong = np.random.default_rng(3).integers(0, 5, 10_001).tolist()
    curve = LossCurve()
    for number in wrong:
        curve.add(number, 4)
    points = curve.points()
    assert len(points) <= 1024
    assert points[-1].samples == curve.samples == 10_001
    assert points[-1].loss_so_far == pytest.approx(sum(wrong) / 40_004)
    first = points[0]
    assert first.loss == pytest.approx(sum(wrong[:first.samples]) / (4 * first.samples))


def test_a_short_curve_has_a_point_per_sample():
    curve = LossCurve()
    assert curve.points() == []
    for wrong, judged in ((1, 1), (0, 3)):
        curve.add(wrong, judged)
    assert curve.points() == [(1, 1.0, 1.0), (2, 0.0, 0.25)]


NAMES = ('cup', 'red', 'robot', 'wall', 'door', 'book')
# Names of the same metric over a stream and over a batch.
SAME = {'hamming': 'hamming_loss', 'subset_accuracy': 'subset_accuracy', 'accuracy': 'accuracy',
        'precision': 'precision', 'recall': 'recall', 'f1': 'f1_example', 'micro_f1': 'f1_micro'}


def names_of(row):
    return tuple(name for name, there in zip(NAMES, row) if there)


def metrics_of(truth, predicted, window=None):
    """Return the metrics of a stream in which all labels are judged."""
    metrics, judged = PrequentialMetrics(window), JudgedLabels(None, truth.shape[1])
    for row, other in zip(truth, predicted, strict=True):
        metrics.add(names_of(other), names_of(row), judged)
    return metrics


@settings(deadline=None)
@given(indicator_pairs())
def test_a_stream_equals_a_batch(pairs):
    truth, predicted, _ = pairs
    values, batch = metrics_of(truth, predicted).values(), batch_metrics.evaluate(truth, predicted)
    if not truth.any() and not predicted.any():
        batch['f1_micro'] = 0.0  # the batch metric takes this for perfect
    assert {name: values[name] for name in SAME} == pytest.approx(
        {name: batch[other] for name, other in SAME.items()})


@settings(deadline=None)
@given(indicator_pairs(), st.integers(1, 15))
def test_the_loss_of_a_window_is_that_of_the_latest_samples(pairs, window):
    truth, predicted, _ = pairs
    for last in range(1, len(truth) + 1):
        part = slice(max(0, last - window), last)
        loss = metrics_of(truth[:last], predicted[:last], window).loss
        assert loss == pytest.approx(batch_metrics.hamming_loss(truth[part], predicted[part]))


def test_values_are_scikit_learns():
    learn = pytest.importorskip('sklearn.metrics')
    rng = np.random.default_rng(1)
    truth, predicted = rng.random((200, 4)) < 0.3, rng.random((200, 4)) < 0.4
    found = metrics_of(truth, predicted).values()
    assert found['hamming'] == pytest.approx(learn.hamming_loss(truth, predicted))
    assert found['subset_accuracy'] == pytest.approx(learn.accuracy_score(truth, predicted))
    assert found['micro_f1'] == pytest.approx(learn.f1_score(truth, predicted, average='micro'))
    assert found['macro_f1'] == pytest.approx(learn.f1_score(truth, predicted, average='macro'))
    some = truth.any(axis=1) & predicted.any(axis=1)
    truth, predicted = truth[some], predicted[some]
    metrics = metrics_of(truth, predicted)
    for name, score in (('f1', learn.f1_score), ('precision', learn.precision_score),
                        ('recall', learn.recall_score), ('accuracy', learn.jaccard_score)):
        expected = score(truth, predicted, average='samples')
        assert metrics.values()[name] == pytest.approx(expected)
    for column, name in enumerate(NAMES[:4]):
        counts, columns = metrics.labels[name], (truth[:, column], predicted[:, column])
        assert counts.support == truth[:, column].sum()
        assert counts.f1 == pytest.approx(learn.f1_score(*columns))
        assert counts.precision == pytest.approx(learn.precision_score(*columns))
        assert counts.recall == pytest.approx(learn.recall_score(*columns))


def test_the_loss_of_a_window_by_hand():
    metrics, known = PrequentialMetrics(window=2), ['a', 'b', 'c', 'd']
    assert metrics.loss is None
    judged = JudgedLabels.by_annotation(('a', 'b'), (), True, known)
    metrics.add(['a'], ['a', 'b'], judged)  # b missed: 1 of 4
    assert metrics.loss == 1 / 4
    judged = JudgedLabels.by_annotation(('new',), (), True, known)
    metrics.add(['c'], ['new'], judged)  # c is wrong, new is missed: 2 of 5
    assert metrics.loss == 3 / 9
    judged = JudgedLabels.by_annotation(('a',), ('b',), False, known)
    metrics.add(['a', 'b', 'c'], ['a'], judged)  # b is wrong, c unknown: 1 of 2
    assert metrics.loss == 3 / 7
    assert metrics.samples == 3 and metrics.values()['hamming'] == 4 / 11


@pytest.mark.parametrize(('complete', 'absent', 'names', 'count'), [
    (True, (), None, 3), (True, ('old', 'other'), None, 4),
    (False, (), {'new'}, 1), (False, ('old',), {'new', 'old'}, 2)])
def test_what_an_annotation_judges(complete, absent, names, count):
    for known in (['old', 'older'], {'old': 1, 'older': 2}):
        judged = JudgedLabels.by_annotation(('new',), absent, complete, known)
        assert judged == (names, count)


def test_blocks_of_samples_do_not_matter():
    rng = np.random.default_rng(4)
    truth = [names_of(row) for row in rng.random((100, 4)) < 0.3]
    predicted = [names_of(row) for row in rng.random((100, 4)) < 0.4]
    judged = [JudgedLabels.only(NAMES[:2]) if number % 3 == 0 else JudgedLabels(None, 4)
              for number in range(100)]
    found = []
    for size in (1, 7, 100):
        found.append(PrequentialMetrics())
        for start in range(0, 100, size):
            part = slice(start, start + size)
            found[-1].add_block(predicted[part], truth[part], judged[part], range(100)[part])
    for metrics in found[1:]:
        assert metrics.values() == found[0].values()
        assert metrics.labels == found[0].labels
        assert metrics.curve.points() == found[0].curve.points()


def test_first_appearance_and_confusion():
    metrics = PrequentialMetrics()
    metrics.add((), ('cup',), JudgedLabels(None, 1), 10)
    metrics.add(('cup',), ('robot',), JudgedLabels(None, 2), 20)
    metrics.add(('cup', 'robot'), ('robot',), JudgedLabels(None, 2), 30)
    robot = metrics.labels['robot']
    assert (robot.first_sample, robot.first_time) == (2, 20)
    assert robot.mistaken_for == {'cup': 1}
    assert (robot.hits, robot.misses, robot.support) == (1, 1, 2)
    assert metrics.labels['cup'].precision == 0
    # 1 of 1 wrong (a label that was not known), then 2 of 2, then 1 of 2.
    assert metrics.values()['hamming'] == metrics.loss == pytest.approx(4 / 5)


def test_labels_that_are_not_judged_do_not_count():
    metrics = PrequentialMetrics()
    metrics.add(('cup', 'wall'), ('cup', 'red'), JudgedLabels.only(['cup', 'robot']))
    assert metrics.loss == 0 and metrics.values()['subset_accuracy'] == 1
    assert list(metrics.labels) == ['cup']


def test_a_label_named_twice_counts_once():
    metrics = PrequentialMetrics()
    metrics.add(('cup', 'cup'), ('cup', 'cup', 'red'), JudgedLabels(None, 2))
    assert metrics.loss == 1 / 2
    assert metrics.labels['cup'].support == 1 and metrics.values()['recall'] == 1 / 2


def test_no_samples_give_no_values():
    assert PrequentialMetrics().values() == {} and PrequentialMetrics().loss is None


@pytest.mark.parametrize('window', [0, -1, 2.5, True])
def test_the_window_is_a_positive_integer(window):
    with pytest.raises(ParameterError, match='window'):
        PrequentialMetrics(window)
