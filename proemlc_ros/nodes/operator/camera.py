# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The camera's pictures for the page: those that predictions are about, at a limited rate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.validate_full_topic_name import validate_full_topic_name

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays import jpeg_of, sample_of
from proemlc_ros.foreign_text import shown
from proemlc_ros.nodes.subscriptions import CameraSubscription
from proemlc_ros.operator.recent import CameraPicture
from proemlc_ros.stamps import StampBuffer, stamp_of

# Seconds between looks at the publishers of the camera's topic.
CHECK_PERIOD = 1.0
# Pictures that wait for their predictions, and the other way round: two seconds of a camera.
MAX_PAIRED = 60
# Bytes of these pictures.
MAX_BYTES = 64_000_000
# A camera at just the maximum rate has some jitter.
EARLY = 0.8
# Seconds without a pair after which the page says so.
PATIENCE = 2.0
NOT_NAMED = ('The feature vectors do not name the camera that they are made of. The robot’s owner '
             'can set image_topic of the dashboard.')


class Camera:
    """Subscribes to the camera that the predictions name, and passes on what they are about.

    A picture is passed on with the stamp of its prediction, so that the operator sees what is
    taught. Where no picture has the stamp, none is passed on, and `note` gets the reason.

    Args:
        node: to subscribe with.
        topic: of the camera; empty: the one that the predictions name.
        max_rate: pictures per second.
        max_side: longest side of the pictures, in pixels.
        give: called with each picture, in the node's thread.
        note: called with why there is no picture, in the node's thread; empty: there is one.
        heard: called with the time of each image, whether it is shown or not.
        tolerance: seconds that a picture may be older or newer than its prediction.
    """

    def __init__(self, node: Node, topic: str, max_rate: float, max_side: int,
                 give: Callable[[CameraPicture], None], note: Callable[[str], None],
                 heard: Callable[[float], None], tolerance: float = 0.0) -> None:
        self._node = node
        self._fixed = bool(topic)
        self._period = EARLY / max_rate
        self._max_side = max_side
        self._give = give
        self._note = note
        self._heard = heard
        self._camera = CameraSubscription(node, self._on_image)
        self._camera.follow(topic, warn=True)
        self._pictures: StampBuffer[tuple[Any, str]] = StampBuffer(
            MAX_PAIRED, MAX_BYTES, tolerance=round(tolerance * 1e9))
        # Stamps of predictions whose pictures have not come yet.
        self._waiting: StampBuffer[int] = StampBuffer(
            MAX_PAIRED, tolerance=round(tolerance * 1e9))
        self._last = self._paired = float('-inf')
        self._predicted = self._named = self._received = float('-inf')
        node.create_timer(CHECK_PERIOD, self._check)
        self._check()

    def show(self, stamp: int, source: str, always: bool = False) -> None:
        """Pass on the picture of a prediction, at most at the maximum rate.

        Args:
            stamp: of the prediction.
            source: topic that it names; empty: none.
            always: whether it is wanted beyond the rate.
        """
        self._predicted = now = time.monotonic()
        if source == self._camera.topic:
            self._named = now
        elif not self._fixed:
            if self._camera.topic and now - self._named <= PATIENCE:
                return  # Not at once: the vectors of two cameras may come in turn.
            self._follow(source)
            self._named = now
        message = self._pictures.find(stamp)
        if message is not None:
            self._pass_on(stamp, message, always)
        elif not always:
            self._waiting.put(stamp, stamp)

    def _follow(self, topic: str) -> None:
        """Go over to another camera."""
        self._camera.follow(topic if _is_valid(topic) else '')
        self._pictures.clear()
        self._waiting.clear()
        self._received = self._paired = float('-inf')
        self._check()

    def _pass_on(self, stamp: int, message: tuple[Any, str], always: bool = False) -> None:
        now = time.monotonic()
        self._paired = now
        self._note('')
        if now - self._last < self._period and not always:
            return
        self._last = now
        try:
            pixels = sample_of(*message)
        except BadSensorDataError as error:
            self._node.get_logger().warning(f'picture dropped: {error}', throttle_duration_sec=10)
            self._note(f'The pictures of {shown(self._camera.topic)} cannot be shown: {error}')
            return
        height, width = pixels.shape[:2]
        self._give(CameraPicture(stamp, jpeg_of(pixels, self._max_side), (width, height)))

    def _check(self) -> None:
        """Follow the publishers of the topic, and say what is missing."""
        self._camera.check()
        now = time.monotonic()
        if now - self._paired > PATIENCE:
            self._note(self._reason(now))

    def _on_image(self, message: Any, kind: str) -> None:
        self._received = time.monotonic()
        self._heard(self._received)
        stamp = stamp_of(message.header)
        self._pictures.put(stamp, (message, kind), len(message.data))
        waited = self._waiting.pop(stamp)
        if waited is not None:
            self._pass_on(waited, (message, kind))

    def _reason(self, now: float) -> str:
        topic = shown(self._camera.topic)
        if not self._camera.topic:
            return NOT_NAMED if now - self._predicted < PATIENCE else ''
        if missing := self._camera.missing():
            return missing
        if now - self._received > PATIENCE:
            return f'No picture comes from {topic}.'
        if now - self._predicted > PATIENCE:
            return f'Pictures come from {topic}, but no predictions about them.'
        return (f'No picture of {topic} has the stamp of a prediction, so none is shown beside '
                'them.')


def _is_valid(topic: str) -> bool:
    """Tell whether a name from a message can be subscribed to."""
    try:
        return bool(topic) and bool(validate_full_topic_name(topic))
    except (InvalidTopicNameException, ValueError):
        return False
