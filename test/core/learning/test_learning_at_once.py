# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Many samples learnt by one factorisation give the model of learning them in blocks."""

import numpy as np
import pytest
from core_reference import NAMES, batch_scores, plain, samples

from proemlc_ros.core.learning import in_order
from proemlc_ros.errors import TooLargeError

X, ANNOTATIONS = samples(400, labels=6)


@pytest.mark.parametrize(('settings', 'atol'), [
    ({}, 1e-9), ({'dtype': 'float32'}, 1e-3), ({'direct_links': True}, 1e-9),
    ({'activation': 'laplacian', 'warmup': 50}, 1e-9)])
@pytest.mark.parametrize('before', [0, 100])
def test_at_once_equals_blocks(monkeypatch, settings, atol, before):
    taken = []
    at_once = in_order.learn_at_once
    monkeypatch.setattr(in_order, 'learn_at_once',
                        lambda *given: taken.append(at_once(*given)) or taken[-1])
    model = plain(**settings, labels=['never shown'])
    if before:
        model.learn(X[:before], ANNOTATIONS[:before])
    model.learn(X[before:], ANNOTATIONS[before:])
    assert taken[-1]
    monkeypatch.setattr(in_order, 'learn_at_once', lambda *_: False)
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
