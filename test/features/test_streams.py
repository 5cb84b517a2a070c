# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Streams by stamp: joined with the nearest within tolerance, and limited in rate."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.features.streams import MOST_WAITING, StampJoiner, Throttle

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND


def joiner(streams=2, tolerance=50, patience=200):
    """Return a joiner; times in milliseconds."""
    return StampJoiner(streams, tolerance * MILLISECOND, patience * MILLISECOND)


def push(join, stream, milliseconds):
    """Push an item that is its own stamp, and return what came out, in milliseconds."""
    return [items for _, items in join.push(stream, milliseconds * MILLISECOND, milliseconds)]


def test_one_stream_passes_through():
    join = joiner(streams=1)
    assert push(join, 0, 5) == [[5]] and push(join, 0, 5) == [[5]]


def test_the_nearest_joins_even_when_it_comes_later():
    join = joiner()
    assert push(join, 1, 60) == []
    assert push(join, 0, 100) == []          # 60 is in reach, but a nearer one may come
    assert push(join, 1, 110) == [[100, 110]]


def test_an_item_may_join_twice():
    join = joiner()
    push(join, 1, 100)
    assert push(join, 0, 95) == [[95, 100]]
    push(join, 0, 110)
    assert push(join, 1, 200) == [[110, 100]]


def test_a_leader_without_a_match_is_dropped_and_counted():
    join = joiner()
    push(join, 0, 100)
    assert push(join, 1, 300) == []
    assert join.dropped == [0, 1]
    assert push(join, 0, 320) == [] and push(join, 1, 325) == [[320, 325]]


def test_a_silent_stream_holds_leaders_only_for_the_patience():
    join = joiner()
    push(join, 1, 90)
    assert push(join, 0, 100) == [] and push(join, 0, 300) == []
    assert push(join, 0, 301) == [[100, 90]]  # beyond the patience: the best there is


def test_three_streams():
    join = joiner(streams=3)
    push(join, 0, 100), push(join, 1, 104)
    assert push(join, 2, 101) == [[100, 104, 101]]


def test_a_clock_that_jumps_back_starts_the_join_again():
    join = joiner()
    push(join, 0, 100_000)
    assert push(join, 0, 50) == [] and push(join, 1, 60) == [[50, 60]]
    assert join.dropped == [0, 0]


def test_what_waits_is_bounded():
    join = joiner(patience=10**6)
    for k in range(2 * MOST_WAITING):
        push(join, 0, k)
    assert join.dropped[1] == MOST_WAITING
    join = joiner()
    for k in range(2 * MOST_WAITING):
        push(join, 1, 10**6 + k)
    assert push(join, 0, 10**6 + 2 * MOST_WAITING - 1) == [[10**6 + 1999, 10**6 + 1999]]


@settings(max_examples=200, deadline=None)
@given(leaders=st.lists(st.integers(0, 3000), min_size=1, max_size=25, unique=True),
       followers=st.lists(st.integers(0, 3000), max_size=25, unique=True))
def test_streams_that_arrive_in_stamp_order_join_with_the_nearest(leaders, followers):
    join = joiner()
    arrivals = sorted([(stamp, 0) for stamp in leaders] + [(stamp, 1) for stamp in followers])
    found = [items for stamp, stream in arrivals for items in push(join, stream, stamp)]
    found += push(join, 1, 100_000)
    for leader, follower in found:
        assert abs(leader - follower) <= 50
        assert abs(leader - follower) == min(abs(leader - other) for other in followers)
    in_reach = [stamp for stamp in leaders if any(abs(stamp - other) <= 50 for other in followers)]
    assert sorted(leader for leader, _ in found) == sorted(in_reach)
    assert join.dropped[1] == len(leaders) - len(in_reach)


@pytest.mark.parametrize('rate,limit,expected', [
    (30, 20, 20), (30, 10, 10), (30, 30, 30), (10, 30, 10), (100, 33, 33), (7, 0, 7)])
def test_rate_limit_keeps_the_mean_rate(rate, limit, expected):
    throttle = Throttle(limit)
    passed = sum(throttle.allows(5 * SECOND + k * SECOND // rate) for k in range(rate * 10))
    assert passed == pytest.approx(expected * 10, abs=1)


def test_rate_limit_allows_no_burst_after_a_pause():
    throttle = Throttle(10)
    assert throttle.allows(0)
    passed = [throttle.allows(100 * SECOND + k * MILLISECOND) for k in range(45)]
    assert passed == [True, *[False] * 44]


def test_rate_limit_follows_a_clock_that_jumps_back():
    throttle = Throttle(10)
    assert throttle.allows(100 * SECOND) and throttle.allows(3 * SECOND)
    assert not throttle.allows(3 * SECOND + 20 * MILLISECOND)
