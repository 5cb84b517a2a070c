# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sensor messages to arrays: the one place that reads sensor_msgs.

Only attributes are read, so messages of rclpy and of the rosbags library both work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.extractors.laser_profile import LaserBeams
from proemlc_ros.features.extractors.motion_window import JOINT_FIELDS, MotionSample
from proemlc_ros.features.image_arrays import byte_rows, compressed_image_array, image_array
from proemlc_ros.stamps import stamp_of

# sensor_msgs/PointField: INT8 = 1 ... FLOAT64 = 8.
FIELD_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


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


def imu_sample(message: Any) -> MotionSample:
    """Return turn rates and accelerations of a sensor_msgs/Imu.

    By the message's convention a covariance that starts with -1 means "not measured".

    Raises:
        BadSensorDataError: empty_imu: nothing was measured.

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
    return MotionSample(stamp_of(message.header), values)


def joint_sample(message: Any) -> MotionSample:
    """Return positions, velocities and efforts of a sensor_msgs/JointState by joint and field.

    Raises:
        BadSensorDataError: empty_joints, or bad_joints: names and values differ in number.

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
    return MotionSample(stamp_of(message.header), values)


def cloud_points(message: Any) -> NDArray[np.float64]:
    """Return x, y, z of every point, (n, 3), for any fields, padding and byte order.

    An organised cloud is flattened; its missing points stay as NaN rows.

    Raises:
        BadSensorDataError: empty_cloud, bad_cloud_layout, missing_fields or truncated_cloud.

    """
    layout = xyz_layout(message)
    height, width, row_step = message.height, message.width, message.row_step
    if height < 1 or width < 1:
        raise BadSensorDataError(
            'empty_cloud', f'the cloud has {width} x {height} points (width x height)')
    row_bytes = width * message.point_step
    if height > 1 and row_step < row_bytes:
        raise BadSensorDataError(
            'bad_cloud_layout', f'row_step is {row_step} bytes, but {width} points of '
            f'{message.point_step} bytes need {row_bytes}')
    rows = byte_rows(message.data, height, row_bytes, row_step, 'cloud')
    points = np.ascontiguousarray(rows).view(layout).ravel()
    return np.stack([points[axis].astype(np.float64) for axis in 'xyz'], axis=1)


def xyz_layout(message: Any) -> np.dtype[Any]:
    """Return the structured type of one point with its fields x, y and z."""
    byte_order = '>' if message.is_bigendian else '<'
    fields = {field.name: field for field in message.fields}
    missing = [axis for axis in 'xyz' if axis not in fields]
    if missing:
        raise BadSensorDataError(
            'missing_fields', f'the cloud has the fields {sorted(fields)} and lacks '
            f'{", ".join(missing)}')
    types = {}
    for axis in 'xyz':
        field = fields[axis]
        # Old drivers leave count at 0 where they mean 1.
        if field.datatype not in FIELD_TYPES or field.count > 1:
            raise BadSensorDataError(
                'bad_cloud_layout', f'field {axis} has data type {field.datatype} and count '
                f'{field.count}; known are types 1 to 8, one value each')
        types[axis] = np.dtype(byte_order + FIELD_TYPES[field.datatype])
        if field.offset + types[axis].itemsize > message.point_step:
            raise BadSensorDataError(
                'bad_cloud_layout', f'field {axis} at offset {field.offset} does not fit into '
                f'point_step {message.point_step}')
    return np.dtype({
        'names': list('xyz'), 'formats': [types[axis] for axis in 'xyz'],
        'offsets': [fields[axis].offset for axis in 'xyz'], 'itemsize': message.point_step})


# For each kind of sensor, its message types (the default one first) and their readers.
MESSAGE_TYPES: dict[str, dict[str, Callable[[Any], Any]]] = {
    'image': {
        'sensor_msgs/msg/Image': image_array,
        'sensor_msgs/msg/CompressedImage': compressed_image_array,
    },
    'scan': {'sensor_msgs/msg/LaserScan': laser_beams},
    'imu': {'sensor_msgs/msg/Imu': imu_sample},
    'joints': {'sensor_msgs/msg/JointState': joint_sample},
    'cloud': {'sensor_msgs/msg/PointCloud2': cloud_points},
}


def sample_of(message: Any, message_type: str) -> Any:
    """Return the data of a message, as the extractors of its sensor take it.

    Args:
        message: of rclpy, or deserialised by rosbags.
        message_type: such as 'sensor_msgs/msg/Image'.

    Raises:
        BadSensorDataError: the message cannot be used; its cause is the reason.

    """
    for readers in MESSAGE_TYPES.values():
        if message_type in readers:
            return readers[message_type](message)
    raise KeyError(f'no reader for {message_type}')
