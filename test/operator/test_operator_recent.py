# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept for late answers: feature vectors, and the camera's pictures."""

from recorder import vector

from proemlc_ros.operator.recent import CameraPicture, PictureCache, RecentVectors


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


def test_only_a_picture_of_the_very_moment_is_found():
    cache = PictureCache()
    for stamp in (5, 10):
        cache.add(CameraPicture(stamp, b''))
    assert cache.find(5).stamp == 5 and cache.find(6) is None
    cache.hold(6)
    assert cache.find(6) is None
    assert cache.newest_among({5, 6}).stamp == 5 and cache.newest_among({6}) is None


def test_held_picture_outlives_the_stream():
    cache = PictureCache(max_count=2, max_held=2)
    cache.add(CameraPicture(1, b'first'))
    cache.hold(1)
    for stamp in range(10**10, 10**10 + 9):
        cache.add(CameraPicture(stamp, b''))
    assert cache.find(1).jpeg == b'first'
    assert cache.find(10**10 + 8) is not None
