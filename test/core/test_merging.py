# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet's model equals one trained on all data; and so do partial sums."""

import pickle

import numpy as np
import pytest
from core_reference import batch_scores, plain, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.fleet.merging import learnt_sums
from proemlc_ros.core.storage import container

X, ANNOTATIONS = samples(120, labels=6)


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
        name: sum(name in said for said in ANNOTATIONS) for name in base.labels}


def test_a_label_that_one_side_never_met_counts_as_absent_there():
    base = plain()
    base.learn(X[:50], [('cup',)] * 50)
    other = base.empty_copy()
    other.learn(X[50:], [('red',)] * 70)
    base.merge(other)
    said = [('cup',)] * 50 + [('red',)] * 70
    np.testing.assert_allclose(base.scores(X), batch_scores(base, X, said, X), atol=1e-8)


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
    rules = {'complete': False, 'absent': [('robot',) if 'robot' not in said else ()
                                           for said in ANNOTATIONS]}
    whole = plain().partial_sums(width=7)
    whole.add(X, ANNOTATIONS, **rules)
    halves = [plain().partial_sums(width=7) for _ in range(2)]
    for place, (x, said, absent) in enumerate(zip(X, ANNOTATIONS, rules['absent'])):
        halves[place % 2].add(x, said, absent, False)
    halves[0].merge(halves[1])
    one, two = ProEMLC.from_sums(whole), ProEMLC.from_sums(halves[0])
    columns = [two.labels.index(name) for name in one.labels]
    np.testing.assert_allclose(one.scores(X), two.scores(X)[:, columns], atol=1e-8)


def test_sums_and_models_convert_both_ways():
    model = learnt(plain(activation='laplacian', warmup=30), range(100))
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


def test_calibration_looks_past_samples_that_are_centres():
    model = plain(activation='laplacian', warmup=40, hidden_size=40)
    model.learn(X, ANNOTATIONS)
    others = model.copy()
    model.calibrate(X, ANNOTATIONS)
    others.calibrate(X[40:], ANNOTATIONS[40:])  # the first 40 are the centres
    assert model.to_bytes() == others.to_bytes()
    others.calibrate(X[:40], ANNOTATIONS[:40])  # nothing else to go by
    _, arrays = container.unpack(others.to_bytes())
    assert arrays['thresholds.numbers'][1] == 40  # samples observed


def test_calibration_restores_what_sums_cannot_know():
    model = plain(hidden_size=10)
    sums = model.partial_sums(width=7)
    sums.add(X, ANNOTATIONS)
    trained = ProEMLC.from_sums(sums)
    assert (trained.thresholds == 0.0).all()
    trained.calibrate(X, ANNOTATIONS)
    # By hand: refit without each sample.
    left_out = np.array([batch_scores(trained, np.delete(X, place, axis=0),
                                      ANNOTATIONS[:place] + ANNOTATIONS[place + 1:],
                                      X[place:place + 1])[0] for place in range(120)])
    from proemlc_ros.core.thresholds import best_choice
    present = np.array([[name in said for name in trained.labels] for said in ANNOTATIONS])
    expected = best_choice(left_out, present)
    said = trained.classify(X[0])
    assert (said.threshold, said.at_least) == expected
    backwards = ProEMLC.from_sums(sums)
    backwards.calibrate(X[::-1], ANNOTATIONS[::-1])
    assert backwards.predict(X) == trained.predict(X)
