# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations find the vector of their stamp, and only that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.classifier.matching import MatchingRules, PendingAnnotation, StampMatcher
from proemlc_ros.records import Annotation, StampedVector
from proemlc_ros.stamps import NANOSECONDS

SECOND = NANOSECONDS


def vector(stamp: float, value: float = 0.0) -> StampedVector:
    return StampedVector(round(stamp * SECOND), np.full(3, value, np.float32))


def about(stamp: float, *labels: str, **fields) -> PendingAnnotation:
    return PendingAnnotation(Annotation(round(stamp * SECOND), labels or ('cup',), **fields))


def submitted(matcher: StampMatcher, stamp: float, **fields) -> PendingAnnotation:
    """Return an annotation that is settled at once."""
    pending = about(stamp, **fields)
    assert matcher.submit(pending, now=0)
    return pending


def filled(*stamps: float, **rules) -> StampMatcher:
    matcher = StampMatcher(MatchingRules(**rules))
    for stamp in stamps:
        matcher.add(vector(stamp, stamp), 0)
    return matcher


def test_an_exact_stamp_is_found_at_once():
    pending = submitted(filled(1, 2, 3), 2)
    assert pending.annotation.features[0] == 2.0
    assert pending.error is None


def test_zero_means_the_newest_by_arrival():
    matcher = filled(1, 2, 1.5)
    assert submitted(matcher, 0).annotation.features[0] == 1.5


def test_zero_without_any_vector_is_rejected():
    answer = submitted(StampMatcher(), 0)
    assert answer.error.cause == 'no_features'


def test_an_annotation_that_carries_features_needs_no_buffer():
    own = np.ones(3, np.float32)
    assert submitted(StampMatcher(), 9, features=own).annotation.features is own


@pytest.mark.parametrize(('stamp', 'expected'), [(2.04, 2.0), (2.96, 3.0), (0.95, 1.0)])
def test_the_nearest_within_the_tolerance(stamp, expected):
    answer = submitted(filled(1, 2, 3, tolerance=0.1), stamp)
    assert answer.annotation.features[0] == expected


def test_a_nearer_vector_that_is_still_to_come_is_waited_for():
    matcher = filled(1.0, tolerance=0.5)
    assert not matcher.submit(about(1.4), 0)
    settled, = matcher.add(vector(1.5, 1.5), 1)
    assert settled.annotation.features[0] == 1.5


def test_a_held_annotation_takes_the_nearest_when_its_time_is_up():
    matcher = filled(1.0, tolerance=0.5, hold=2.0)
    assert not matcher.submit(about(1.4), 0)
    assert matcher.expire(SECOND) == []
    settled, = matcher.expire(2 * SECOND)
    assert settled.annotation.features[0] == 1.0
    assert matcher.held == 0


def test_a_held_annotation_is_rejected_when_nothing_comes():
    matcher = filled(1.0, hold=2.0)
    pending = about(5)
    matcher.submit(pending, 0)
    rejected, = matcher.expire(2 * SECOND)
    assert rejected is pending
    assert rejected.error.cause == 'unknown_stamp'
    assert 'from 1.000000000 to 1.000000000' in str(rejected.error)


def test_a_late_vector_out_of_order_is_kept_and_found():
    matcher = filled(1.0, 1.2)
    assert not matcher.submit(about(1.1), 0)
    settled, = matcher.add(vector(1.1, 1.1), 1)
    assert settled.annotation.features[0] == pytest.approx(1.1)
    assert len(matcher.buffer) == 3
    assert matcher.buffer.jumps == 0


def test_what_is_too_old_to_come_is_rejected_at_once():
    assert submitted(filled(100, 101), 5).error.cause == 'unknown_stamp'


def test_a_jump_back_clears_the_buffer_once_per_loop():
    matcher = filled(10, 11, 12, 10, 11, 12)
    assert matcher.buffer.jumps == 1
    assert len(matcher.buffer) == 3


def test_a_repeated_stamp_is_replaced():
    matcher = StampMatcher()
    matcher.add(vector(1, 1), 0)
    matcher.add(vector(1, 2), 0)
    assert len(matcher.buffer) == 1
    assert matcher.buffer.duplicates == 1
    assert matcher.buffer.bytes == 12
    assert submitted(matcher, 1).annotation.features[0] == 2


def test_vectors_without_time_are_only_ever_the_newest():
    matcher = filled(5)
    matcher.add(vector(0, 9), 0)
    assert len(matcher.buffer) == 1
    assert matcher.buffer.jumps == 0
    assert submitted(matcher, 0).annotation.features[0] == 9


def test_memory_is_bounded_by_number_and_bytes():
    assert len(filled(*range(1, 100), capacity=10).buffer) == 10
    matcher = filled(*range(1, 100), max_bytes=60)
    assert len(matcher.buffer) == 5
    assert matcher.buffer.bytes == 60


def test_not_too_many_wait():
    matcher = filled(1, max_held=2)
    assert not matcher.submit(about(2), 0)
    assert not matcher.submit(about(3), 0)
    assert submitted(matcher, 4).error.cause == 'too_many_held'


def test_clearing_rejects_what_waits():
    matcher = filled(1)
    matcher.submit(about(2), 0)
    rejected, = matcher.clear('deactivated', 'the node was deactivated')
    assert rejected.error.cause == 'deactivated'
    assert str(rejected.error).startswith('the node was deactivated while the annotation for')
    assert len(matcher.buffer) == matcher.held == matcher.buffer.bytes == 0


events = st.lists(st.tuples(st.booleans(), st.integers(1, 40), st.integers(0, 3)), max_size=60)


@settings(deadline=None)
@given(events, st.sampled_from([0.0, 0.15, 1.0]))
def test_the_same_events_give_the_same_answers_and_each_annotation_one(sequence, tolerance):
    def play():
        matcher = StampMatcher(MatchingRules(tolerance=tolerance, hold=0.5, capacity=5))
        settled, submitted, now = [], [], 0
        for is_vector, tenth, step in sequence:
            now += step * SECOND // 4
            settled += matcher.expire(now)
            if is_vector:
                settled += matcher.add(vector(tenth / 10, tenth), now)
            else:
                submitted.append(about(tenth / 10))
                settled += submitted[-1:] if matcher.submit(submitted[-1], now) else []
        settled += matcher.expire(now + SECOND)
        assert sorted(map(id, settled)) == sorted(map(id, submitted))
        for pending in settled:
            assert (pending.annotation.features is None) == (pending.error is not None)
        return [(pending.annotation.stamp, str(pending.error)) for pending in settled]
    assert play() == play()
