# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The camera's pictures for the page: those that belong to predictions, at a limited rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays import sample_of
from proemlc_ros.operator.pictures import CameraPicture, jpeg_of
from proemlc_ros.stamps import stamp_of

# Late pictures are of no use.
NEWEST = QoSProfile(depth=2, history=HistoryPolicy.KEEP_LAST,
                    reliability=ReliabilityPolicy.BEST_EFFORT)
# Seconds between searches for a camera while there is none.
SEARCH_PERIOD = 1.0
IMAGE_TYPES: dict[str, type] = {
    'sensor_msgs/msg/Image': Image, 'sensor_msgs/msg/CompressedImage': CompressedImage}
# Images that wait for their predictions; a prediction takes a few frames at most.
MAX_RECENT = 8
# Seconds after which pictures are shown although no prediction comes.
WITHOUT_PREDICTIONS = 0.5


class Camera:
    """Subscribes to a camera, named or found, and passes its pictures on.

    The picture passed on is the one with the stamp of the prediction that is about to be shown, so
    that the operator sees what the prediction is about. Where no picture has that stamp (features
    of a laser, say) it is the newest one.

    Args:
        node: to subscribe with.
        topic: of the camera; empty: the first topic of images found.
        max_rate: pictures per second.
        max_side: longest side of the pictures, in pixels.
        give: called with each picture, in the node's thread.
    """

    def __init__(self, node: Node, topic: str, max_rate: float, max_side: int,
                 give: Callable[[CameraPicture], None]) -> None:
        self._node = node
        self._wanted = node.resolve_topic_name(topic) if topic else ''
        self._period = 1 / max_rate
        self._max_side = max_side
        self._give = give
        self._subscription: Any = None
        self._kind = ''
        self._recent: OrderedDict[int, Any] = OrderedDict()
        self._last = float('-inf')
        self._search = node.create_timer(SEARCH_PERIOD, self._find)
        self._find()

    def show(self, stamp: int | None) -> None:
        """Pass on the picture of a stamp, or the newest one, at most at the maximum rate."""
        now = time.monotonic()
        if not self._recent or now - self._last < self._period:
            return
        newest = next(reversed(self._recent.values()))
        message = newest if stamp is None else self._recent.get(stamp, newest)
        self._last = now
        try:
            pixels = sample_of(message, self._kind)
        except BadSensorDataError as error:
            self._node.get_logger().warning(f'picture dropped: {error}', throttle_duration_sec=10)
            return
        self._give(CameraPicture(stamp_of(message.header), jpeg_of(pixels, self._max_side)))

    def _find(self) -> None:
        """Search for the camera, and again when its publishers are gone."""
        if self._subscription is not None:
            if self._node.count_publishers(self._subscription.topic_name) or self._wanted:
                return
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
        found = sorted(
            (topic, kind) for topic, names in self._node.get_topic_names_and_types()
            for kind in names
            if kind in IMAGE_TYPES and topic == (self._wanted or topic)
            and self._node.count_publishers(topic))
        if found:
            self._subscribe(*found[0])

    def _subscribe(self, topic: str, kind: str) -> None:
        self._recent.clear()
        self._kind = kind
        self._subscription = self._node.create_subscription(
            IMAGE_TYPES[kind], topic, self._on_image, NEWEST)
        self._node.get_logger().info(f'pictures from {topic} ({kind})')

    def _on_image(self, message: Any) -> None:
        self._recent[stamp_of(message.header)] = message
        if len(self._recent) > MAX_RECENT:
            self._recent.popitem(last=False)
        if time.monotonic() - self._last > WITHOUT_PREDICTIONS:
            self.show(None)
