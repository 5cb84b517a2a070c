# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Rows learnt at once and in blocks, and taken back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from core_reference import NAMES, batch_scores, plain, samples
from scipy import sparse

from proemlc_ros.core import learning
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.learning import evidence_of
from proemlc_ros.core.rows import checksum_of_vector, checksums_of_rows, order_by_content
from proemlc_ros.core.sample_filter import SampleFilter
from proemlc_ros.errors import TooLargeError

X, ANNOTATIONS = samples(400, labels=6)


@pytest.mark.parametrize(('settings', 'atol'), [
    ({}, 1e-9), ({'dtype': 'float32'}, 1e-3), ({'direct_links': True}, 1e-9),
    ({'activation': 'laplacian', 'warmup': 50}, 1e-9)])
@pytest.mark.parametrize('before', [0, 100])
def test_at_once_equals_blocks(monkeypatch, settings, atol, before):
    taken = []
    at_once = learning.learn_at_once
    monkeypatch.setattr(learning, 'learn_at_once',
                        lambda *given: taken.append(at_once(*given)) or taken[-1])
    model = plain(**settings, labels=['never shown'])
    if before:
        model.learn(X[:before], ANNOTATIONS[:before])
    model.learn(X[before:], ANNOTATIONS[before:])
    assert taken[-1]
    monkeypatch.setattr(learning, 'learn_at_once', lambda *_: False)
    blocks = plain(**settings, labels=['never shown'])
    if before:
        blocks.learn(X[:before], ANNOTATIONS[:before])
    blocks.learn(X[before:], ANNOTATIONS[before:])
    assert (model.labels, model.counts, model.samples) == (
        blocks.labels, blocks.counts, blocks.samples)
    for method in ('scores', 'novelty'):
        np.testing.assert_allclose(getattr(model, method)(X), getattr(blocks, method)(X),
                                   atol=atol)
    if atol < 1e-6:
        assert model.predict(X) == blocks.predict(X)
        np.testing.assert_allclose(
            model.scores(X), batch_scores(model, X, ANNOTATIONS, X), atol=1e-8)
    model.unlearn(X[7], ANNOTATIONS[7])
    model.learn(X[7], ['new'])


def test_many_labels_of_which_few_are_shown():
    names = [f'{name} {number}' for name in NAMES for number in range(12)]
    annotations = [(names[place % 72],) for place in range(400)]
    model = plain()
    model.learn(X, annotations)
    np.testing.assert_allclose(model.scores(X), batch_scores(model, X, annotations, X), atol=1e-8)


def test_what_cannot_be_learnt_at_once_changes_nothing():
    model = plain(activation='identity')
    rows = X.copy()
    rows[399] *= 1e12
    with pytest.raises(TooLargeError):
        model.learn(rows, ANNOTATIONS)
    assert model.samples == 0 and not model.labels
    model.learn(X, ANNOTATIONS)
    before = model.to_bytes()
    with pytest.raises(TooLargeError):
        model.learn(rows, [('new',)] * 400)
    assert model.to_bytes() == before


ROWS = np.random.default_rng(0).normal(size=(3000, 4))
SAMPLES, SAID = samples(120, labels=6)


def test_what_was_added_is_found_and_what_was_not_is_not():
    sample_filter = SampleFilter()
    checksums = checksums_of_rows(ROWS, [True] * 3000)
    for checksum in checksums[:2000]:
        sample_filter.add(checksum)
    assert all(checksum in sample_filter for checksum in checksums[:2000])
    assert sum(checksum in sample_filter for checksum in checksums[2000:]) <= 1
    for checksum in checksums[:2000]:
        sample_filter.remove(checksum)
    assert not sample_filter.counts.any()


def test_the_rate_of_mistakes_is_the_documented_one():
    sample_filter = SampleFilter()
    random = np.random.default_rng(1)
    for checksum in random.integers(2 ** 32, size=65536).tolist():
        sample_filter.add(checksum)
    mistaken = np.mean([checksum in sample_filter
                        for checksum in random.integers(2 ** 32, size=5000).tolist()])
    assert abs(mistaken - (1 - np.exp(-1)) ** 4) < 0.03


def test_completeness_and_content_make_the_checksum():
    assert checksum_of_vector(ROWS[0], True) == checksums_of_rows(ROWS[:1], [True])[0]
    assert checksum_of_vector(ROWS[0], True) != checksum_of_vector(ROWS[0], False)
    one, two = checksums_of_rows(sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]]), [True, True])
    assert one != two


def test_the_order_by_content_is_that_of_any_stream():
    random = np.random.default_rng(4)
    X = random.standard_normal((50, 3))
    came = random.permutation(50)
    first = X[order_by_content(X)]
    np.testing.assert_array_equal(X[came][order_by_content(X[came])], first)
    one_more = np.vstack([X, random.standard_normal((1, 3))])
    order = order_by_content(one_more)
    np.testing.assert_array_equal(X[order[order < 50]], first)


def test_full_counters_stay_full():
    sample_filter = SampleFilter()
    sample_filter.counts[:] = 65534
    for _ in range(3):
        sample_filter.add(7)
    sample_filter.remove(7)
    assert 7 in sample_filter
    assert sample_filter.counts.max() == 65535


def test_many_at_once_are_noted_as_one_by_one():
    checksums = [*checksums_of_rows(ROWS, [True] * len(ROWS)), 7, 7, 7]
    one, all_at_once = SampleFilter(), SampleFilter()
    for sample_filter in (one, all_at_once):
        sample_filter.counts[7] = 65533  # of the first table; it fills up on the way
    for checksum in checksums:
        one.add(checksum)
    all_at_once.add_all(checksums)
    np.testing.assert_array_equal(all_at_once.counts, one.counts)
    assert all_at_once.counts.max() == 65535


def test_merge_copy_and_travel():
    one, two = SampleFilter(), SampleFilter()
    one.add(1)
    two.add(2)
    copied, travelled = one.copy(), pickle.loads(pickle.dumps(one))  # noqa: S301
    one.merge(two)
    assert 1 in one and 2 in one
    for other in (copied, travelled):
        assert 1 in other and 2 not in other
        other.add(2)
        assert 2 in other


@pytest.mark.parametrize('settings', [
    {'hidden_size': 10}, {'activation': 'laplacian', 'warmup': 40, 'hidden_size': 40},
    {'activation': 'rbf', 'warmup': 40, 'hidden_size': 40, 'whiten': True}])
def test_left_out_scores_equal_refits(settings):
    """By hand: without the sample, and without the neuron around it."""
    model = plain(ridge=0.3, **settings)
    model.learn(SAMPLES, SAID)
    learner = model._state.learner
    found = evidence_of(learner, SAMPLES, [SampleLabels(tuple(names)) for names in SAID])
    kernel = plain(ridge=0.3, **settings)._state.options.whiten
    for place in (0, 3, 17, 80):
        rows = np.delete(np.arange(120), place)
        H = model.hidden(SAMPLES)
        own = learner.layer.own_neuron(H[place])
        assert (own >= 0) == ('warmup' in settings and place < 40)
        T = np.array([[1.0 if name in names else -1.0 for name in model.labels]
                      for names in SAID])
        A = H[rows].T @ H[rows] + 0.3 * np.eye(H.shape[1])
        beta = np.linalg.solve(A, H[rows].T @ T[rows])
        if own >= 0:  # weights for which the neuron itself has none, by a multiplier
            w = np.zeros(H.shape[1])
            w[:learner.layer.neurons] = (learner.layer.whitener[:, own] if kernel
                                         else np.eye(learner.layer.neurons)[own])
            Mw = np.linalg.solve(A, w)
            beta -= np.outer(Mw, w @ beta) / (w @ Mw)
        np.testing.assert_allclose(found.scores[place], H[place] @ beta, atol=1e-6)


def test_left_out_scores_of_a_model_that_forgets_equal_weighted_refits():
    model = plain(hidden_size=10, ridge=0.3, forgetting=0.95)
    for x, names in zip(SAMPLES[:60], SAID[:60]):
        model.learn(x, names)
    said = [SampleLabels(tuple(names)) for names in SAID[:60]]
    found = model.left_out_scores(SAMPLES[:60], said)
    H, weights = model.hidden(SAMPLES[:60]), 0.95 ** np.arange(59, -1, -1.0)
    T = np.array([[1.0 if name in names else -1.0 for name in model.labels]
                  for names in SAID[:60]])
    prior = np.diag(model._state.learner.ridge.prior)
    for place in (5, 40, 59):
        left = np.where(np.arange(60) == place, 0.0, weights)[:, np.newaxis]
        beta = np.linalg.solve(H.T @ (left * H) + prior, H.T @ (left * T))
        np.testing.assert_allclose(found[place], H[place] @ beta, atol=1e-6)


def test_quality_is_that_of_models_without_each_sample():
    rows, said = SAMPLES[:40], SAID[:40]
    model = plain(hidden_size=10, threshold='zero')
    model.learn(rows, said)
    found = model.left_out_quality()
    names, right = sorted({name for each in said for name in each}), 0
    for place in range(40):
        other = plain(hidden_size=10, threshold='zero', labels=names)
        other.learn(np.delete(rows, place, axis=0), said[:place] + said[place + 1:])
        right += set(other.predict(rows[place])[0]) == set(said[place])
    assert found.samples == 40
    assert found.right == pytest.approx(right / 40)
    assert {name: one.shown for name, one in found.labels.items()} == dict(
        zip(model.labels, model.counts))
    assert plain().left_out_quality().samples == 0


@pytest.mark.parametrize('settings', [{}, {'activation': 'laplacian'}])
@pytest.mark.parametrize('times', [1, 2])
def test_the_reservoir_of_a_small_set_says_what_all_samples_say(settings, times):
    rows, said = np.tile(SAMPLES, (times, 1)), times * SAID
    model = plain(hidden_size=10, **settings)
    model.learn(rows, said)
    model.fit_decision()
    expected = model.copy()
    expected.calibrate(rows[::-1], said[::-1])
    np.testing.assert_allclose(model.probabilities(SAMPLES), expected.probabilities(SAMPLES),
                               atol=1e-5)
    if times == 1:  # Else more rows tell percentiles, and how many labels are worth naming.
        assert model.predict(SAMPLES) == expected.predict(SAMPLES)
        np.testing.assert_allclose(model.novelty(SAMPLES), expected.novelty(SAMPLES), atol=1e-5)
