# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The other side of a feature node: publishes sensor messages, receives features."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from proemlc_ros.msg import FeatureVector
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from ros_process import DEADLINE
from sensor_msgs.msg import Image

# Parameters of a feature node with one camera.
CAMERA = """
    sensors: [camera]
    warning_period: 3600.0
    camera:
      topic: image
      extractor: colour_moments
"""


class SensorPartner(Node):
    """Publishes sensor messages and collects the features and diagnostics of the node."""

    def __init__(self, context: Context) -> None:
        super().__init__('partner', context=context)
        self.features: list[FeatureVector] = []
        self.status = None
        self._spinner = SingleThreadedExecutor(context=context)
        self._spinner.add_node(self)
        # Reliable and long: what the node publishes while this process is not let run counts, too.
        self.create_subscription(
            FeatureVector, 'proemlc/features', self.features.append, 1000)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self.status = message.status[0]

    def value(self, key: str) -> str | None:
        """Return a value of the newest diagnostics."""
        values = self.status.values if self.status else []
        return next((entry.value for entry in values if entry.key == key), None)

    def wait(self, condition: Callable[[], object], seconds: float = DEADLINE) -> bool:
        """Spin until the condition holds; false where it did not within the deadline."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self._spinner.spin_once(timeout_sec=0.05)
        return True

    def linked_publisher(self, message_type: type, topic: str, profile=10):
        """Return a publisher that the feature node subscribes to, once its features are seen."""
        publisher = self.create_publisher(message_type, topic, profile)
        assert self.wait(lambda: publisher.get_subscription_count() > 0)
        assert self.wait(lambda: self.count_publishers('proemlc/features') > 0)
        return publisher


def picture(stamp=1.5, seed=0, height=48, width=64):
    """Return an image message of noise and its pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    message = Image(height=height, width=width, step=3 * width, encoding='rgb8')
    message.data = array('B', pixels.tobytes())
    stamped(message, stamp)
    return message, pixels


def stamped(message, seconds, frame='camera_link'):
    """Set the header of a message."""
    message.header.stamp.sec = int(seconds)
    message.header.stamp.nanosec = round((seconds % 1) * 1e9)
    message.header.frame_id = frame
    return message


def exchange(partner, publisher, message):
    """Publish until a feature vector comes, and return the first."""
    count = len(partner.features)
    for _ in range(round(DEADLINE)):
        publisher.publish(message)
        if partner.wait(lambda: len(partner.features) > count, 1.0):
            return partner.features[count]
    raise AssertionError('no feature vector came')
