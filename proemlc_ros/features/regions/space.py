# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where a box of a picture is in space, by a depth picture and the camera's intrinsics.

The depth picture is aligned to the camera: of the same size, pixel by pixel. Lens distortion is
left out, so pictures of wide lenses should be rectified.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays import byte_rows
from proemlc_ros.regions import Region

# Encodings of sensor_msgs/Image for depth: type of a value, and metres per unit (REP 118).
_DEPTH_ENCODINGS = {'16UC1': ('u2', 1e-3), 'mono16': ('u2', 1e-3), '32FC1': ('f4', 1.0)}
# The middle of a box, as a share of its sides: its edges show what is behind the thing.
_MIDDLE = 0.5
# Depths between these quantiles make the extent along the view; single pixels often err.
_EXTENT = (0.1, 0.9)


class _Intrinsics(NamedTuple):
    """The camera's focal lengths and optical centre, and the size of its pictures, in pixels."""

    focal_x: float
    focal_y: float
    center_x: float
    center_y: float
    width: int
    height: int


class PlacedRegion(NamedTuple):
    """Middle and extent of what a box shows: metres to the right, downwards and away."""

    position: tuple[float, float, float]
    extent: tuple[float, float, float]


def intrinsics_of(message: Any) -> _Intrinsics:
    """Return the intrinsics of a sensor_msgs/CameraInfo.

    Raises:
        BadSensorDataError: bad_camera_info: the camera is not calibrated.
    """
    matrix = [float(value) for value in message.k]
    found = _Intrinsics(matrix[0], matrix[4], matrix[2], matrix[5], int(message.width),
                        int(message.height))
    if not (all(map(math.isfinite, matrix)) and found.focal_x > 0 and found.focal_y > 0
            and found.width > 0 and found.height > 0):
        raise BadSensorDataError(
            'bad_camera_info', f'the camera info of {found.width} x {found.height} pixels has the '
            f'focal lengths {found.focal_x:g} and {found.focal_y:g}; calibrate the camera')
    return found


def depth_metres(message: Any, camera: _Intrinsics) -> NDArray[np.float32]:
    """Return the depths of a sensor_msgs/Image in metres, NaN where nothing was measured.

    Raises:
        BadSensorDataError: unknown_encoding, depth_misaligned, bad_step or truncated_depth.
    """
    if message.encoding not in _DEPTH_ENCODINGS:
        raise BadSensorDataError(
            'unknown_encoding', f'depth encoding {message.encoding!r} is not known, only '
            f'{", ".join(_DEPTH_ENCODINGS)}')
    if (message.width, message.height) != (camera.width, camera.height):
        raise BadSensorDataError(
            'depth_misaligned', f'the depth picture has {message.width} x {message.height} pixels '
            f'and the camera {camera.width} x {camera.height}; publish depth that is aligned to '
            "the camera, such as by the driver's align_depth or depth_image_proc/register")
    kind, unit = _DEPTH_ENCODINGS[message.encoding]
    layout = np.dtype(('>' if message.is_bigendian else '<') + kind)
    row_bytes = message.width * layout.itemsize
    if message.step < row_bytes:
        raise BadSensorDataError(
            'bad_step', f'step is {message.step} bytes, but a row of {message.width} pixels in '
            f'{message.encoding} has {row_bytes}')
    rows = byte_rows(message.data, message.height, row_bytes, message.step, 'depth')
    depth = np.ascontiguousarray(rows).view(layout).astype(np.float32) * np.float32(unit)
    return np.where(np.isfinite(depth) & (depth > 0), depth, np.float32(np.nan))


def placed(region: Region, depth: NDArray[np.float32], camera: _Intrinsics) -> PlacedRegion | None:
    """Return where a box is, by the median of the depths in its middle; None: none is valid.

    Args:
        region: in pixels of the camera's picture.
        depth: as of depth_metres.
        camera: its intrinsics.

    >>> camera = _Intrinsics(500, 500, 319.5, 239.5, 640, 480)
    >>> wall = np.full((480, 640), 2.0, np.float32)
    >>> placed(Region('', 445, 240, 50, 100), wall, camera).position
    (0.5, 0.0, 2.0)
    """
    if region.is_whole or not all(map(math.isfinite, region.box)):
        return None
    values = depth[_span(region.center_y, region.size_y, camera.height),
                   _span(region.center_x, region.size_x, camera.width)]
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    away = float(np.median(values))
    near, far = np.quantile(values, _EXTENT)
    # Intrinsics count from the middle of the first pixel, boxes from its edge.
    return PlacedRegion(
        ((region.center_x - 0.5 - camera.center_x) * away / camera.focal_x,
         (region.center_y - 0.5 - camera.center_y) * away / camera.focal_y, away),
        (region.size_x * away / camera.focal_x, region.size_y * away / camera.focal_y,
         float(far - near)))


def _span(center: float, size: float, length: int) -> slice:
    """Return the pixels of the middle of a box along a side; at least one."""
    half = 0.5 * _MIDDLE * size
    first = int(min(max(center - half, 0), length - 1))
    return slice(first, int(min(max(math.ceil(center + half), first + 1), length)))
