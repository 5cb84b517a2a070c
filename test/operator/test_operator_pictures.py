# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Camera pictures for the page."""

import cv2
import numpy as np

from proemlc_ros.operator.pictures import CameraPicture, PictureCache, jpeg_of


def decoded(jpeg):
    return cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]


def test_picture_is_scaled_down_and_keeps_its_colours():
    pixels = np.full((480, 1280, 3), (200, 30, 60), np.uint8)
    seen = decoded(jpeg_of(pixels, max_side=320))
    assert seen.shape == (120, 320, 3)
    assert np.abs(seen.mean((0, 1)) - (200, 30, 60)).max() < 6


def test_small_picture_keeps_its_size():
    assert decoded(jpeg_of(np.zeros((3, 5), np.uint8))).shape == (3, 5, 3)


def test_sixteen_bits_are_stretched_over_what_is_used():
    depth = np.array([[1000, 1500], [1500, 2000]], np.uint16).repeat(16, 0).repeat(16, 1)
    seen = decoded(jpeg_of(depth))
    assert seen.min() < 10 and seen.max() > 245


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
