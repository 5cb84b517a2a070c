# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept for late answers."""

from recorder import vector

from proemlc_ros.operator.recent import QueryQueue, RecentVectors
from proemlc_ros.records import Query


def test_recent_vectors_are_bounded_by_count_bytes_and_holds():
    vectors = RecentVectors(max_count=3, max_bytes=40, max_held=1)
    for stamp in (1, 2, 3, 4):
        vectors.add(vector(stamp))
    assert vectors.find(1) is None and vectors.find(2) is not None
    vectors.add(vector(5, width=9))  # 36 bytes: leaves room for nothing else
    assert vectors.find(4) is None and vectors.find(5) is not None
    assert vectors.hold(5) and not vectors.hold(99)
    vectors.hold(6, vector(6))
    vectors.add(vector(7))
    assert vectors.find(6) is not None


def test_vector_with_the_same_stamp_counts_once():
    vectors = RecentVectors(max_bytes=24)
    vectors.add(vector(1))
    for _ in range(5):
        vectors.add(vector(2))
    assert vectors.find(1) is not None


def test_vector_that_arrives_after_it_was_held_outlives_the_stream():
    vectors = RecentVectors(max_count=2, max_held=2)
    assert not vectors.hold(5)
    for stamp in (5, 6, 7, 8):
        vectors.add(vector(stamp))
    assert vectors.find(5).data.tolist() == [5, 5, 5] and vectors.find(6) is None


def test_awaited_vectors_are_bounded():
    vectors = RecentVectors(max_count=1, max_held=2)
    for stamp in (1, 2, 3):
        vectors.hold(stamp)
    for stamp in (1, 2, 3, 4):
        vectors.add(vector(stamp))
    assert vectors.find(1) is None and vectors.find(2) is not None


def test_query_queue_drops_the_oldest_and_settles_by_stamp():
    queue = QueryQueue(max_count=2)
    for stamp in (1, 2, 3):
        queue.add(Query(vector(stamp), 'why'))
    assert [query.vector.stamp for query in queue] == [2, 3]
    assert queue.settle(2) and not queue.settle(2)
    assert len(queue) == 1
