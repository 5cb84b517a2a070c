# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A layer drawn again with the work divided among later samples: the same as at once."""

import numpy as np
import pytest
from core_reference import samples

from proemlc_ros.core import ProEMLC

X, ANNOTATIONS = samples(420, labels=5)


def streamed(count, asked=(), **settings):
    """Learn one by one; after some of the samples, ask something that needs the learner."""
    model = ProEMLC(hidden_size=200, **settings)
    for place in range(count):
        model.learn(X[place], ANNOTATIONS[place])
        if place in asked:
            model.predict(X[place])
    return model


def assert_alike(one, other):
    assert one.labels == other.labels and one.counts == other.counts
    assert one.samples == other.samples and one.warming_up == other.warming_up
    np.testing.assert_array_equal(one.hidden(X[:20]), other.hidden(X[:20]))
    np.testing.assert_allclose(one.scores(X[:20]), other.scores(X[:20]), atol=1e-8)
    np.testing.assert_allclose(one.probabilities(X[:20]), other.probabilities(X[:20]), atol=1e-8)


@pytest.mark.parametrize('count', [2, 64, 65, 131, 200, 215])
def test_when_it_is_asked_for_makes_no_difference(count):
    alone, asked = streamed(count), streamed(count, range(count))
    assert_alike(alone, asked)
    np.testing.assert_allclose(alone.thresholds, asked.thresholds, atol=1e-7)
    assert_alike(ProEMLC.from_bytes(alone.to_bytes()), asked)


def test_stopping_anywhere_makes_no_difference():
    whole = streamed(420)
    for asked in ([200], [203], [230, 231], range(195, 330, 9)):
        assert_alike(streamed(420, asked), whole)


def test_new_labels_are_named_while_the_work_is_put_off():
    model = streamed(64)
    assert model.learn(X[64], ('new',)) == ('new',)
    assert model.learn(X[65], ('new', 'newer')) == ('newer',)
    assert model.labels[-2:] == ['new', 'newer'] and model.counts[-2:] == [2, 1]


@pytest.mark.parametrize('complete', [True, False])
def test_other_steps_find_the_work_done(complete):
    model, asked = streamed(203), streamed(203, range(203))
    for one in (model, asked):
        one.learn(X[203], ANNOTATIONS[203], complete=complete)
        one.learn(X[204:240], ANNOTATIONS[204:240])
        one.unlearn(X[230:240], ANNOTATIONS[230:240])
        one.rename_label(one.labels[0], 'renamed')
        one.learn(X[240], ('renamed',))
    assert_alike(model, asked)


def test_nothing_is_put_off_where_a_sample_might_be_rejected():
    model = streamed(10, activation='relu', scaling='standard')
    before = model.to_bytes()
    with pytest.raises(Exception, match='too large|leverage'):
        model.learn(np.full(X.shape[1], 1e90), ('x',))
    assert model.to_bytes() == before
