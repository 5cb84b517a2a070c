# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever the order of things, the model is the batch ridge solution."""

from functools import cache

import numpy as np
import pytest
from core_reference import NAMES, batch_scores, plain
from hypothesis import given, settings
from hypothesis import strategies as st

WIDTH = 5
STEPS = st.lists(st.one_of(
    st.tuples(st.just('learn'), st.integers(1, 9)),
    st.tuples(st.just('learn'), st.integers(120, 150)),
    st.tuples(st.just('undo'), st.integers(1, 3)),
    st.tuples(st.just('merge'), st.integers(1, 30)),
    st.tuples(st.just('save'), st.just(0)),
), min_size=1, max_size=8)


class Story:
    """Learns, undoes and merges at random, and remembers what should be known in the end."""

    def __init__(self, model, random):
        self.model, self.random = model, random
        self.X, self.annotations = [], []
        self.undone_weight = 0.0

    def draw(self, count):
        X = self.random.normal(size=(count, WIDTH))
        # More names become possible as the story goes on: new labels turn up at any time.
        names = NAMES[:1 + len(self.X) // 3]
        return X, [tuple(name for name in names if self.random.random() < 0.4) for _ in X]

    def learn(self, count):
        X, annotations = self.draw(count)
        if count == 1:
            self.model.learn(X[0], annotations[0])
        else:
            self.model.learn(X, annotations)
        self.X.extend(X)
        self.annotations.extend(annotations)

    def undo(self, count):
        for _ in range(min(count, len(self.X))):
            place = self.random.integers(len(self.X))
            x = self.X.pop(place)
            self.undone_weight = max(self.undone_weight, np.square(self.model.hidden(x)).sum())
            self.model.unlearn(x, self.annotations.pop(place))

    def merge(self, count):
        other = self.model.empty_copy()
        X, annotations = self.draw(count)
        other.learn(X, annotations)
        self.model.merge(other)
        self.X.extend(X)
        self.annotations.extend(annotations)

    def save(self, _):
        self.model = type(self.model).from_bytes(self.model.to_bytes())


@settings(max_examples=120, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 2 ** 32 - 1), hidden_size=st.integers(1, 40),
       ridge=st.sampled_from([0.01, 0.3, 1.0, 30.0]),
       activation=st.sampled_from(['tanh', 'sigmoid', 'relu']), bias=st.booleans(),
       direct_links=st.booleans())
def test_any_interleaving_equals_one_batch_solve(steps, seed, **settings_of_model):
    model = plain(**settings_of_model)
    story = Story(model, np.random.default_rng(seed))
    story.learn(1)
    for action, count in steps:
        getattr(story, action)(count)
    model = story.model
    X_new = np.random.default_rng(1).normal(size=(20, WIDTH))
    if story.X:
        expected = batch_scores(model, np.array(story.X), story.annotations, X_new)
    else:
        expected = np.zeros((20, len(model.labels)))
    # Taking a sample back costs digits where it had far more weight than the ridge.
    lost = 1e-12 * story.undone_weight / model.options.ridge
    np.testing.assert_allclose(model.scores(X_new), expected, rtol=0, atol=max(1e-8, lost))
    assert model.samples == len(story.X)
    assert model.counts == [sum(name in annotation for annotation in story.annotations)
                            for name in model.labels]


@pytest.mark.parametrize('forgetting', [1.0, 0.99])
def test_taking_the_last_sample_back_leaves_nothing_behind(forgetting):
    model = plain(activation='relu', ridge=1e-3, forgetting=forgetting)
    x, y = 10.0 * np.random.default_rng(0).normal(size=(2, WIDTH))
    model.learn(x, ['cup'])
    model.unlearn(x, ['cup'])
    fresh = plain(activation='relu', ridge=1e-3, forgetting=forgetting, labels=['cup'])
    for one in (model, fresh):
        one.learn(y, ['bowl'])
    np.testing.assert_allclose(model.scores([x, y]), fresh.scores([x, y]), rtol=0, atol=1e-14)


@cache
def taught_one_by_one(activation, scaling):
    """Return samples, and the model that has learnt them singly."""
    random = np.random.default_rng(3)
    X = random.normal(size=(150, WIDTH))
    annotations = [tuple(name for name in NAMES[:1 + place // 40] if random.random() < 0.4)
                   for place in range(150)]
    model = plain(activation=activation, scaling=scaling, warmup=60)
    for x, annotation in zip(X, annotations):
        model.learn(x, annotation)
    np.testing.assert_allclose(model.scores(X), batch_scores(model, X, annotations, X),
                               rtol=0, atol=1e-8)
    model.fit_decision()
    return X, annotations, model


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(1, 149), max_size=12), activation=st.sampled_from(
    ['laplacian', 'rbf', 'relu']), scaling=st.sampled_from(['none', 'standard', 'minmax', 'l2']))
def test_chunks_do_not_matter_even_across_the_warm_up(cuts, activation, scaling):
    X, annotations, one_by_one = taught_one_by_one(activation, scaling)
    chunks = plain(activation=activation, scaling=scaling, warmup=60)
    for part in np.split(np.arange(150), sorted(set(cuts))):
        chunks.learn(X[part], [annotations[place] for place in part])
    np.testing.assert_allclose(chunks.scores(X), one_by_one.scores(X), rtol=0, atol=1e-8)
    chunks.fit_decision()
    np.testing.assert_allclose(chunks.thresholds, one_by_one.thresholds, atol=1e-6)
    assert chunks.predict(X) == one_by_one.predict(X)


@pytest.mark.parametrize(('hidden_size', 'samples'), [(40, 300), (330, 300), (700, 300),
                                                      (40, 1200)])
def test_many_blocks_equal_one_by_one(hidden_size, samples):
    """The first is longer where there are more neurons: 128, 165 and 300 of 300 samples."""
    random = np.random.default_rng(4)
    X = random.normal(size=(samples, WIDTH))
    annotations = [tuple(name for name in NAMES[:1 + len(NAMES) * place // samples]
                         if random.random() < 0.4) for place in range(samples)]
    at_once = plain(hidden_size=hidden_size, ridge=0.1)
    one_by_one = at_once.copy()
    predicted = at_once.test_then_train(X, annotations)
    for place, x in enumerate(X):
        before = one_by_one.test_then_train(x, annotations[place])
        assert before.labels == predicted.labels[place:place + 1]
    np.testing.assert_allclose(at_once.scores(X), one_by_one.scores(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(at_once.novelty(X), one_by_one.novelty(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(at_once.thresholds, one_by_one.thresholds, rtol=0, atol=1e-6)


def test_a_label_known_from_the_start_predicts_as_one_that_turns_up():
    X = np.random.default_rng(5).normal(size=(300, WIDTH))
    annotations = [tuple(name for name, shown in (('late', place > 150 and X[place, 0] > 0),
                                                  ('cup', X[place, 1] > 0)) if shown)
                   for place in range(300)]
    known, grown = plain(labels=['late', 'cup']), plain()
    for model in (known, grown):
        for x, annotation in zip(X, annotations):
            model.learn(x, annotation)
    assert grown.labels == ['cup', 'late']
    np.testing.assert_allclose(known.scores(X)[:, ::-1], grown.scores(X), rtol=0, atol=1e-8)
    assert known.predict(X) == grown.predict(X)


def test_a_new_label_starts_as_minus_m_times_the_sum_of_hidden_rows():
    X = np.random.default_rng(0).normal(size=(40, WIDTH))
    model = plain()
    model.learn(X, [('cup',) if x[0] > 0 else () for x in X])
    H = model.hidden(X)
    M = np.linalg.inv(H.T @ H + model.options.ridge * np.eye(H.shape[1]))
    x = np.ones(WIDTH)
    model.learn(x, ['new'])
    model.unlearn(x, ['new'])
    np.testing.assert_allclose(model.scores(X)[:, 1], H @ (-M @ H.sum(axis=0)), atol=1e-10)
