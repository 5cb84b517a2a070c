# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A camera over a table: publishes pictures of coloured things at places that a test chooses."""

from __future__ import annotations

import threading
import time
from array import array

import cv2
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import Image

SIZE = (240, 320)
THINGS = {'cup': (220, 40, 30), 'plate': (40, 60, 210), 'ball': (240, 240, 235)}
RADIUS = 26


def table(places) -> np.ndarray:
    """Return a picture of things at places, (x, y) by name."""
    picture = np.full((*SIZE, 3), (150, 120, 90), np.uint8)
    for name, place in places.items():
        cv2.circle(picture, place, RADIUS, THINGS[name], -1)
    return picture


class TableCamera:
    """Publishes the table ten times a second, in a thread of its own."""

    def __init__(self, context, places, topic: str = 'camera/image'):
        self.places = dict(places)
        self.node = rclpy.create_node('table_camera', context=context)
        self._images = self.node.create_publisher(Image, topic, 5)
        self.node.create_timer(0.1, self._publish)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def _publish(self) -> None:
        message = Image(height=SIZE[0], width=SIZE[1], encoding='rgb8', step=3 * SIZE[1],
                        data=array('B', table(self.places).tobytes()))
        now = time.time_ns()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        self._images.publish(message)

    def close(self) -> None:
        self._executor.shutdown(5)
        self._thread.join(5)
        self.node.destroy_node()
