# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Camera pictures for the page."""

import cv2
import numpy as np
import pytest

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


@pytest.mark.parametrize(('asked', 'given'), [(5, 5), (6, 5), (14, 10), (10 + 2 * 10**9, None)])
def test_nearest_picture(asked, given):
    cache = PictureCache()
    for stamp in (5, 10):
        cache.add(CameraPicture(stamp, b''))
    found = cache.nearest(asked)
    assert (found and found.stamp) == given


def test_held_picture_outlives_the_stream():
    cache = PictureCache(max_count=2, max_held=2)
    cache.add(CameraPicture(1, b'first'))
    cache.hold(1)
    for stamp in range(10**10, 10**10 + 9):
        cache.add(CameraPicture(stamp, b''))
    assert cache.find(1).jpeg == b'first'
    assert cache.newest.stamp == 10**10 + 8
    assert PictureCache().newest is None
