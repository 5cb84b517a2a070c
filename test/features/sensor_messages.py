# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Real sensor messages (of the rosbags library) for the tests of the features."""

from __future__ import annotations

import numpy as np
from rosbags.typesys import Stores, get_typestore

TYPESTORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = TYPESTORE.types


def header(stamp: int = 0, frame_id: str = 'sensor'):
    """Return a std_msgs/Header; the stamp in nanoseconds."""
    time = TYPES['builtin_interfaces/msg/Time'](
        sec=stamp // 1_000_000_000, nanosec=stamp % 1_000_000_000)
    return TYPES['std_msgs/msg/Header'](stamp=time, frame_id=frame_id)


def image(data, encoding='rgb8', width=None, height=None, step=None, bigendian=0, stamp=0):
    """Return a sensor_msgs/Image of bytes or of an array of pixels."""
    if isinstance(data, np.ndarray) and data.ndim > 1:
        height = data.shape[0] if height is None else height
        width = data.shape[1] if width is None else width
        step = data.nbytes // data.shape[0] if step is None else step
        data = data.tobytes()
    return TYPES['sensor_msgs/msg/Image'](
        header=header(stamp), height=height, width=width, encoding=encoding,
        is_bigendian=bigendian, step=step, data=np.frombuffer(bytes(data), np.uint8))


def compressed(data, format='jpeg', stamp=0):
    """Return a sensor_msgs/CompressedImage."""
    return TYPES['sensor_msgs/msg/CompressedImage'](
        header=header(stamp), format=format, data=np.frombuffer(bytes(data), np.uint8))


def scan(ranges, angle_min=-1.5, angle_max=1.5, range_min=0.1, range_max=10.0, increment=None,
         stamp=0):
    """Return a sensor_msgs/LaserScan with evenly spaced beams."""
    if increment is None:
        increment = (angle_max - angle_min) / max(len(ranges) - 1, 1)
    return TYPES['sensor_msgs/msg/LaserScan'](
        header=header(stamp), angle_min=angle_min, angle_max=angle_max,
        angle_increment=increment, time_increment=0.0, scan_time=0.1, range_min=range_min,
        range_max=range_max, ranges=np.array(ranges, np.float32),
        intensities=np.zeros(0, np.float32))


def imu(turn=(0.0, 0.0, 0.0), acceleration=(0.0, 0.0, 9.81), stamp=0, measured=(True, True)):
    """Return a sensor_msgs/Imu."""
    vector, none = TYPES['geometry_msgs/msg/Vector3'], np.array([-1.0] + [0.0] * 8)
    covariance = [np.zeros(9) if known else none for known in measured]
    return TYPES['sensor_msgs/msg/Imu'](
        header=header(stamp),
        orientation=TYPES['geometry_msgs/msg/Quaternion'](x=0.0, y=0.0, z=0.0, w=1.0),
        orientation_covariance=np.zeros(9),
        angular_velocity=vector(*turn), angular_velocity_covariance=covariance[0],
        linear_acceleration=vector(*acceleration), linear_acceleration_covariance=covariance[1])


def joints(names, position=(), velocity=(), effort=(), stamp=0):
    """Return a sensor_msgs/JointState."""
    return TYPES['sensor_msgs/msg/JointState'](
        header=header(stamp), name=list(names), position=np.array(position, float),
        velocity=np.array(velocity, float), effort=np.array(effort, float))


def cloud(data, fields, width, point_step, height=1, row_step=None, bigendian=False, stamp=0):
    """Return a sensor_msgs/PointCloud2; fields as (name, offset, datatype, count)."""
    field = TYPES['sensor_msgs/msg/PointField']
    return TYPES['sensor_msgs/msg/PointCloud2'](
        header=header(stamp), height=height, width=width,
        fields=[field(name=n, offset=o, datatype=t, count=c) for n, o, t, c in fields],
        is_bigendian=bigendian, point_step=point_step,
        row_step=width * point_step if row_step is None else row_step,
        data=np.frombuffer(bytes(data), np.uint8), is_dense=False)
