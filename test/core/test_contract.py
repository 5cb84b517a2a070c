# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What every configuration of the model promises."""

import copy
import pickle

import numpy as np
import pytest
from core_reference import digest_of, plain, samples

X, ANNOTATIONS = samples(150)
KINDS = [
    {}, {'activation': 'relu', 'direct_links': True}, {'dtype': 'float32'},
    {'activation': 'laplacian', 'scaling': 'standard', 'warmup': 60, 'bias': True},
    {'activation': 'laplacian', 'scaling': 'standard', 'warmup': 1000},
    {'activation': 'rbf', 'whiten': True, 'scaling': 'minmax', 'warmup': 20},
    {'activation': 'sigmoid', 'scaling': 'l2'}, {'forgetting': 0.99},
    {'recalibration': 'paper', 'threshold': 'zero'}, {'threshold': 'learnt_hamming'},
    {'hidden_size': 310}, {'activation': 'laplacian', 'scaling': 'asinh', 'warmup': 60},
    {'activation': 'relu', 'scaling': 'rank', 'warmup': 60},
    {'activation': 'kernel_sum', 'scaling': 'standard', 'warmup': 20},
]


@pytest.fixture(params=KINDS,
                ids=lambda settings: '-'.join(map(str, settings.values())) or 'plain')
def fresh(request):
    return lambda **more: plain(**{**request.param, **more})


def tolerance(model):
    return 1e-3 if model.options.dtype == 'float32' else 1e-8


def test_predict_before_learn(fresh):
    for labels in ([], ['cup', 'red']):
        model = fresh(labels=labels)
        assert model.labels == labels
        assert model.scores(X).shape == (150, len(labels))
        assert model.predict(X) == [()] * 150
        assert (model.novelty(X) == 1.0).all()
        found = model.classify(X[0])
        assert (found.labels, found.novelty, list(found.names)) == ((), 1.0, labels)
        assert model.samples == 0 and model.counts == [0] * len(labels)
        assert len(model.thresholds) == len(labels)


def test_prediction_is_pure(fresh):
    model = fresh()
    model.learn(X[:100], ANNOTATIONS[:100])
    before = digest_of(model)
    for _ in range(2):
        model.scores(X), model.predict(X), model.novelty(X), model.classify(X[3])
        model.hidden(X), model.labels, model.counts, model.thresholds
    assert digest_of(model) == before


def test_asking_does_not_change_what_is_learnt_next(fresh):
    asked, silent = fresh(), fresh()
    for x, annotation in zip(X, ANNOTATIONS):
        asked.classify(x)
        asked.predict(x)
        asked.learn(x, annotation)
        asked.classify(x)
        silent.learn(x, annotation)
    assert digest_of(asked) == digest_of(silent)


def test_many_equal_one_by_one(fresh):
    many, one = fresh(), fresh()
    if one.options.recalibration == 'paper':
        pytest.skip('the formula of the paper depends on the chunk')
    many.learn(X, ANNOTATIONS)
    for x, annotation in zip(X, ANNOTATIONS):
        one.learn(x, annotation)
    one.fit_decision()  # A stream is fitted again whenever a quarter more samples have come.
    many.fit_decision()
    np.testing.assert_allclose(many.scores(X), one.scores(X), atol=tolerance(one))
    assert many.labels == one.labels and many.counts == one.counts
    np.testing.assert_allclose(
        [one.classify(x).scores for x in X], many.scores(X), atol=tolerance(one))
    np.testing.assert_allclose(
        [one.classify(x).novelty for x in X], many.novelty(X), atol=tolerance(one))
    if one.options.dtype == 'float64':
        assert [one.classify(x).labels for x in X] == one.predict(X) == many.predict(X)


def test_test_then_train_equals_classify_and_learn_in_turn(fresh):
    together, turns = fresh(), fresh()
    if turns.options.recalibration == 'paper':
        pytest.skip('the formula of the paper depends on the chunk')
    result = together.test_then_train(X, ANNOTATIONS)
    assert result.scores.shape == (150, len(together.labels))
    for place, (x, annotation) in enumerate(zip(X, ANNOTATIONS)):
        expected = turns.classify(x)
        known = len(expected.names)
        np.testing.assert_allclose(result.scores[place, :known], expected.scores,
                                   atol=tolerance(turns))
        assert result.novelty[place] == pytest.approx(expected.novelty, abs=tolerance(turns))
        if turns.options.dtype == 'float64':
            assert result.labels[place] == expected.labels
        turns.learn(x, annotation)
    np.testing.assert_allclose(together.scores(X), turns.scores(X), atol=tolerance(turns))


def test_input_is_never_aliased_or_changed(fresh):
    model, twin = fresh(), fresh()
    mine, theirs = X.copy(), [list(annotation) for annotation in ANNOTATIONS]
    for start in range(0, 150, 10):
        rows, given = mine[start:start + 10], theirs[start:start + 10]
        model.learn(rows, given)
        twin.learn(X[start:start + 10], ANNOTATIONS[start:start + 10])
        np.testing.assert_array_equal(rows, X[start:start + 10])
        rows[:] = np.nan  # what the caller does with its own arrays afterwards
        for names in given:
            names.append('ghost')
    assert digest_of(model) == digest_of(twin)
    scores = model.classify(X[0]).scores
    scores[:] = np.nan
    model.thresholds[:] = np.nan
    model.labels.append('ghost')
    model.counts.append(3)
    assert digest_of(model) == digest_of(twin)
    assert np.isfinite(model.classify(X[0]).scores).all()


def test_copies_are_equal_and_independent(fresh):
    model = fresh()
    model.learn(X[:70], ANNOTATIONS[:70])
    model.extra['note'] = ['kept']
    before = digest_of(model)
    unpickled = pickle.loads(pickle.dumps(model))  # noqa: S301
    for twin in (model.copy(), copy.deepcopy(model), unpickled):
        assert digest_of(twin) == before
        twin.learn(X[70:], ANNOTATIONS[70:])
        twin.remove_label(twin.labels[0])
        twin.extra['note'].append('more')
        assert digest_of(model) == before


def test_the_same_sequence_gives_the_same_bits(fresh):
    first, second = fresh(), fresh()
    for model in (first, second):
        model.learn(X[:33], ANNOTATIONS[:33])
        for x, annotation in zip(X[33:], ANNOTATIONS[33:]):
            model.learn(x, annotation)
        model.unlearn(X[149], ANNOTATIONS[149])
        model.rename_label(model.labels[0], 'renamed')
    assert digest_of(first) == digest_of(second)


def test_undo_restores_scores_and_counts(fresh):
    model = fresh()
    model.learn(X[:100], ANNOTATIONS[:100])
    before, labels, counts = model.scores(X), model.labels, model.counts
    for x in X[100:110]:
        model.learn(x, ['cup', 'new'])
    for x in X[109:99:-1]:
        model.unlearn(x, ['new', 'cup'])
    if model.options.recalibration == 'exact' and not model.warming_up:
        fixed_then_too = model.options.warmup is None or model.options.warmup <= 100
        assert fixed_then_too
    assert model.counts == [*counts, 0]
    model.remove_label('new')
    assert (model.labels, model.counts, model.samples) == (labels, counts, 100)
    np.testing.assert_allclose(model.scores(X), before, atol=10 * tolerance(model))


def test_rename_keeps_and_remove_forgets(fresh):
    model = fresh()
    model.learn(X[:100], ANNOTATIONS[:100])
    before = model.scores(X)
    names = model.labels
    model.rename_label(names[1], 'other')
    assert model.labels == [names[0], 'other', *names[2:]]
    np.testing.assert_array_equal(model.scores(X), before)
    model.remove_label('other')
    assert model.labels == [names[0], *names[2:]]
    np.testing.assert_allclose(model.scores(X), np.delete(before, 1, axis=1),
                               atol=tolerance(model))
    model.learn(X[100:], [tuple(name for name in annotation if name != names[1])
                          for annotation in ANNOTATIONS[100:]])
    assert 'other' not in model.labels and names[1] not in model.labels


def test_novelty_is_between_0_and_1_and_falls_with_learning(fresh):
    model = fresh()
    model.learn(X, ANNOTATIONS)
    x = np.full(7, 3.0)
    before = model.classify(x).novelty
    for _ in range(5):
        model.learn(x, ['cup'])
    model.fit_decision()  # The percentiles follow with it.
    after = model.classify(x).novelty
    # Where samples without labels are normal, what the neurons know well enough is not new at all.
    assert 0.0 <= after <= before <= 1.0
    assert after < before or before == 0.0
    assert ((model.novelty(X) >= 0) & (model.novelty(X) <= 1)).all()
    if model.options.radial or model.options.activation == 'relu':
        assert model.classify(np.full(7, 1e4)).novelty > 0.9


def test_predictions_are_best_first_and_those_above_the_threshold(fresh):
    model = fresh()
    model.learn(X, ANNOTATIONS)
    for x in X[:30]:
        found = model.classify(x)
        values = (found.probabilities if found.by_probability else found.scores).astype('f4')
        best = [values[found.names.index(name)] for name in found.labels]
        assert best == sorted(best, reverse=True)
        assert set(found.labels) == {name for name, value in zip(found.names, values)
                                     if value > np.float32(found.threshold)}


def test_weights_times_hidden_rows_are_the_scores(fresh):
    model = fresh()
    assert model.weights.shape == (0, len(model.labels))
    model.learn(X, ANNOTATIONS)
    np.testing.assert_allclose(model.hidden(X) @ model.weights, model.scores(X),
                               atol=tolerance(model))
    model.weights[:] = 0.0  # a copy
    assert model.scores(X).any()


def test_settings_and_memory_can_be_read(fresh):
    model = fresh()
    assert model.width is None
    model.learn(X, ANNOTATIONS)
    assert model.width == 7
    assert model.memory_bytes > model.hidden(X[:1]).shape[1] ** 2 * 4
    assert model.empty_copy().options == model.options
    assert model.empty_copy().samples == 0
