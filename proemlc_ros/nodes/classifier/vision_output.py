# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's topics of vision_msgs, where that package is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile

from proemlc_ros.classifier.detections import HALF, DetectionCollector
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.conversions import (
    DETECTIONS_TYPE,
    LABEL_INFO_TYPE,
    VISION_TYPE,
    detections_message,
    label_info_message,
    vision_message,
)
from proemlc_ros.nodes.ros_messages import RosMessages, message_class
from proemlc_ros.records import LabelState, StampedVector


class VisionOutput:
    """Publishes predictions as Classification, Detection2DArray and LabelInfo.

    Args:
        publisher: makes a publisher of a type, a topic and a QoS profile.
        qos: of the predictions.
    """

    def __init__(self, publisher: Callable[[type, str, QoSProfile], Any],
                 qos: QoSProfile) -> None:
        self._factory = RosMessages()
        self._collector = DetectionCollector()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._classification, self._detections, self._label_info = (
            None if kind is None else publisher(kind, topic, profile)
            for kind, topic, profile in (
                (message_class(VISION_TYPE), '~/classification', qos),
                (message_class(DETECTIONS_TYPE), '~/detections', qos),
                (message_class(LABEL_INFO_TYPE), '~/label_info', latched)))

    def publish(self, header: Any, vector: StampedVector,
                prediction: VersionedPrediction) -> None:
        """Publish a prediction; detections once all of a picture are there."""
        if self._classification is not None and self._classification.get_subscription_count():
            self._classification.publish(vision_message(self._factory, header, prediction))
        if self._detections is None or not self._detections.get_subscription_count():
            return
        found = self._collector.add(vector, prediction)
        if found is not None:
            self._detections.publish(detections_message(self._factory, header, found))

    def publish_labels(self, header: Any, state: LabelState) -> None:
        """Publish the names of the labels, and the confidence above which one is predicted."""
        if self._label_info is not None:
            self._label_info.publish(
                label_info_message(self._factory, header, state.names, HALF))
