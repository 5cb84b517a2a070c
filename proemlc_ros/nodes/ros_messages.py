# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes and serialises messages with rclpy; the types of the classifier's services."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import ArrayLike
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header
from std_srvs.srv import Trigger

import proemlc_ros.srv as srv
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    LearntSample,
    ModelEvent,
    Prediction,
    Region,
    RegionArray,
)

# Requests and responses that wait on either side; rclpy's default of 10 loses those of a burst. On
# the client's side too: with Fast DDS every client of a service receives the answers to all.
SERVICE_QOS = QoSProfile(depth=1000)
# The classifier's services, by name.
SERVICES: dict[str, Any] = {
    'annotate': srv.Annotate, 'predict': srv.Predict, 'undo': Trigger, 'reset': Trigger,
    'renew': Trigger, 'cancel': Trigger, 'rename_label': srv.RenameLabel,
    'remove_label': srv.RemoveLabel, 'merge_labels': srv.MergeLabels,
    'change_sample': srv.ChangeSamples, 'change_samples': srv.ChangeSamples,
    'undo_change': srv.UndoChange, 'redo_change': srv.UndoChange,
    'list_samples': srv.ListSamples, 'get_sample': srv.GetSample,
    'list_history': srv.ListHistory, 'list_models': srv.ListModels, 'save_model': srv.SaveModel,
    'load_model': srv.LoadModel, 'reembed': srv.Reembed}
_TYPES: dict[str, type] = {
    'builtin_interfaces/msg/Time': Time,
    'std_msgs/msg/Header': Header,
    'proemlc_ros/msg/FeatureVector': FeatureVector,
    'proemlc_ros/msg/LabelAnnotation': LabelAnnotation,
    'proemlc_ros/msg/LabelQuery': LabelQuery,
    'proemlc_ros/msg/LabelSet': LabelSet,
    'proemlc_ros/msg/LearntSample': LearntSample,
    'proemlc_ros/msg/ModelEvent': ModelEvent,
    'proemlc_ros/msg/Prediction': Prediction,
    'proemlc_ros/msg/Region': Region,
    'proemlc_ros/msg/RegionArray': RegionArray,
}
try:  # Optional: perception users have it.
    import vision_msgs.msg as vision
except ImportError:
    pass
else:
    _TYPES.update({f'vision_msgs/msg/{name}': getattr(vision, name) for name in (
        'BoundingBox2D', 'BoundingBox3D', 'Classification', 'Detection2D', 'Detection2DArray',
        'Detection3D', 'Detection3DArray', 'LabelInfo', 'ObjectHypothesis',
        'ObjectHypothesisWithPose', 'Point2D', 'Pose2D', 'VisionClass')
        if hasattr(vision, name)})


def message_class(type_name: str) -> type | None:
    """Return the class of a type such as 'std_msgs/msg/Header'; None where not installed."""
    return _TYPES.get(type_name)


def _float_array(values: ArrayLike) -> array[float]:
    """Return values as rclpy takes them in bulk; a list would be checked one by one."""
    result = array('f')
    result.frombytes(np.asarray(values, np.float32).tobytes())
    return result


class RosMessages:
    """Makes messages of the sourced ROS."""

    def new(self, type_name: str, **fields: Any) -> Any:
        """Return a message of a type such as 'std_msgs/msg/Header'."""
        return _TYPES[type_name](**fields)

    floats = staticmethod(_float_array)

    def serialize(self, message: Any, type_name: str) -> bytes:
        """Return the message as CDR bytes."""
        data: bytes = serialize_message(message)
        return data

    def deserialize(self, data: bytes, type_name: str) -> Any:
        """Return the message of CDR bytes."""
        return deserialize_message(data, _TYPES[type_name])
