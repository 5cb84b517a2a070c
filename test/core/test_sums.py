# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of samples and merged models equal one model that learnt all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from core_reference import batch_scores, plain, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.sums import learnt_sums

X, ANNOTATIONS = samples(120, labels=6)


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(1, 119), max_size=5), order=st.randoms(use_true_random=False),
       partial=st.booleans())
def test_sums_of_any_split_equal_learning_all(cuts, order, partial):
    model = plain()
    edges = [0, *sorted(set(cuts)), 120]
    parts = []
    for start, stop in zip(edges, edges[1:]):
        sums = model.partial_sums(width=7)
        sums.add(X[start:stop], ANNOTATIONS[start:stop])
        parts.append(pickle.loads(pickle.dumps(sums)))  # noqa: S301
    order.shuffle(parts)
    while len(parts) > 1:  # as a tree reduces them
        left = parts.pop(0)
        left.merge(parts.pop(0))
        parts.append(left)
    trained = ProEMLC.from_sums(parts[0])
    model.learn(X, ANNOTATIONS)
    columns = [trained.labels.index(name) for name in model.labels]
    np.testing.assert_allclose(trained.scores(X)[:, columns], model.scores(X), atol=1e-8)
    assert trained.samples == 120
    assert [trained.counts[column] for column in columns] == model.counts
    trained.unlearn(X[5], ANNOTATIONS[5])
    trained.learn(X[5], ['new'])


def test_sums_of_partial_annotations_do_not_depend_on_the_split():
    rules = {'complete': False, 'absent': [('robot',) if 'robot' not in annotation else ()
                                           for annotation in ANNOTATIONS]}
    whole = plain().partial_sums(width=7)
    whole.add(X, ANNOTATIONS, **rules)
    halves = [plain().partial_sums(width=7) for _ in range(2)]
    for place, (x, annotation, absent) in enumerate(zip(X, ANNOTATIONS, rules['absent'])):
        halves[place % 2].add(x, annotation, absent, False)
    halves[0].merge(halves[1])
    one, two = ProEMLC.from_sums(whole), ProEMLC.from_sums(halves[0])
    columns = [two.labels.index(name) for name in one.labels]
    np.testing.assert_allclose(one.scores(X), two.scores(X)[:, columns], atol=1e-8)


def test_sums_and_models_convert_both_ways():
    model = plain(activation='laplacian', warmup=30)
    model.learn(X[:100], ANNOTATIONS[:100])
    again = ProEMLC.from_sums(learnt_sums(model))
    np.testing.assert_allclose(again.scores(X), model.scores(X), atol=1e-9)
    np.testing.assert_allclose(again.novelty(X), model.novelty(X), atol=1e-8)
    assert again.predict(X) == model.predict(X)


def test_sums_need_a_fixed_layer_and_an_order_free_model():
    with pytest.raises(errors.NotReadyError, match='not fixed yet'):
        plain(activation='rbf').partial_sums(width=7)
    with pytest.raises(errors.NotReadyError):
        plain().partial_sums()
    with pytest.raises(errors.MergeError, match='forgetting=1'):
        plain(forgetting=0.9).partial_sums(width=7)
    with pytest.raises(errors.WidthError):
        plain().partial_sums(width=7).add(np.ones((2, 3)), [(), ()])


def test_sums_without_ridge_need_enough_samples():
    sums = plain(ridge=0.0).partial_sums(width=7)
    sums.add(X[:5], ANNOTATIONS[:5])
    with pytest.raises(errors.MergeError, match='do not determine the weights'):
        ProEMLC.from_sums(sums)
    sums.add(X, ANNOTATIONS)
    assert ProEMLC.from_sums(sums).samples == 125


ROWS, SAID = samples(120, labels=6)
PARTS = (slice(0, 50), slice(50, 120))


def learnt(model, rows):
    model.learn(ROWS[rows], [SAID[place] for place in rows])
    return model


@pytest.mark.parametrize('settings', [
    {}, {'activation': 'laplacian', 'warmup': 30, 'bias': True, 'ridge': 0.03},
    {'direct_links': True, 'ridge': 10.0}])
def test_merged_models_equal_one(settings):
    base = learnt(plain(**settings), range(40))
    fleet = [learnt(base.empty_copy(), range(start, start + 40)) for start in (40, 80)]
    for robot in fleet:
        base.merge(robot)
    np.testing.assert_allclose(base.scores(ROWS), batch_scores(base, ROWS, SAID, ROWS),
                               atol=1e-8)
    assert base.samples == 120
    assert dict(zip(base.labels, base.counts)) == {
        name: sum(name in annotation for annotation in SAID) for name in base.labels}


def test_a_label_that_one_side_never_met_counts_as_absent_there():
    base = plain()
    base.learn(ROWS[:50], [('cup',)] * 50)
    other = base.empty_copy()
    other.learn(ROWS[50:], [('red',)] * 70)
    base.merge(other)
    annotations = [('cup',)] * 50 + [('red',)] * 70
    np.testing.assert_allclose(base.scores(ROWS), batch_scores(base, ROWS, annotations, ROWS),
                               atol=1e-8)


def test_neutral_samples_stay_neutral_in_a_merge():
    together, left = plain(), plain()
    right = plain()
    for model in (together, left):
        model.learn(ROWS[:30], [('cup',)] * 30, complete=False)
    for model in (together, right):
        model.learn(ROWS[30:60], [('red',)] * 30)
    left.merge(right)
    # What 'cup' was for the second half differs: unnamed there. 'red' must agree.
    np.testing.assert_allclose(left.scores(ROWS)[:, left.labels.index('red')],
                               together.scores(ROWS)[:, together.labels.index('red')], atol=1e-8)


def test_what_the_other_learnt_can_be_unlearnt():
    base, other = learnt(plain(), range(40)), learnt(plain(), range(40, 80))
    base.merge(other)
    for place in range(40, 80):
        base.unlearn(ROWS[place], SAID[place])
    np.testing.assert_allclose(
        base.scores(ROWS), batch_scores(base, ROWS[:40], SAID[:40], ROWS), atol=1e-8)


def test_merging_leaves_the_other_model_alone():
    base, other = learnt(plain(), range(40)), learnt(plain(), range(40, 80))
    before = other.to_bytes()
    base.merge(other)
    base.learn(ROWS[100], ['new'])
    assert other.to_bytes() == before


def test_a_model_without_samples_takes_over_the_other():
    full = learnt(plain(activation='rbf', warmup=20), range(60))
    empty = plain(activation='rbf', warmup=20, labels=['known'])
    empty.merge(full)
    np.testing.assert_array_equal(empty.scores(ROWS)[:, :-1], full.scores(ROWS))
    assert empty.labels == [*full.labels, 'known']
    before = full.scores(ROWS)
    full.merge(plain(activation='rbf', warmup=20, labels=['more']))
    np.testing.assert_array_equal(full.scores(ROWS)[:, :-1], before)
    assert full.labels[-1] == 'more'


@pytest.mark.parametrize(('settings', 'error', 'text'), [
    ({'seed': 1}, errors.HiddenLayerMismatchError, 'different hidden layers'),
    ({'hidden_size': 21}, errors.HiddenLayerMismatchError, 'different hidden layers'),
    ({'activation': 'relu'}, errors.HiddenLayerMismatchError, 'different hidden layers'),
    ({'bias': False}, errors.HiddenLayerMismatchError, 'different hidden layers'),
    ({'ridge': 2.0}, errors.MergeError, 'differ in ridge: 1.0 and 2.0'),
    ({'forgetting': 0.9}, errors.MergeError, 'differ in forgetting'),
    ({'dtype': 'float32'}, errors.MergeError, 'differ in dtype'),
    ({'activation': 'rbf', 'warmup': 500}, errors.HiddenLayerMismatchError, 'fix_layer'),
])
def test_models_that_do_not_fit_are_not_merged(settings, error, text):
    base, other = learnt(plain(), range(40)), learnt(plain(**settings), range(40, 80))
    for one, two in ((base, other), (other, base)):
        before = one.to_bytes(), two.to_bytes()
        with pytest.raises(error, match=text.replace('1.0 and 2.0', '')):
            one.merge(two)
        assert (one.to_bytes(), two.to_bytes()) == before
    with pytest.raises(error):
        plain(width=7).merge(other)


def test_a_model_is_not_merged_with_itself_or_with_other_widths():
    model = learnt(plain(), range(40))
    with pytest.raises(errors.MergeError, match='itself'):
        model.merge(model)
    narrow = plain()
    narrow.learn(ROWS[:, :3], SAID)
    with pytest.raises(errors.HiddenLayerMismatchError):
        model.merge(narrow)
    with pytest.raises(errors.HiddenLayerMismatchError, match='width'):
        plain(width=9).merge(model)


def test_models_that_forget_merge_by_what_they_still_know():
    settings = {'forgetting': 0.95, 'hidden_size': 8}
    left, right = learnt(plain(**settings), range(60)), learnt(plain(**settings), range(60, 120))
    parts = [learnt_sums(model) for model in (left, right)]
    left.merge(right)
    sums = learnt_sums(left)
    np.testing.assert_allclose(sums.gram, parts[0].gram + parts[1].gram, atol=1e-8)
    np.testing.assert_allclose(sums.absent_sum, parts[0].absent_sum + parts[1].absent_sum,
                               atol=1e-8)
    left.learn(ROWS[0], ['cup'])  # and goes on


def trained(**settings) -> ProEMLC:
    model = plain(threshold='learnt', **settings)
    model.learn(ROWS, SAID)
    return model


def test_sums_of_models_make_the_model_of_all_samples():
    total = None
    for part in PARTS:
        robot = plain()
        robot.learn(ROWS[part], SAID[part])
        sums = learnt_sums(robot)
        if total is None:
            total = sums
        else:
            total.merge(sums)
    made = ProEMLC.from_sums(total)
    together = trained()
    assert made.samples == 120
    order = [made.labels.index(name) for name in together.labels]
    np.testing.assert_allclose(made.scores(ROWS)[:, order], together.scores(ROWS), atol=1e-8)


def test_merged_halves_decide_as_one_model():
    whole, first, second = trained(), trained().empty_copy(), trained().empty_copy()
    first.learn(ROWS[PARTS[0]], SAID[PARTS[0]])
    second.learn(ROWS[PARTS[1]], SAID[PARTS[1]])
    first.merge(second)
    order = [first.labels.index(name) for name in whole.labels]
    np.testing.assert_allclose(first.probabilities(ROWS)[:, order], whole.probabilities(ROWS),
                               atol=1e-6)
    assert list(map(set, first.predict(ROWS))) == list(map(set, whole.predict(ROWS)))


def test_a_layer_that_is_not_fixed_is_rejected():
    waiting = ProEMLC(hidden_size=20)
    waiting.learn(ROWS[:5], SAID[:5])
    with pytest.raises(errors.NotReadyError, match='fix_layer'):
        learnt_sums(waiting)
