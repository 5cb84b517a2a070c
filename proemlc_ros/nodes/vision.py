# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions in the form that perception users know, where vision_msgs is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import qos_profile_sensor_data

from proemlc_ros.core.prediction import Classification

try:
    from vision_msgs.msg import Classification as VisionClassification
    from vision_msgs.msg import ObjectHypothesis
except ImportError:
    VisionClassification = None


class VisionPublisher:
    """Publishes vision_msgs/Classification on ~/classification while somebody listens.

    Args:
        node: on which the topic is created.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self._publisher = None
        if VisionClassification is not None:
            self._publisher = node.create_lifecycle_publisher(
                VisionClassification, '~/classification', qos_profile_sensor_data)

    def publish(self, header: Any, found: Classification) -> None:
        """Publish all known labels, best first, with scores from 0 to 1."""
        if self._publisher is None or not self._publisher.get_subscription_count():
            return
        # Targets are -1 and 1, so halfway between them is 0.5.
        scores = np.clip((found.scores + 1.0) / 2.0, 0.0, 1.0)
        self._publisher.publish(VisionClassification(header=header, results=[
            ObjectHypothesis(class_id=found.names[column], score=float(scores[column]))
            for column in np.argsort(-scores, kind='stable')]))

    def destroy(self) -> None:
        """Take the topic down."""
        if self._publisher is not None:
            self._node.destroy_lifecycle_publisher(self._publisher)
