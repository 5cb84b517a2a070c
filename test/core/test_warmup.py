# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A hidden layer that grows with the first samples, exactly."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from core_reference import batch_scores, plain, samples

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC, warmup
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.warmup import fitted_samples

X, ANNOTATIONS = samples(90)


def warming(**settings):
    return plain(**{'activation': 'laplacian', 'warmup': 50, **settings})


@pytest.mark.parametrize('count', [1, 2, 3, 7, 8, 31, 49, 50, 51, 90])
def test_at_any_time_the_model_is_exact_for_its_layer(count):
    model = warming()
    for x, annotation in zip(X[:count], ANNOTATIONS[:count]):
        model.learn(x, annotation)
    assert model.warming_up == (count < 50)
    kept = min(count, 50)
    layer = make_layer(model.options, 7, X[:kept], fitted=fitted_samples(kept, 50))
    np.testing.assert_allclose(model.hidden(X), layer.rows(X), atol=1e-12)
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


@pytest.mark.parametrize('needed', [1, 2, 7, 100, 500])
def test_scaling_is_fitted_when_the_samples_have_doubled(needed):
    fitted = [fitted_samples(count, needed) for count in range(1, 4 * needed + 1)]
    assert fitted[0] == 1 and fitted[needed - 1] == needed and fitted[-1] == 4 * needed
    assert all(place // 2 < number <= place + 1 for place, number in enumerate(fitted))
    assert len({*fitted}) <= needed.bit_length() + 3


def test_one_sample_of_each_of_many_labels_is_enough():
    names = [f'label {number}' for number in range(80)]
    model = ProEMLC(activation='rbf', scaling='l2', gamma=0.5, ridge=0.003, hidden_size=1000)
    for name, sample in zip(names, np.eye(80), strict=True):
        model.learn(sample, [name])
    scores = model.scores(np.eye(80))
    assert [model.labels[place] for place in scores.argmax(axis=1)] == names


SAMPLES, SAID = samples(420, labels=5)
SETTINGS = [
    {}, {'activation': 'rbf', 'whiten': True}, {'activation': 'kernel_sum'}, {'whiten': True},
    {'direct_links': True}, {'bias': False}, {'scaling': 'rank'}, {'forgetting': 0.98},
    {'activation': 'rbf', 'forgetting': 0.97}, {'warmup': 60}, {'activation': 'relu'},
    {'dtype': 'float32'}, {'recalibration': 'paper'}]


def streamed(count, **settings):
    model = ProEMLC(**{'hidden_size': 200, **settings})
    for x, annotation in zip(SAMPLES[:count], SAID[:count]):
        model.learn(x, annotation)
    return model


def assert_alike(one, other, atol=1e-8):
    assert one.labels == other.labels and one.counts == other.counts
    assert (one.samples, one.warming_up) == (other.samples, other.warming_up)
    assert one.layer_samples == other.layer_samples
    assert one.layer.neurons == other.layer.neurons
    np.testing.assert_allclose(one.scores(SAMPLES[:20]), other.scores(SAMPLES[:20]), atol=atol)


@pytest.mark.parametrize('settings', SETTINGS, ids=str)
@pytest.mark.parametrize('count', [1, 2, 3, 7, 30, 99, 100, 199, 200, 230])
def test_samples_one_by_one_give_what_they_give_together(count, settings):
    together = ProEMLC(**{'hidden_size': 200, **settings})
    if settings.get('recalibration') == 'paper':
        pytest.skip('there the division into chunks matters')
    together.learn(SAMPLES[:count], SAID[:count])
    assert_alike(streamed(count, **settings), together,
                 1e-3 if 'dtype' in settings else 1e-8)


@pytest.mark.parametrize('settings', SETTINGS[:7], ids=str)
def test_every_sample_has_a_neuron_until_the_layer_is_full(settings):
    model = ProEMLC(hidden_size=200, **settings)
    for count, (x, annotation) in enumerate(zip(SAMPLES[:230], SAID[:230]), 1):
        model.learn(x, annotation)
        assert model.layer.neurons == min(count, 200)
        if count in (3, 50, 130, 199, 230):
            np.testing.assert_allclose(
                model.scores(SAMPLES), batch_scores(model, SAMPLES[:count], SAID[:count], SAMPLES),
                atol=1e-8)


def test_near_copies_get_no_neuron_and_the_layer_grows_on():
    model = ProEMLC(hidden_size=50)
    noise = np.random.default_rng(0).normal(size=(60, SAMPLES.shape[1])) * 1e-6
    model.learn(SAMPLES[:30], SAID[:30])
    for row in noise:
        model.learn(SAMPLES[0] + row, SAID[0])
    assert model.layer.neurons == 30 and model.warming_up
    for x, annotation in zip(SAMPLES[30:60], SAID[30:60]):
        model.learn(x, annotation)
    assert model.layer.neurons == 50 and not model.warming_up
    assert 90 < model.layer_samples <= 120
    together = ProEMLC(hidden_size=50)
    together.learn(np.concatenate([SAMPLES[:30], SAMPLES[0] + noise, SAMPLES[30:60]]),
                   SAID[:30] + [SAID[0]] * 60 + SAID[30:60])
    assert_alike(model, together)


def test_no_more_than_a_bounded_number_of_samples_is_kept():
    model = ProEMLC(hidden_size=10)
    for _ in range(41):
        model.learn(SAMPLES[0], ['cup'])
    assert not model.warming_up and model.layer.neurons == 1 and model.layer_samples == 40


def test_a_model_goes_on_growing_from_its_file():
    for count in (1, 20, 150):
        model = streamed(count)
        again = ProEMLC.from_bytes(model.to_bytes())
        for one in (model, again):
            for x, annotation in zip(SAMPLES[count:count + 70], SAID[count:count + 70]):
                one.learn(x, annotation)
        assert_alike(model, again)
        np.testing.assert_allclose(model.probabilities(SAMPLES), again.probabilities(SAMPLES),
                                   atol=1e-6)


@pytest.mark.parametrize('seed', range(4))
def test_growth_is_exact_after_random_operations(seed):
    random = np.random.default_rng(seed)
    model, taught = ProEMLC(hidden_size=120), []
    for step in range(250):
        if taught and random.random() < 0.15:
            x, labels, absent, complete = taught.pop(int(random.integers(len(taught))))
            model.unlearn(x, labels, absent, complete)
            continue
        complete = bool(random.random() < 0.8 or not model.labels)
        labels = tuple(f'label {number}' for number in random.choice(
            3 + step // 40, size=int(random.integers(0 if complete else 1, 3)), replace=False))
        absent = () if complete else tuple(
            name for name in model.labels[:2] if name not in labels)
        x = random.normal(size=6)
        model.learn(x, labels, absent, complete)
        taught.append((x, labels, absent, complete))
    rows = np.array([x for x, *_ in taught])
    H, probes = model.hidden(rows), model.hidden(SAMPLES[:20, :6])
    for column, name in enumerate(model.labels):
        known = np.array([complete or name in labels + absent
                          for _, labels, absent, complete in taught])
        y = np.array([1.0 if name in labels else -1.0 for _, labels, *_ in taught])[known]
        A = H[known].T @ H[known] + model.options.ridge * np.eye(H.shape[1])
        np.testing.assert_allclose(model.scores(SAMPLES[:20, :6])[:, column],
                                   probes @ np.linalg.solve(A, H[known].T @ y), atol=1e-8)


def test_a_prediction_does_not_wait_while_the_layer_is_made_again(monkeypatch):
    model = streamed(99)
    begun, go_on = threading.Event(), threading.Event()
    learnt_again = warmup.learnt_again

    def slow(*arguments):
        begun.set()
        assert go_on.wait(10.0)
        return learnt_again(*arguments)

    monkeypatch.setattr('proemlc_ros.core.model_state.learnt_again', slow)
    thread = threading.Thread(target=model.learn, args=(SAMPLES[99], SAID[99]))
    thread.start()
    assert begun.wait(10.0)
    assert model.classify(SAMPLES[0]).names and model.samples == 99
    go_on.set()
    thread.join()
    assert model.samples == 100


def test_a_removed_label_does_not_keep_the_layer_from_growing():
    model = streamed(40)
    model.remove_label(model.labels[0])
    for x, annotation in zip(SAMPLES[40:60], SAID[40:60]):
        model.learn(x, annotation)
    assert model.layer.neurons == 60
    model.rename_label(model.labels[0], 'renamed')
    model.learn(SAMPLES[60], ['renamed'])
    assert model.layer.neurons == 61


def test_the_last_label_taught_is_not_seen_everywhere():
    random = np.random.default_rng(3)
    clusters = random.normal(size=(25, 64))
    model = ProEMLC()
    for number, centre in enumerate(clusters):
        for _ in range(10):
            model.learn(centre + 0.3 * random.normal(size=64), [f'label {number}'])
    named = [names[0] for names in model.predict(random.normal(size=(400, 64))) if names]
    commonest = max(map(named.count, {*named}), default=0)
    assert commonest <= 0.3 * 400
