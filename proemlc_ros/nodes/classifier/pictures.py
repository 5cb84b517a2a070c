# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The pictures that feature vectors are made from, for the journal."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace
from typing import Any

from rclpy.exceptions import NameValidationException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.pictures import keep_late_picture
from proemlc_ros.foreign_text import printable_line, shown
from proemlc_ros.nodes.classifier.receiver import Receiver
from proemlc_ros.stamps import stamp_of

_QOS = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
_IMAGE_TYPES = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage')
# Seconds between searches for the publisher of a topic.
_SEARCH_PERIOD = 1.0
# A name that is none, since others give it, or a topic that the security policy does not allow.
_REFUSED = (NameValidationException, ValueError, rclpy_implementation.RCLError)


class ClassifierPictures:
    """Subscribes to the pictures that the feature vectors are made from, and keeps the newest.

    Args:
        node: that subscribes.
        values: of the parameters.
        classifier: gets the pictures.
    """

    def __init__(self, node: Node, values: SimpleNamespace, classifier: Classifier) -> None:
        self._node = node
        self._values = values
        self._classifier = classifier
        self._receiver: Receiver | None = None
        self._topic = ''
        self._kind = ''
        self._next_search = 0.0
        buffer = classifier.durable.pictures
        buffer.active = bool(values.keep_pictures)
        buffer.max_bytes = values.picture_buffer_mb * 1_000_000

    def follow(self) -> None:
        """Subscribe to the topic that the newest feature vector names; call it regularly."""
        if not self._values.keep_pictures:
            return
        topic = self._values.picture_topic
        if not topic:
            newest = self._classifier.matcher.buffer.newest
            topic = '' if newest is None else newest.source_topic
        if topic and topic != self._topic and time.monotonic() >= self._next_search:
            self._next_search = time.monotonic() + _SEARCH_PERIOD
            try:
                self._subscribe(self._node.resolve_topic_name(topic), topic)
            except _REFUSED as error:
                self._topic = topic  # Not again, unless the vectors name another one.
                self._node.get_logger().warning(printable_line(
                    f'The journal gets no pictures: {shown(topic)} cannot be received: {error}'))

    def destroy(self) -> None:
        """Receive nothing any more."""
        if self._receiver is not None:
            self._receiver.destroy()
            self._receiver = None

    def _subscribe(self, full_name: str, topic: str) -> None:
        kinds = dict(self._node.get_topic_names_and_types()).get(full_name, [])
        kind = next((kind for kind in kinds if kind in _IMAGE_TYPES), '')
        if not kinds:
            return  # Nobody publishes it yet.
        self.destroy()
        self._topic, self._kind = topic, kind
        self._classifier.durable.pictures.clear()
        if kind:
            # Here, since OpenCV would make each start longer, with or without pictures.
            from proemlc_ros.nodes.classifier.camera_source import TYPES

            self._receiver = Receiver(self._node, TYPES[kind], full_name, self._on_picture, _QOS)

    def _on_picture(self, message: Any) -> None:
        from proemlc_ros.nodes.classifier.camera_source import CameraSource

        source = CameraSource(message, self._kind, self._values.picture_size,
                              self._values.picture_quality)
        durable = self._classifier.durable
        for number, picture in durable.pictures.add(stamp_of(message.header), source):
            self._classifier.learning.call(partial(keep_late_picture, durable, number, picture))
