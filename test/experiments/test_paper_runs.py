# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured on one fold, and in a pass over a stream."""

import numpy as np
import pytest
from toy_data import make_data

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection import select_model
from proemlc_ros.errors import ParameterError
from proemlc_ros.experiments import runs
from proemlc_ros.experiments.paper import make_folds
from proemlc_ros.experiments.runs import (
    FAILED,
    PAPER_ORDERS,
    Conditions,
    Stream,
    run_baseline,
    run_default,
    run_paper,
    run_selected,
)

CONDITIONS = Conditions(('2+1+1',), quick=True, curve_pattern='2+1+1')


@pytest.fixture(scope='module')
def data():
    return make_data()


@pytest.fixture(scope='module')
def fold(data):
    return make_folds(data.Y, ('2+1+1',), 4)[0]


def test_records_hold_the_curve_and_the_introductions(data, fold):
    record, few, small = run_selected(data, fold, CONDITIONS)
    assert [one['variant'] for one in (record, few, small)] == [
        'selected settings', 'least errors', 'small']
    assert small['model_bytes'] <= record['model_bytes']
    assert len(record['starts']) == 2 and record['pattern_spread'] < 1e-8
    samples, overall, late = zip(*record['curve'])
    assert samples[-1] == len(fold.train)
    assert overall[-1] == pytest.approx(record['hamming_loss'])
    assert late[-1] < late[0]
    assert not few['curve'] and not small['curve']


def test_default_settings_are_those_of_a_model_without_arguments(data, fold):
    record, = run_default(data, fold, CONDITIONS)
    assert (record['variant'], record['chosen']) == ('default settings', 'ProEMLC()')
    model = ProEMLC()
    model.learn(data.X[fold.train], [data.labels(row) for row in fold.train])
    predicted = [set(names) for names in model.predict(data.X[fold.test])]
    wrong = sum(len(names ^ set(data.labels(row)))
                for names, row in zip(predicted, fold.test, strict=True))
    assert record['hamming_loss'] == pytest.approx(wrong / data.Y[fold.test].size)
    assert record['pattern_spread'] < 1e-8 and record['curve'][-1][0] == len(fold.train)


def test_the_papers_formulas_run_in_three_orders(data, fold):
    records = run_paper(data, fold, CONDITIONS)
    assert tuple(record['variant'] for record in records) == PAPER_ORDERS
    assert [bool(record['curve']) for record in records] == [True, False, False]
    assert all('sigmoid' in record['chosen'] for record in records)


def test_a_baseline_is_measured_with_its_own_rule_and_with_ours(data, fold):
    own, same = run_baseline(data, fold, 'ELM')
    assert (own['variant'], same['variant']) == ('stock', 'same rule')
    assert own['chosen'] == same['chosen'] and own['chosen'].startswith('hidden_size=')
    assert own['ranking_loss'] == same['ranking_loss'] and np.isfinite(same['threshold'])


def test_one_failing_run_of_the_formulas_does_not_end_the_others(data, fold, monkeypatch):
    sizes, asked = runs._paper_size, []

    def fails_once(stream, quick):
        asked.append(stream)
        if len(asked) == 2:
            raise ParameterError('leverage 9.7e+21')
        return sizes(stream, quick)

    monkeypatch.setattr(runs, '_paper_size', fails_once)
    records = run_paper(data, fold, CONDITIONS)
    assert [record['variant'] for record in records] == list(PAPER_ORDERS)
    assert [FAILED in record for record in records] == [False, True, False]
    assert 'leverage 9.7e+21' in records[1][FAILED]


PATTERNS = ('4', '3+1', '2+1+1')


def test_all_patterns_and_chunks_end_in_the_same_model():
    data = make_data()
    fold = make_folds(data.Y, PATTERNS, 4)[0]
    settings = select_model(data.X[fold.train], data.Y[fold.train], sizes=[10, 30],
                            first=fold.first).keywords()
    runs = [Stream(data, fold, pattern, chunk).run(settings, initial=fold.first)
            for pattern in PATTERNS for chunk in (1, 7)]
    for run in runs[1:]:
        np.testing.assert_allclose(run.scores, runs[0].scores, atol=1e-8)
        np.testing.assert_array_equal(run.predicted, runs[0].predicted)


def test_without_an_initial_block_the_model_is_that_of_a_user():
    """A user makes a model, knows no labels yet, and learns sample after sample."""
    data = make_data()
    fold = make_folds(data.Y, PATTERNS, 4)[0]
    model = ProEMLC(hidden_size=30)
    for row in fold.train:
        model.learn(data.X[row], data.labels(row))
    model.fit_decision()
    scores = model.scores(data.X[fold.test])[:, [model.labels.index(name) for name in 'abcd']]
    for pattern in PATTERNS:
        run = Stream(data, fold, pattern).run({'hidden_size': 30}, initial=0)
        np.testing.assert_allclose(run.scores, scores, atol=1e-8)
        assert [list(np.array(list('abcd'))[row]) for row in run.predicted] == [
            sorted(names) for names in model.predict(data.X[fold.test])]
