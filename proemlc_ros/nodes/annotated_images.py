# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The pictures with labels and boxes drawn on them, as topics that every viewer shows."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image

from proemlc_ros.conversions import region_of
from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.pipeline import Sensor
from proemlc_ros.features.regions.drawing import Caption, drawn
from proemlc_ros.features.sensor_arrays import sample_of
from proemlc_ros.msg import Prediction
from proemlc_ros.stamps import stamp_of

TOPIC = '~/annotated_image'
# Every region of a picture is a prediction of its own.
PREDICTIONS_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
# Pictures that wait for predictions; a classifier that is slower than that misses them.
MAX_WAITING = 15
JPEG_QUALITY = 85


class AnnotatedImages:
    """Draws predictions on the pictures that they are about; idle while nobody subscribes.

    Args:
        node: to publish with.
        sensors: of the node; the pictures are those of the first camera.
        classifier: full name of the classifier.
    """

    def __init__(self, node: Node, sensors: Sequence[Sensor], classifier: str) -> None:
        self._node = node
        self._predictions = f'{classifier}/predictions'
        self._camera = next((sensor for sensor in sensors
                             if sensor.extractor.sensor == 'image'), None)
        self._plain = node.create_publisher(Image, TOPIC, 2)
        self._compressed = node.create_publisher(CompressedImage, f'{TOPIC}/compressed', 2)
        self._subscription: Any = None
        self._pictures: OrderedDict[int, Any] = OrderedDict()
        self._captions: OrderedDict[int, dict[Any, Caption]] = OrderedDict()

    def check(self) -> None:
        """Listen to predictions while somebody looks; call it regularly."""
        wanted = bool(self._plain.get_subscription_count()
                      or self._compressed.get_subscription_count())
        if wanted and self._subscription is None:
            self._subscription = self._node.create_subscription(
                Prediction, self._predictions, self._on_prediction, PREDICTIONS_QOS)
        elif not wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            self._pictures.clear()
            self._captions.clear()

    def add(self, name: str, message: Any) -> None:
        """Keep a picture of a sensor until its predictions come."""
        if self._subscription is None or self._camera is None or name != self._camera.name:
            return
        self._pictures[stamp_of(message.header)] = message
        if len(self._pictures) > MAX_WAITING:
            self._pictures.popitem(last=False)

    def _on_prediction(self, message: Prediction) -> None:
        stamp, region = stamp_of(message.header), region_of(message)
        found = self._captions.setdefault(stamp, {})
        found[region.box] = Caption(region, tuple(message.labels))
        if len(self._captions) > MAX_WAITING:
            self._captions.popitem(last=False)
        if len(found) >= message.region_count:
            self._publish(stamp, list(self._captions.pop(stamp).values()))

    def _publish(self, stamp: int, captions: list[Caption]) -> None:
        # It stays: a box that is drawn by hand comes after the others of its picture.
        message = self._pictures.get(stamp)
        if message is None or self._camera is None:
            return
        try:
            pixels = drawn(sample_of(message, self._camera.message_type), captions)
        except BadSensorDataError:
            return  # The feature node has counted and logged it.
        if self._plain.get_subscription_count():
            self._plain.publish(image_message(message.header, pixels))
        if self._compressed.get_subscription_count():
            self._compressed.publish(jpeg_message(message.header, pixels))


def image_message(header: Any, pixels: NDArray[np.uint8]) -> Image:
    """Return RGB pixels as an Image."""
    height, width = pixels.shape[:2]
    return Image(header=header, height=height, width=width, encoding='rgb8', step=3 * width,
                 data=array('B', pixels.tobytes()))


def jpeg_message(header: Any, pixels: NDArray[np.uint8]) -> CompressedImage:
    """Return RGB pixels as a CompressedImage."""
    _, data = cv2.imencode('.jpg', cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR),
                           (cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY))
    return CompressedImage(header=header, format='rgb8; jpeg compressed bgr8',
                           data=array('B', data.tobytes()))
