# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations find the vector of their stamp and region, and only that."""

from __future__ import annotations

import numpy as np
import pytest

from proemlc_ros.classifier.matching import MatchingRules, PendingAnnotation, StampMatcher
from proemlc_ros.records import WHOLE, Annotation, ClientRequest, Region, StampedVector

SECOND = 1_000_000_000
LEFT, RIGHT = Region('1', 20, 20, 30, 30), Region('2', 80, 20, 30, 30)


def vector(stamp: float, region: Region, count: int, value: float = 0.0) -> StampedVector:
    return StampedVector(round(stamp * SECOND), np.full(3, value, np.float32), region=region,
                         region_count=count)


def annotation(stamp: float, region: Region = WHOLE) -> Annotation:
    return Annotation(round(stamp * SECOND), ('cup',), region=region)


@pytest.fixture
def matcher():
    """Two regions in each of two pictures; the vectors tell which."""
    filled = StampMatcher(MatchingRules(tolerance=0.1, capacity=6))
    for stamp in (1.0, 2.0):
        filled.add(vector(stamp, LEFT, 2, stamp), now=0)
        filled.add(vector(stamp, RIGHT, 2, -stamp), now=0)
    return filled


def settled(matcher: StampMatcher, said: Annotation) -> PendingAnnotation:
    pending = PendingAnnotation(said)
    assert matcher.submit(pending, now=0)
    return pending


def test_stamp_and_region_name_the_vector(matcher):
    found = settled(matcher, annotation(1.0, RIGHT)).annotation
    assert found.features[0] == -1.0 and found.region == RIGHT and found.stamp == SECOND
    assert settled(matcher, annotation(2.0, LEFT)).annotation.features[0] == 2.0


def test_a_box_that_was_rounded_is_the_same_and_brings_its_id(matcher):
    found = settled(matcher, annotation(1.0, Region('', 20.4, 19.7, 30.1, 30))).annotation
    assert found.features[0] == 1.0 and found.region == LEFT


def test_a_stamp_within_the_tolerance_will_do(matcher):
    assert settled(matcher, annotation(1.05, LEFT)).annotation.features[0] == 1.0


def test_the_newest_picture_may_be_meant_by_its_region(matcher):
    assert settled(matcher, annotation(0, LEFT)).annotation.features[0] == 2.0


@pytest.mark.parametrize('stamp', [0, 1.0])
def test_without_a_region_the_choice_is_not_clear(matcher, stamp):
    error = settled(matcher, annotation(stamp)).error
    assert error.cause == 'no_region' and '2 regions' in str(error)


def test_a_picture_of_one_region_needs_no_name():
    matcher = StampMatcher()
    matcher.add(vector(1.0, LEFT, 1, 5.0), now=0)
    assert settled(matcher, annotation(1.0)).annotation.features[0] == 5.0
    assert settled(matcher, annotation(0)).annotation.region == LEFT


def test_an_unknown_region_waits_and_is_then_named(matcher):
    pending = PendingAnnotation(annotation(2.0, Region('', 50, 70, 10, 10)))
    assert not matcher.submit(pending, now=0)
    (late,) = matcher.expire(now=2 * SECOND)
    assert late.error.cause == 'unknown_region' and '20 20 30 30' in str(late.error)


def test_a_region_that_is_late_is_found(matcher):
    other = Region('3', 50, 70, 10, 10)
    pending = PendingAnnotation(annotation(2.0, other))
    assert not matcher.submit(pending, now=0)
    assert matcher.add(vector(2.0, other, 3, 9.0), now=1) == [pending]
    assert pending.annotation.features[0] == 9.0


def test_whole_picture_and_regions_live_side_by_side(matcher):
    matcher.add(vector(2.0, WHOLE, 0, 7.0), now=0)
    assert settled(matcher, annotation(2.0)).annotation.features[0] == 7.0
    assert settled(matcher, annotation(2.0, LEFT)).annotation.features[0] == 2.0
    assert len(matcher.buffer) == 5


def test_pictures_leave_the_buffer_as_a_whole(matcher):
    for region in (LEFT, RIGHT, Region('3', 50, 70, 10, 10)):
        matcher.add(vector(3.0, region, 3), now=0)
    assert len(matcher.buffer) == 5 and matcher.buffer.span == (2 * SECOND, 3 * SECOND)
    assert matcher.buffer.bytes == 5 * 12


def test_a_region_that_comes_twice_replaces_itself(matcher):
    matcher.add(vector(2.0, LEFT, 2, 8.0), now=0)
    assert len(matcher.buffer) == 4 and matcher.buffer.duplicates == 1
    assert settled(matcher, annotation(2.0, LEFT)).annotation.features[0] == 8.0


def test_a_region_of_no_numbers_matches_nothing(matcher):
    pending = PendingAnnotation(annotation(2.0, Region('', float('nan'), 1, 5, 5)))
    assert not matcher.submit(pending, now=0)
    assert matcher.expire(now=2 * SECOND)[0].error.cause == 'unknown_region'


def test_a_request_about_another_region_is_another_request():
    requests = {ClientRequest.of('a', annotation(1.0, region)).content
                for region in (WHOLE, LEFT, RIGHT)}
    assert len(requests) == 3


def test_one_annotation_counts_for_an_object_and_not_for_its_near_copies():
    matcher = StampMatcher()
    for number in range(30):
        values = np.array([1.0, 2.0, 0.001 * number], np.float32)
        matcher.add(StampedVector(SECOND + number, values, region=LEFT, region_count=1), now=0)
    first = settled(matcher, Annotation(SECOND, ('cup',), region=LEFT))
    again = settled(matcher, Annotation(SECOND + 9, ('cup',), region=LEFT))
    assert first.error is None and again.error.cause == 'same_object'
    # Another label, or an object that looks different, is worth learning.
    assert settled(matcher, Annotation(SECOND + 9, ('mug',), region=LEFT)).error is None
    matcher.add(vector(2.0, LEFT, 1, 5.0), now=0)
    assert settled(matcher, Annotation(2 * SECOND, ('mug',), region=LEFT)).error is None
    # Taken back, it may be taught again.
    matcher.objects.clear()
    assert settled(matcher, Annotation(2 * SECOND, ('mug',), region=LEFT)).error is None
