# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When the operator is asked for labels, and when not."""

from __future__ import annotations

import numpy as np
import pytest

from proemlc_ros.classifier.queries import QueryPolicy, QueryRules, explain
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.records import Annotation, QueryReason, StampedVector

SECOND = 1_000_000_000
RULES = QueryRules(novelty=0.8, margin=0.2, rate=0.5)


def test_novel_before_doubtful_and_nothing_when_sure():
    policy = QueryPolicy(QueryRules(novelty=0.5, margin=0.1, rate=1e6))
    assert policy.consider(1, 0, 0.9, 0.01) is QueryReason.NOVEL
    assert policy.consider(2, SECOND, 0.1, 0.01) is QueryReason.DOUBTFUL
    assert policy.consider(3, 2 * SECOND, 0.1, 0.5) is None


def test_never_twice_about_a_vector_and_never_about_an_annotated_one():
    policy = QueryPolicy(QueryRules(rate=1e6))
    assert policy.consider(1, 0, 1.0, 1.0)
    assert policy.consider(1, SECOND, 1.0, 1.0) is None
    policy.settle(2)
    assert policy.consider(2, 2 * SECOND, 1.0, 1.0) is None
    assert policy.consider(0, 3 * SECOND, 1.0, 1.0) is None


def test_queries_are_limited_in_rate():
    policy = QueryPolicy(QueryRules(rate=2.0))
    asked = [bool(policy.consider(stamp, stamp * SECOND // 10, 1.0, 1.0))
             for stamp in range(1, 21)]
    assert sum(asked) == 4
    policy.rules.rate = 0.0
    assert policy.consider(99, 99 * SECOND, 1.0, 1.0) is None


def test_a_query_has_its_reason_and_the_likeliest_labels():
    policy = QueryPolicy(QueryRules(novelty=0.5, margin=0.2, rate=1e6))
    scores = np.array([0.1, 0.9, -0.5], np.float32)
    found = Classification(('b',), scores, 0.1, ('a', 'b', 'c'), 0.0, 0)
    vector = StampedVector(7, np.zeros(2, np.float32))
    query = policy.query(vector, VersionedPrediction(found, 1), now=0)
    assert (query.candidates, query.reason) == (('b', 'a', 'c'), QueryReason.DOUBTFUL)
    assert query.scores == pytest.approx((0.9, 0.1, -0.5))
    assert '0.10' in query.text
    assert query.label == 'a'
    nothing = Classification((), np.zeros(0), 0.1, (), 0.0, 0)
    assert policy.query(vector._replace(stamp=8), VersionedPrediction(nothing, 0), 1) is None
    assert '0.90' in explain(QueryReason.NOVEL, 0.9, 1.0)
    assert '0.05' in explain(QueryReason.DOUBTFUL, 0.1, 0.05)


def test_nothing_is_asked_that_resembles_what_was_just_asked_or_taught():
    policy = QueryPolicy(QueryRules(novelty=0.5, margin=0.2, rate=1e6))
    things = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
    found = Classification((), np.zeros(1), 0.9, ('a',), 0.5, 0, np.full(1, 0.1, np.float32), True)
    stamps = iter(range(1, 1000))

    def asks(thing):
        stamp = next(stamps)
        vector = StampedVector(stamp, things[thing] + np.float32(0.01 * (stamp % 5)))
        return policy.query(vector, VersionedPrediction(found, 1), stamp * SECOND) is not None

    asks(0), asks(1)
    assert not any(asks(thing) for thing in (0, 1, 0, 1))
    policy.learnt(Annotation(500, ('b',), features=things[2]))
    assert not asks(2)
    for stamp in range(501, 521):  # the model has changed: what was open may be asked again
        policy.learnt(Annotation(stamp, ('b',), features=things[2]))
    assert asks(0) and not asks(0)


def test_a_query_by_probability_names_the_label_nearest_to_one_half():
    policy = QueryPolicy(QueryRules(novelty=0.95, margin=0.2, rate=1e6))
    probabilities = np.array([0.95, 0.4, 0.01], np.float32)
    found = Classification(('a',), np.zeros(3), 0.05, ('a', 'b', 'c'), 0.5, 1, probabilities, True)
    query = policy.query(StampedVector(7, np.zeros(2, np.float32)), VersionedPrediction(found, 1),
                         now=0)
    assert (query.reason, query.label) == (QueryReason.DOUBTFUL, 'b')
    assert query.candidates == ('a', 'b', 'c')
    assert query.probabilities == pytest.approx((0.95, 0.4, 0.01))


class Camera:
    """A model, its policy, and views that are seen with some noise, one per second."""

    def __init__(self, views: np.ndarray, rules: QueryRules = RULES, **settings) -> None:
        self.views, self.model, self.policy = views, ProEMLC(**settings), QueryPolicy(rules)
        self.stamp, self.open, self._random = 0, [], np.random.default_rng(0)

    def see(self, view: int, answer=None) -> None:
        data = self._next(view)
        query = self.policy.query(
            StampedVector(self.stamp, data), VersionedPrediction(self.model.classify(data), 1),
            self.stamp, self.model.scaling)
        if query is not None and answer is not None:
            self._learn(data, answer)
        elif query is not None:
            self.open.append(view)

    def teach(self, view: int, *labels: str) -> None:
        self._learn(self._next(view), labels)

    def _next(self, view: int) -> np.ndarray:
        self.stamp += SECOND
        noise = 0.01 * self._random.normal(size=self.views.shape[1])
        return (self.views[view] + noise).astype(np.float32)

    def _learn(self, data: np.ndarray, labels) -> None:
        self.model.learn(data, labels)
        self.policy.learnt(Annotation(self.stamp, tuple(labels), features=data))


def views_of(count: int, width: int = 32, moving: int = 32) -> np.ndarray:
    """Return views that differ in some features, and have the others in common."""
    random = np.random.default_rng(7)
    views = np.tile(random.normal(size=width), (count, 1))
    views[:, :moving] += random.normal(size=(count, moving))
    return views


def test_nothing_is_asked_before_the_first_label():
    camera = Camera(views_of(2))
    for _ in range(50):
        camera.see(0)
    camera.teach(0)  # a sample without a label
    for _ in range(50):
        camera.see(1)
    assert camera.open == []


@pytest.mark.parametrize('moving', [32, 12])
@pytest.mark.parametrize('settings', [{}, {'scaling': 'none'}, {
    'scaling': 'l2', 'activation': 'rbf', 'gamma': 0.5}])
def test_a_still_camera_has_at_most_three_open_queries(moving, settings):
    camera = Camera(views_of(3, moving=moving), **settings)
    camera.teach(0, 'cup')
    for _ in range(30):
        camera.see(2)
    assert 1 <= len(camera.open) <= 3
    for _ in range(40):
        camera.teach(0, 'cup')
        camera.teach(1, 'plate')
    for _ in range(100):  # the model goes on learning, but nobody answers
        for _ in range(5):
            camera.see(2)
        camera.teach(0, 'cup')
    assert 1 <= len(camera.open) <= 3


def test_labels_of_one_view_do_not_tell_what_a_scene_is():
    camera = Camera(views_of(1))
    for labels in (('cup',), ('cup', 'red')) * 10:
        camera.teach(0, *labels)
        for _ in range(20):
            camera.see(0)
    assert len(camera.open) <= 3


def test_an_answer_makes_room_for_the_next_query_about_a_scene():
    camera = Camera(views_of(6), ridge=0.03)
    for view in range(4):
        camera.teach(view, f'thing {view}')
    for view in (4, 5, 4, 5):
        for _ in range(5):
            camera.see(view)
    assert camera.open == [4, 5]


@pytest.mark.parametrize('columns', [1, 3])
def test_a_table_with_large_columns_asks_as_many(columns):
    """Where all is worth a query, only what it resembles decides."""
    random = np.random.default_rng(3)
    labels = random.integers(0, 4, size=500)
    table = random.normal(size=(4, 40))[labels] + random.normal(size=(500, 40))
    asked = []
    for factor in (1.0, 1000.0):
        camera = Camera(table * np.where(np.arange(40) < columns, factor, 1.0),
                        QueryRules(novelty=0.0, rate=0.2))
        camera.teach(0, f'label {labels[0]}')
        for row in range(1, 500):
            camera.see(row, answer=(f'label {labels[row]}',))
        asked.append(camera.model.samples)
    assert asked[0] > 80
    assert asked[1] == pytest.approx(asked[0], rel=0.1)


def test_what_is_remembered_follows_the_scaling_of_the_model():
    camera = Camera(views_of(4), scaling='none')
    for view in (0, 1):
        camera.teach(view, f'thing {view}')
    for _ in range(5):
        camera.see(2)
    assert camera.open == [2]
    # Renewed with another scaling, by which everything is a tenth of what it was.
    tenth = ProEMLC(scaling='standard')
    tenth.learn(10.0 * camera.views, [['a'], ['b'], ['c'], ['d']])
    scaling, data = tenth.scaling, camera.views[2].astype(np.float32)
    assert camera.policy._recent.resembles(data, scaling)
    assert not camera.policy._recent.resembles(camera.views[3].astype(np.float32), scaling)
