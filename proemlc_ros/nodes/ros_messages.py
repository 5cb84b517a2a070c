# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes and serialises messages with rclpy."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header

from proemlc_ros.msg import FeatureVector, LabelAnnotation, ModelEvent

_TYPES = {
    'builtin_interfaces/msg/Time': Time,
    'std_msgs/msg/Header': Header,
    'proemlc_ros/msg/FeatureVector': FeatureVector,
    'proemlc_ros/msg/LabelAnnotation': LabelAnnotation,
    'proemlc_ros/msg/ModelEvent': ModelEvent,
}


def float_array(values: np.ndarray) -> array:
    """Return values as rclpy takes them in bulk; a list would be checked one by one."""
    result = array('f')
    result.frombytes(np.asarray(values, np.float32).tobytes())
    return result


class RosMessages:
    """Makes messages of the sourced ROS."""

    def new(self, type_name: str, **fields: Any) -> Any:
        """Return a message of a type such as 'std_msgs/msg/Header'."""
        return _TYPES[type_name](**fields)

    def floats(self, values: np.ndarray) -> array:
        """Return the values as rclpy wants them."""
        return float_array(values)

    def serialize(self, message: Any, type_name: str) -> bytes:
        """Return the message as CDR bytes."""
        return serialize_message(message)

    def deserialize(self, data: bytes, type_name: str) -> Any:
        """Return the message of CDR bytes."""
        return deserialize_message(data, _TYPES[type_name])
