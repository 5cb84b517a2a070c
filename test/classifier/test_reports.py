# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Queries and statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proemlc_ros.classifier.queries import QueryPolicy, QueryRules, explain
from proemlc_ros.classifier.statistics import LatencyWindow, RateMeter, Silence
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.core import Classification
from proemlc_ros.records import Annotation, QueryReason, StampedVector

SECOND = 1_000_000_000


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


def test_rates_and_latencies():
    meter = RateMeter()
    assert meter.read(0) == 0.0
    for _ in range(5):
        meter.count()
    assert meter.read(2 * SECOND) == 2.5
    assert meter.read(3 * SECOND) == 0.0
    window = LatencyWindow(size=3)
    assert all(map(math.isnan, window.percentiles()))
    for value in (1, 2, 3, 4):
        window.add(value * 1_000_000)
    assert window.percentiles((50,)) == [pytest.approx(3.0)]


def test_silence_lasts_until_the_counter_grows():
    now = [10.0]
    silence = Silence(lambda: now[0])
    now[0] = 14.0
    assert silence.seconds(0) == 4.0
    assert silence.seconds(1) == 0.0
    now[0] = 15.5
    assert silence.seconds(1) == 1.5


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
