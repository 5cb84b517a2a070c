# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewal: the order of the samples, and how often one of them came, do not decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.core.options import FITTED_SCALINGS, Options
from proemlc_ros.core.selection.candidates import LabelledSamples, fit_of_layer
from proemlc_ros.core.selection.renewal import find_bursts, is_better, left_out_point, plan_for
from proemlc_ros.errors import EmptyInputError

TRAINING, LABELS = 180, 5
# Half of the samples of the second set have no label.
DENSITIES = {'labels in every sample': 0.35, 'half without labels': 0.15}


def make_samples(count: int, density: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return samples around twelve places that overlap, each with its labels."""
    world = np.random.default_rng(20)
    places, shown = world.normal(size=(12, 8)) * 1.2, world.random((12, LABELS)) < density
    random = np.random.default_rng(seed)
    number = random.integers(12, size=count)
    X = places[number] + random.normal(size=(count, 8)) * 0.8
    return X, shown[number]


def names_of(Y: np.ndarray) -> list[list[str]]:
    return [[f'label {column}' for column in np.flatnonzero(row)] for row in Y]


def sorted_by_label(X, Y):
    order = np.argsort(np.where(Y.any(axis=1), Y.argmax(axis=1), -1), kind='stable')
    return X[order], Y[order]


def copies_of(X, Y, places):
    noise = np.random.default_rng(3).normal(size=(len(places), X.shape[1])) * 0.01
    return X[places] + noise, Y[places]


def still_start(X, Y):
    still = copies_of(X, Y, np.zeros(600, dtype=int))
    return tuple(np.concatenate(pair) for pair in zip(still, (X, Y), strict=True))


def bursts_first(X, Y):
    bursts = copies_of(X, Y, np.repeat(np.arange(20), 30))
    return tuple(np.concatenate(pair) for pair in zip(bursts, (X, Y), strict=True))


def all_in_bursts(X, Y):
    return copies_of(*sorted_by_label(X, Y), np.repeat(np.arange(len(X)), 5))


def errors(model: ProEMLC, X: np.ndarray, Y: np.ndarray) -> tuple[float, float]:
    predicted = np.zeros(Y.shape, dtype=bool)
    for row, names in enumerate(model.predict(X)):
        predicted[row, [int(name.split()[1]) for name in names]] = True
    return hamming_loss(Y, predicted), f1_example(Y, predicted)


@pytest.mark.parametrize('density', DENSITIES.values(), ids=DENSITIES)
def test_a_renewed_model_is_as_good_whatever_came_first(density):
    X, Y = make_samples(TRAINING, density)
    test = make_samples(1000, density, seed=1)
    loss, f1 = errors(ProEMLC.renewed(X, names_of(Y), most=200), *test)
    for stream in (sorted_by_label, still_start, bursts_first, all_in_bursts):
        came, shown = stream(X, Y)
        found_loss, found_f1 = errors(ProEMLC.renewed(came, names_of(shown), most=200), *test)
        # A burst is left out as one sample, but learnt as often as it came.
        assert found_loss <= (1.3 if stream is bursts_first else 1.05) * loss + 0.003
        assert found_f1 >= 0.95 * f1, stream.__name__


def test_a_feature_that_moves_late_is_scaled_as_the_others():
    X, Y = make_samples(600, 0.35)
    test, truth = make_samples(500, 0.35, seed=1)
    X[:, 0], test[:, 0] = 1000.0 * X[:, 0], 1000.0 * test[:, 0]
    X[:300, 0] = 5.0
    learnt = ProEMLC(hidden_size=200, scaling='standard')
    learnt.learn(X, names_of(Y))
    renewed = ProEMLC.renewed(X, names_of(Y), most=200)
    assert errors(learnt, test, truth)[1] < 0.8 * errors(renewed, test, truth)[1]


def test_a_renewed_model_has_learnt_every_sample_and_unlearns_it():
    X, Y = make_samples(60, 0.35)
    names = names_of(Y)
    renewed = ProEMLC.renewed(X, names, names=['label 3', 'label 0'])
    assert renewed.samples == 60
    assert renewed.labels[:2] == ['label 3', 'label 0']
    assert dict(zip(renewed.labels, renewed.counts, strict=True)) == {
        f'label {column}': count for column, count in enumerate(Y.sum(axis=0))}
    fewer = renewed.empty_copy()
    fewer.learn(X[:50], names[:50])
    renewed.unlearn(X[50:], names[50:], tolerance=1e-9)
    columns = [renewed.labels.index(name) for name in fewer.labels]
    np.testing.assert_allclose(renewed.scores(X)[:, columns], fewer.scores(X), atol=1e-9)


def test_any_order_of_a_table_gives_the_same_model():
    """More samples than are screened; in one of the orders some alike ones follow each other."""
    X, Y = make_samples(900, 0.35)
    X[:3] = X[3:6] + 0.01
    Y[:3] = Y[3:6]
    alike = np.array([0, 3, 1, 4, 2, 5])
    shuffled = np.random.default_rng(5).permutation(900)
    models = [ProEMLC.renewed(X[order], names_of(Y[order]), most=100) for order in (
        shuffled, np.concatenate([alike, shuffled[shuffled > 5]]))]
    first, second = models
    assert first.options == second.options
    columns = [second.labels.index(name) for name in first.labels]
    np.testing.assert_allclose(second.scores(X)[:, columns], first.scores(X), atol=1e-7)
    assert list(map(set, second.predict(X))) == list(map(set, first.predict(X)))


def test_what_the_owner_decided_is_kept():
    X, Y = make_samples(60, 0.35)
    kept = Options(threshold='zero', dtype='float32', seed=7, hidden_size=900)
    renewed = ProEMLC.renewed(X, names_of(Y), kept=kept, most=25)
    assert renewed.options.threshold == 'zero'
    assert renewed.options.dtype == 'float32'
    assert renewed.options.seed == 7
    assert renewed.options.hidden_size <= 25
    again = ProEMLC.from_bytes(renewed.to_bytes())
    np.testing.assert_array_equal(again.scores(X), renewed.scores(X))


def test_partial_annotations_are_renewed():
    X, Y = make_samples(200, 0.35)
    known = np.random.default_rng(5).random(Y.shape) < 0.5
    model = ProEMLC.renewed(X, names_of(Y & known), names_of(~Y & known), complete=False)
    loss, f1 = errors(model, *make_samples(500, 0.35, seed=1))
    assert loss < 0.15
    assert f1 > 0.7


def test_without_labels_there_is_nothing_to_compare():
    with pytest.raises(EmptyInputError):
        ProEMLC.renewed(np.eye(4), [[]] * 4)


def test_copies_that_come_together_are_one_burst():
    X, Y = make_samples(30, 0.35)
    came, shown = copies_of(X, Y, np.repeat(np.arange(30), 4))
    bursts = find_bursts(came, [tuple(row) for row in shown])
    assert bursts.sizes.sum() == 120
    assert 28 <= len(bursts.places) <= 30
    # The same picture with other labels is no copy, nor is one that comes much later.
    assert len(find_bursts(came, list(range(120))).places) == 120
    late = np.concatenate([came[:1], X[1:], came[:1]])
    assert len(find_bursts(late, ['same'] * 31).places) >= 30


def test_alike_samples_of_a_sorted_table_are_no_bursts():
    """Eight kinds of each thing: those of one kind are near each other, in whatever order."""
    random = np.random.default_rng(3)
    kinds = random.normal(size=(6, 8, 40))
    labels = np.repeat(np.arange(6), 50)
    X = kinds[labels, random.integers(0, 8, size=300)] + 0.01 * random.normal(size=(300, 40))
    for order in (np.arange(300), random.permutation(300)):
        assert len(find_bursts(X[order], labels[order].tolist()).places) == 300
    # Shown one after the other, each kind is a burst.
    together = np.repeat(np.arange(300), 3)
    assert len(find_bursts(X[together], labels[together].tolist()).places) < 320


def test_one_burst_of_each_label_is_one():
    """Where all samples of a label are near each other, its order tells nothing."""
    X = np.random.default_rng(3).normal(size=(20, 40)).repeat(30, axis=0)
    X = X + 0.01 * np.random.default_rng(4).normal(size=X.shape)
    assert len(find_bursts(X, np.repeat(np.arange(20), 30).tolist()).places) == 20


def test_a_burst_is_left_out_as_a_whole():
    X, Y = make_samples(40, 0.35)
    sizes = np.random.default_rng(1).integers(1, 5, size=40)
    repeated = np.repeat(np.arange(40), sizes)
    settings = {'activation': 'relu', 'hidden_size': 20, 'scaling': 'none', 'ridge': 0.1,
                'labels': [f'label {column}' for column in range(LABELS)]}
    model = ProEMLC(**settings)
    model.learn(X[repeated], names_of(Y[repeated]))
    samples = LabelledSamples(X, Y, sizes.astype(float))
    fit = fit_of_layer(samples, model._state.learner.layer, model.options.ridge)
    left_out = fit.left_out / samples.factors()
    for place in (0, 7, 39):
        others = repeated[repeated != place]
        without = ProEMLC(**settings)
        without.learn(X[others], names_of(Y[others]))
        np.testing.assert_allclose(left_out[place], without.scores(X[place])[0], atol=1e-8)


def test_a_model_of_a_still_start_is_worse_and_an_equal_one_is_not():
    X, Y = make_samples(TRAINING, 0.35)
    came, shown = still_start(X, Y)
    running = ProEMLC(hidden_size=100)
    running.learn(came, names_of(shown))
    plan = plan_for(came, [SampleLabels(tuple(names)) for names in names_of(shown)])
    assert is_better(plan.point, left_out_point(plan, running), len(came), plan.per_label)
    renewed = ProEMLC.renewed(came, names_of(shown))
    assert not is_better(plan.point, left_out_point(plan, renewed), len(came),
                         plan.per_label)


@pytest.mark.parametrize('samples, better', [(33, False), (2000, True)])
def test_a_sample_or_two_of_a_few_are_chance(samples, better):
    X, Y = make_samples(TRAINING, 0.35)
    found = plan_for(X, [SampleLabels(tuple(names)) for names in names_of(Y)]).point
    running = replace(found, left_out_f1=found.left_out_f1 - 0.01,
                      left_out_square=found.left_out_square * 1.1)
    assert is_better(found, running, samples, 100.0) == better


def test_the_margin_grows_as_samples_per_label_get_fewer():
    X, Y = make_samples(TRAINING, 0.35)
    found = plan_for(X, [SampleLabels(tuple(names)) for names in names_of(Y)]).point
    running = replace(found, left_out_f1=found.left_out_f1 - 0.023,
                      left_out_square=found.left_out_square * 1.1)
    better = [is_better(found, running, 1000, per_label) for per_label in (1, 4, 20, 100)]
    assert better == [False, False, True, True]


@pytest.mark.parametrize('lost, f1, better', [
    (0.01, 0.0, True), (0.01, 0.01, True), (0.01, 0.1, False), (0.0001, 0.0, False)])
def test_a_squared_error_that_is_lower_beyond_doubt_is_enough(lost, f1, better):
    X, Y = make_samples(TRAINING, 0.35)
    found = plan_for(X, [SampleLabels(tuple(names)) for names in names_of(Y)]).point
    worse = found.squares + lost + 0.02 * np.random.default_rng(0).normal(size=len(X))
    running = replace(found, left_out_f1=found.left_out_f1 + f1, squares=worse)
    assert is_better(found, running, len(X), 4.0) == better


@pytest.mark.parametrize('lead, gain, better', [
    (2.5, 0.0, False), (2.5, 0.05, True), (1.2, 0.05, False), (0.0, 0.05, False)])
def test_a_gain_in_f1_counts_as_much_as_the_squared_error_that_goes_with_it(lead, gain, better):
    X, Y = make_samples(TRAINING, 0.35)
    found = plan_for(X, [SampleLabels(tuple(names)) for names in names_of(Y)]).point
    noise = np.random.default_rng(0).normal(size=len(X))
    noise = (noise - noise.mean()) / noise.std()
    running = replace(found, left_out_f1=found.left_out_f1 - gain,
                      squares=found.squares + noise + lead / np.sqrt(len(X)))
    assert found.lead(running) == pytest.approx(lead)
    assert is_better(found, running, 200, 1.0) == better


@pytest.mark.parametrize('each, telling', [(1, 0), (2, 60)])
def test_a_label_with_one_sample_tells_nothing_of_squared_errors(each, telling):
    """Where its only sample is left out, the least error is that of predicting nothing."""
    random = np.random.default_rng(6)
    X = np.repeat(random.normal(size=(30, 8)), each, axis=0) + 0.3 * random.normal(
        size=(30 * each, 8))
    labels = [SampleLabels((f'object {place // each}',)) for place in range(len(X))]
    plan = plan_for(X, labels)
    assert len(plan.point.squares) == telling
    running = replace(plan.point, squares=plan.point.squares + 0.1)
    assert plan.point.lead(running) == 0.0 or telling


def test_features_of_embeddings_are_not_scaled_one_by_one():
    """One feature of all decides, and it is small: with a scale of its own it would stand out."""
    random = np.random.default_rng(2)
    X = random.normal(size=(150, 12))
    X[:, 0] *= 0.2
    labels = [SampleLabels(('left' if x[0] < 0 else 'right',)) for x in X]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)

    def tried(rows, **settings):
        return {point.options.scaling
                for point in plan_for(rows, labels, most=100, **settings).selection.points}

    assert tried(X) & set(FITTED_SCALINGS)
    assert not tried(unit) & set(FITTED_SCALINGS)
    assert not tried(X, alike=True) & set(FITTED_SCALINGS)


def test_a_young_model_gets_settings_and_grows_on():
    random = np.random.default_rng(5)
    X = random.normal(size=(160, 6))
    labels = [('left',) if row[0] < 0.0 else ('right',) for row in X]
    model = ProEMLC.renewed(X[:120], labels[:120])
    assert model.warming_up and model.layer.neurons == 120
    for row, said in zip(X[120:], labels[120:], strict=True):
        model.learn(row, said)
    assert model.layer.neurons == 160
    again = model.empty_copy()
    again.learn(X, labels)
    np.testing.assert_allclose(again.scores(X), model.scores(X), atol=1e-8)


@pytest.mark.parametrize('seed', [4, 6])
def test_chance_does_not_keep_a_young_layer_from_growing(seed):
    X = np.random.default_rng(seed).normal(size=(30, 6))
    plan = plan_for(X, [SampleLabels(tuple(names)) for names in names_of(X[:, :3] > 0.3)])
    assert plan.grows and plan.options.hidden_size == 1000


@pytest.mark.parametrize('forgetting', [0.97, 'auto'])
def test_a_model_that_forgets_is_renewed_by_what_it_has_not_forgotten(forgetting):
    X, Y = make_samples(240, 0.35)
    Y[:120] = ~Y[:120]  # What the labels meant long ago.
    kept = Options.from_dict({'forgetting': forgetting})
    model = ProEMLC.renewed(X, names_of(Y), kept=kept, most=60)
    assert (model.samples, model.options.adaptive) == (240, forgetting == 'auto')
    assert model.options.forgetting < 1.0
    recent = plan_for(X[140:], [SampleLabels(tuple(names)) for names in names_of(Y[140:])],
                      kept, 60)
    if forgetting != 'auto':
        assert model.options == recent.options
    rows, shown = make_samples(100, 0.35, seed=1)
    found = [[name in names for name in (f'label {column}' for column in range(LABELS))]
             for names in model.predict(rows)]
    assert f1_example(shown, found) > f1_example(~shown, found)
