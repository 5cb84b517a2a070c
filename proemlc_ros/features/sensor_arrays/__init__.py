# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sensor messages to arrays: the one place where sensor_msgs are taken apart.

Everything here reads attributes only, so messages of rclpy and of the rosbags library both do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proemlc_ros.features.sensor_arrays.clouds import cloud_points
from proemlc_ros.features.sensor_arrays.images import compressed_image_array, image_array
from proemlc_ros.features.sensor_arrays.motion import imu_sample, joint_sample
from proemlc_ros.features.sensor_arrays.scans import laser_beams
from proemlc_ros.features.sensor_arrays.stamps import stamp_of

__all__ = [
    'MESSAGE_TYPES', 'cloud_points', 'compressed_image_array', 'image_array', 'imu_sample',
    'joint_sample', 'laser_beams', 'sample_of', 'stamp_of',
]

# For each kind of sensor, the message types that carry it (the usual one first) and the reader.
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
    """Return what a message measured, as the extractors of its sensor take it.

    Args:
        message: of rclpy, or deserialised by rosbags.
        message_type: such as 'sensor_msgs/msg/Image'.

    Raises:
        BadSensorDataError: the message cannot be used; its cause says why.

    """
    for readers in MESSAGE_TYPES.values():
        if message_type in readers:
            return readers[message_type](message)
    raise KeyError(f'no reader for {message_type}')
