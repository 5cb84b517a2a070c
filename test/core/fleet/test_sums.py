# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums of any split of the samples make the model that learnt all of them."""

import pickle

import numpy as np
import pytest
from core_reference import plain, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.fleet.merging import learnt_sums

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
