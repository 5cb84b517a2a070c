# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/Imu and JointState to values by channel name."""

from __future__ import annotations

import math
from typing import Any

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.motion_window import JOINT_FIELDS
from proemlc_ros.features.samples import MotionSample
from proemlc_ros.features.sensor_arrays.stamps import stamp_of


def imu_sample(message: Any) -> MotionSample:
    """Return turn rates and accelerations of a sensor_msgs/Imu.

    By the message's convention a covariance that starts with -1 says "not measured".

    Raises:
        BadSensorDataError: empty_imu, where nothing was measured.

    """
    values = {}
    for name in ('angular_velocity', 'linear_acceleration'):
        vector = getattr(message, name)
        axes = (float(vector.x), float(vector.y), float(vector.z))
        if getattr(message, f'{name}_covariance')[0] == -1 or not all(map(math.isfinite, axes)):
            continue
        for axis, value in zip('xyz', axes):
            values[f'{name}.{axis}'] = value
        values[f'{name}.norm'] = math.hypot(*axes)
    if not values:
        raise BadSensorDataError(
            'empty_imu', 'the IMU message has neither a finite turn rate nor acceleration')
    return MotionSample(stamp_of(message), values)


def joint_sample(message: Any) -> MotionSample:
    """Return positions, velocities and efforts of a sensor_msgs/JointState by joint and field.

    Raises:
        BadSensorDataError: empty_joints, or bad_joints where names and values differ in number.

    """
    names = list(message.name)
    if not names:
        raise BadSensorDataError('empty_joints', 'the joint state names no joint')
    values = {}
    for entry in JOINT_FIELDS:
        measured = getattr(message, entry)
        # Every field may be left empty as a whole.
        if len(measured) not in (0, len(names)):
            raise BadSensorDataError(
                'bad_joints', f'the joint state has {len(names)} names and {len(measured)} '
                f'values of {entry}')
        for name, value in zip(names, measured):
            values[f'{name}/{entry}'] = float(value)
    if not values:
        raise BadSensorDataError('empty_joints', 'the joint state has names and no values')
    return MotionSample(stamp_of(message), values)
