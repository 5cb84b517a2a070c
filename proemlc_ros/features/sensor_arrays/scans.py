# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/LaserScan to angles and ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.samples import LaserBeams


def laser_beams(message: Any) -> LaserBeams:
    """Return the beams of a sensor_msgs/LaserScan.

    Raises:
        BadSensorDataError: empty_scan or bad_angles.

    """
    ranges = np.asarray(message.ranges, np.float64)
    if len(ranges) == 0:
        raise BadSensorDataError('empty_scan', 'the scan has no beams')
    start, step = float(message.angle_min), float(message.angle_increment)
    turns = abs(step) * (len(ranges) - 1)
    if not (math.isfinite(start) and math.isfinite(step)) or (len(ranges) > 1 and step == 0):
        raise BadSensorDataError(
            'bad_angles', f'angle_min is {start} and angle_increment {step} with '
            f'{len(ranges)} beams')
    if turns > 4 * math.pi:
        raise BadSensorDataError(
            'bad_angles', f'{len(ranges)} beams with angle_increment {step} are '
            f'{turns / (2 * math.pi):.1f} turns; angles are in radians')
    # range_min below zero or NaN limits nothing.
    range_min = max(0.0, float(message.range_min)) if message.range_min >= 0 else 0.0
    return LaserBeams(
        angles=start + step * np.arange(len(ranges), dtype=np.float64), ranges=ranges,
        range_min=range_min, range_max=float(message.range_max))
