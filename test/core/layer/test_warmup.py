# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Layers that depend on the first samples: provisional, then fixed, and always exact."""

import numpy as np
import pytest
from core_reference import batch_scores, plain, samples

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.warmup import WarmUp
from proemlc_ros.core.samples import SampleLabels

X, ANNOTATIONS = samples(90)


def warming(**settings):
    return plain(**{'activation': 'laplacian', 'warmup': 50, **settings})


@pytest.mark.parametrize('count', [1, 2, 3, 7, 8, 31, 49, 50, 51, 90])
def test_at_any_time_the_model_is_exact_for_its_layer(count):
    model = warming()
    for x, annotation in zip(X[:count], ANNOTATIONS[:count]):
        model.learn(x, annotation)
    assert model.warming_up == (count < 50)
    layer = make_layer(model.options, 7, X[:min(count, 50)])
    np.testing.assert_array_equal(model.hidden(X), layer.rows(X))
    np.testing.assert_allclose(
        model.scores(X), batch_scores(model, X[:count], ANNOTATIONS[:count], X), atol=1e-8)


def test_a_layer_once_fixed_never_changes():
    model = warming()
    model.learn(X[:50], ANNOTATIONS[:50])
    before = model.hidden(X)
    model.learn(X[50:], ANNOTATIONS[50:])
    model.unlearn(X, ANNOTATIONS)
    np.testing.assert_array_equal(model.hidden(X), before)
    assert not model.warming_up


def test_the_layer_can_be_fixed_early():
    model = warming()
    model.fix_layer()  # nothing to fix it with
    assert model.warming_up
    model.learn(X[:20], ANNOTATIONS[:20])
    model.fix_layer()
    assert not model.warming_up
    np.testing.assert_array_equal(model.hidden(X), make_layer(model.options, 7, X[:20]).rows(X))
    np.testing.assert_allclose(model.scores(X), batch_scores(model, X[:20], ANNOTATIONS[:20], X),
                               atol=1e-8)


def test_an_initial_block_fixes_the_layer():
    model = warming()
    model.learn_initial(X[:30], ANNOTATIONS[:30])
    assert not model.warming_up
    np.testing.assert_array_equal(model.hidden(X), make_layer(model.options, 7, X[:30]).rows(X))


def test_an_initial_block_keeps_a_layer_that_is_fixed():
    first = warming()
    first.learn(X, ANNOTATIONS)
    second = first.empty_copy()
    second.learn_initial(X[:30], ANNOTATIONS[:30])
    np.testing.assert_array_equal(second.hidden(X), first.hidden(X))


def test_undo_in_the_warm_up_is_as_if_never_learnt():
    model, never = warming(), warming()
    model.learn(X[:40], ANNOTATIONS[:40])
    model.unlearn(X[10:20], ANNOTATIONS[10:20])
    never.learn(np.delete(X[:40], range(10, 20), axis=0), ANNOTATIONS[:10] + ANNOTATIONS[20:40])
    assert model.labels == never.labels
    np.testing.assert_allclose(model.scores(X), never.scores(X), atol=1e-10)
    model.unlearn(X[:10], ANNOTATIONS[:10])
    model.unlearn(X[20:40], ANNOTATIONS[20:40])
    assert model.samples == 0 and set(model.labels) == set(never.labels)
    model.learn(X[0], ['cup'])
    assert model.samples == 1


def test_a_label_whose_samples_were_all_undone_stays_known():
    model = warming()
    model.learn(X[:10], [('cup',)] * 10)
    model.learn(X[10], ['ghost'])
    model.unlearn(X[10], ['ghost'])
    assert (model.labels, model.counts) == (['cup', 'ghost'], [10, 0])
    model.learn(X[11:60], [('cup',)] * 49)
    assert model.labels == ['cup', 'ghost']


@pytest.mark.parametrize('count', [1, 5, 30, 63])
@pytest.mark.parametrize('settings', [{}, {'warmup': 200}, {'direct_links': True},
                                      {'activation': 'relu', 'scaling': 'standard'}])
def test_new_labels_are_named_beside_one_whose_samples_were_all_undone(count, settings):
    model = warming(**settings)
    for x, annotation in zip(X[:count], ANNOTATIONS[:count]):
        model.learn(x, annotation)
    assert model.learn(X[count], ['ghost']) == ('ghost',)
    model.unlearn(X[count], ['ghost'])
    for number in range(20):
        assert model.learn(X[count + number], [f'new {number}']) == (f'new {number}',)
        assert model.learn(X[count + number], [f'new {number}']) == ()
    assert 'ghost' in model.labels


def test_renaming_and_removing_reach_the_kept_samples():
    model = warming(labels=['first', 'second'])
    model.learn(X[:20], [('cup', 'first')] * 20)
    model.rename_label('cup', 'mug')
    model.rename_label('first', 'one')
    model.remove_label('second')
    model.learn(X[20:60], [('mug',)] * 40)  # the layer is drawn again and all is relearnt
    assert model.labels == ['one', 'mug']
    assert model.counts == [20, 60]


def test_an_error_in_the_warm_up_changes_nothing():
    model = warming(activation='relu', scaling='standard', warmup=90)
    model.learn(X[:66], ANNOTATIONS[:66])  # the layer is drawn from 64 of them
    before = model.to_bytes()
    bad = np.vstack([X[60:80], np.full((1, 7), 1e60)])
    for call in (model.learn, model.test_then_train):
        with pytest.raises(errors.TooLargeError):
            call(bad, [('new',)] * 21)
        assert model.to_bytes() == before


def test_labels_before_the_first_sample_can_be_changed():
    model = warming(labels=['a', 'b'])
    model.rename_label('a', 'c')
    model.remove_label('b')
    assert model.labels == ['c']
    model.learn(X[0], ['c'])
    assert model.labels == ['c']


def test_memory_is_given_back_when_the_layer_is_fixed():
    model = ProEMLC(hidden_size=5, warmup=2000)
    model.learn(np.random.default_rng(0).normal(size=(1999, 50)), [()] * 1999)
    waiting = model.memory_bytes
    model.learn(np.ones(50), [])
    assert model.memory_bytes < waiting - 1999 * 50 * 8 + 50_000


@pytest.mark.parametrize('count', [1, 63, 64, 65, 79, 80, 81, 127, 128, 159, 160, 405, 810, 999])
def test_the_layer_is_of_four_fifths_of_the_samples_at_least(count):
    warmup = WarmUp(1000, (np.zeros((count, 2)),), (SampleLabels(('cup',), (), True),) * count)
    assert 0.8 * count <= warmup.layer_samples <= count


@pytest.mark.parametrize('needed', [300, 500, 1000, 2000])
def test_no_layer_is_drawn_just_before_the_last(needed):
    drawn = {WarmUp(needed, (), (SampleLabels(('cup',), (), True),) * count).layer_samples
             for count in range(256, needed)}
    assert max(drawn) <= 0.8 * needed + 1


def test_one_sample_of_each_of_many_labels_is_enough():
    names = [f'label {number}' for number in range(80)]
    model = ProEMLC(activation='rbf', scaling='l2', gamma=0.5, ridge=0.003, hidden_size=1000)
    for name, sample in zip(names, np.eye(80), strict=True):
        model.learn(sample, [name])
    scores = model.scores(np.eye(80))
    assert [model.labels[place] for place in scores.argmax(axis=1)] == names
