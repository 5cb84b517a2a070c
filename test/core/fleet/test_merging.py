# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet's model equals one trained on all data; what parts of the samples show adds up."""


import numpy as np
import pytest
from core_reference import batch_scores, plain, samples

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.fleet.merging import learnt_sums

X, ANNOTATIONS = samples(120, labels=6)
PARTS = (slice(0, 50), slice(50, 120))


def learnt(model, rows):
    model.learn(X[rows], [ANNOTATIONS[place] for place in rows])
    return model


@pytest.mark.parametrize('settings', [
    {}, {'activation': 'laplacian', 'warmup': 30, 'bias': True, 'ridge': 0.03},
    {'direct_links': True, 'ridge': 10.0}])
def test_merged_models_equal_one(settings):
    base = learnt(plain(**settings), range(40))
    fleet = [learnt(base.empty_copy(), range(start, start + 40)) for start in (40, 80)]
    for robot in fleet:
        base.merge(robot)
    np.testing.assert_allclose(base.scores(X), batch_scores(base, X, ANNOTATIONS, X), atol=1e-8)
    assert base.samples == 120
    assert dict(zip(base.labels, base.counts)) == {
        name: sum(name in annotation for annotation in ANNOTATIONS) for name in base.labels}


def test_a_label_that_one_side_never_met_counts_as_absent_there():
    base = plain()
    base.learn(X[:50], [('cup',)] * 50)
    other = base.empty_copy()
    other.learn(X[50:], [('red',)] * 70)
    base.merge(other)
    annotations = [('cup',)] * 50 + [('red',)] * 70
    np.testing.assert_allclose(base.scores(X), batch_scores(base, X, annotations, X), atol=1e-8)


def test_neutral_samples_stay_neutral_in_a_merge():
    together, left = plain(), plain()
    right = plain()
    for model in (together, left):
        model.learn(X[:30], [('cup',)] * 30, complete=False)
    for model in (together, right):
        model.learn(X[30:60], [('red',)] * 30)
    left.merge(right)
    # What 'cup' was for the second half differs: unnamed there. 'red' must agree.
    np.testing.assert_allclose(left.scores(X)[:, left.labels.index('red')],
                               together.scores(X)[:, together.labels.index('red')], atol=1e-8)


def test_what_the_other_learnt_can_be_unlearnt():
    base, other = learnt(plain(), range(40)), learnt(plain(), range(40, 80))
    base.merge(other)
    for place in range(40, 80):
        base.unlearn(X[place], ANNOTATIONS[place])
    np.testing.assert_allclose(
        base.scores(X), batch_scores(base, X[:40], ANNOTATIONS[:40], X), atol=1e-8)


def test_merging_leaves_the_other_model_alone():
    base, other = learnt(plain(), range(40)), learnt(plain(), range(40, 80))
    before = other.to_bytes()
    base.merge(other)
    base.learn(X[100], ['new'])
    assert other.to_bytes() == before


def test_a_model_without_samples_takes_over_the_other():
    full = learnt(plain(activation='rbf', warmup=20), range(60))
    empty = plain(activation='rbf', warmup=20, labels=['known'])
    empty.merge(full)
    np.testing.assert_array_equal(empty.scores(X)[:, :-1], full.scores(X))
    assert empty.labels == [*full.labels, 'known']
    before = full.scores(X)
    full.merge(plain(activation='rbf', warmup=20, labels=['more']))
    np.testing.assert_array_equal(full.scores(X)[:, :-1], before)
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
    narrow.learn(X[:, :3], ANNOTATIONS)
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
    left.learn(X[0], ['cup'])  # and goes on


def trained(**settings) -> ProEMLC:
    model = plain(threshold='learnt', **settings)
    model.learn(X, ANNOTATIONS)
    return model


def test_sums_of_models_make_the_model_of_all_samples():
    total = None
    for part in PARTS:
        robot = plain()
        robot.learn(X[part], ANNOTATIONS[part])
        sums = learnt_sums(robot)
        if total is None:
            total = sums
        else:
            total.merge(sums)
    made = ProEMLC.from_sums(total)
    together = trained()
    assert made.samples == 120
    order = [made.labels.index(name) for name in together.labels]
    np.testing.assert_allclose(made.scores(X)[:, order], together.scores(X), atol=1e-8)


def test_merged_halves_decide_as_one_model():
    whole, first, second = trained(), trained().empty_copy(), trained().empty_copy()
    first.learn(X[PARTS[0]], ANNOTATIONS[PARTS[0]])
    second.learn(X[PARTS[1]], ANNOTATIONS[PARTS[1]])
    first.merge(second)
    order = [first.labels.index(name) for name in whole.labels]
    np.testing.assert_allclose(first.probabilities(X)[:, order], whole.probabilities(X), atol=1e-6)
    assert list(map(set, first.predict(X))) == list(map(set, whole.predict(X)))


def test_a_layer_that_is_not_fixed_is_rejected():
    waiting = ProEMLC(hidden_size=20)
    waiting.learn(X[:5], ANNOTATIONS[:5])
    with pytest.raises(errors.NotReadyError, match='fix_layer'):
        learnt_sums(waiting)
