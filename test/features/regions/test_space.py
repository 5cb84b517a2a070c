# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Boxes in space, seen by a made-up depth camera with known geometry."""

from types import SimpleNamespace

import numpy as np
import pytest

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.regions.space import depth_metres, intrinsics_of, placed
from proemlc_ros.regions import WHOLE, Region

WIDTH, HEIGHT, FOCAL, CENTER = 640, 480, 525.0, (315.2, 247.6)
# Boards that face the camera: middle and size in metres.
BOARDS = [((0.30, -0.20, 1.2), (0.25, 0.15)), ((-0.60, 0.10, 2.5), (0.40, 0.40)),
          ((0.05, 0.25, 0.8), (0.08, 0.12))]


def camera_info(**changes):
    values = {'k': [FOCAL, 0.0, CENTER[0], 0.0, FOCAL, CENTER[1], 0.0, 0.0, 1.0],
              'width': WIDTH, 'height': HEIGHT}
    return SimpleNamespace(**{**values, **changes})


CAMERA = intrinsics_of(camera_info())


def scene():
    """Return the depths of boards before a wall, by rays, and the boxes around the boards."""
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    right, down = (columns - CENTER[0]) / FOCAL, (rows - CENTER[1]) / FOCAL
    depth = np.full((HEIGHT, WIDTH), 4.0)
    boxes = []
    for (x, y, z), (width, height) in BOARDS:
        hit = (abs(right * z - x) <= width / 2) & (abs(down * z - y) <= height / 2) & (z < depth)
        depth[hit] = z
        places = np.argwhere(hit)
        (top, left), (bottom, right_edge) = places.min(axis=0), places.max(axis=0) + 1
        boxes.append(Region.of_edges(left, top, right_edge, bottom))
    return depth, boxes


def depth_image(depth, encoding, bigendian=False, padding=0):
    """Return a depth picture as a message, 0 or NaN where the depth is NaN."""
    values = (np.nan_to_num(depth * 1000).round().astype('u2') if encoding == '16UC1'
              else depth.astype('f4'))
    order = values.astype(values.dtype.newbyteorder('>' if bigendian else '<'))
    rows = order.view('u1').reshape(len(depth), -1)
    data = np.pad(rows, ((0, 0), (0, padding)))
    return SimpleNamespace(
        encoding=encoding, width=depth.shape[1], height=depth.shape[0], step=data.shape[1],
        is_bigendian=bigendian, data=data.tobytes())


@pytest.mark.parametrize('encoding', ['16UC1', '32FC1'])
@pytest.mark.parametrize(('bigendian', 'padding', 'holes'),
                         [(False, 0, 0.0), (True, 6, 0.0), (False, 0, 0.4), (False, 0, 0.9)])
def test_boards_are_where_they_are(encoding, bigendian, padding, holes):
    depth, boxes = scene()
    depth[np.random.default_rng(0).uniform(size=depth.shape) < holes] = np.nan
    metres = depth_metres(depth_image(depth, encoding, bigendian, padding), CAMERA)
    for box, (position, size) in zip(boxes, BOARDS, strict=True):
        found = placed(box, metres, CAMERA)
        distance = np.linalg.norm(position)
        assert np.linalg.norm(np.subtract(found.position, position)) < 0.02 * distance
        np.testing.assert_allclose(found.extent[:2], size, rtol=0.03)
        assert found.extent[2] == pytest.approx(0.0, abs=1e-6)


def test_the_edges_of_a_box_may_show_the_background():
    depth, boxes = scene()
    wide = boxes[0]._replace(size_x=1.4 * boxes[0].size_x, size_y=1.4 * boxes[0].size_y)
    found = placed(wide, depth.astype(np.float32), CAMERA)
    np.testing.assert_allclose(found.position, BOARDS[0][0], rtol=0.02)


@pytest.mark.parametrize('region', [
    WHOLE, Region('', 100, 100, 50, 50), Region('', float('nan'), 1, 2, 3)], ids=str)
def test_without_a_box_or_a_depth_there_is_no_position(region):
    holes = np.full((HEIGHT, WIDTH), np.nan, np.float32)
    assert placed(region, holes, CAMERA) is None


def test_a_box_over_the_edge_has_the_depths_that_are_there():
    wall = np.full((HEIGHT, WIDTH), 2.0, np.float32)
    for region in (Region('', -5, -5, 40, 40), Region('', 700, 500, 10, 10),
                   Region('', 3.2, 3.2, 0.1, 0.1)):
        assert placed(region, wall, CAMERA).position[2] == 2.0


@pytest.mark.parametrize(('changes', 'cause'), [
    ({'encoding': '8UC1'}, 'unknown_encoding'), ({'width': 320}, 'depth_misaligned'),
    ({'step': 100}, 'bad_step'), ({'data': b'12'}, 'truncated_depth')])
def test_unusable_depths_are_rejected_by_cause(changes, cause):
    message = depth_image(np.ones((HEIGHT, WIDTH)), '16UC1')
    vars(message).update(changes)
    with pytest.raises(BadSensorDataError) as raised:
        depth_metres(message, CAMERA)
    assert raised.value.cause == cause


def test_depth_of_another_size_says_what_to_do():
    small = depth_image(np.ones((240, 320)), '32FC1')
    with pytest.raises(BadSensorDataError, match='320 x 240 .* 640 x 480; publish .* aligned'):
        depth_metres(small, CAMERA)


@pytest.mark.parametrize('changes', [
    {'k': [0.0] * 9}, {'width': 0}, {'k': [float('nan')] * 9}], ids=str)
def test_a_camera_without_calibration_is_rejected(changes):
    with pytest.raises(BadSensorDataError) as raised:
        intrinsics_of(camera_info(**changes))
    assert raised.value.cause == 'bad_camera_info'
