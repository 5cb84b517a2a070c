# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
A camera and a feature extractor for tests of the operators' nodes, run as a process of its own.

Publishes pictures and feature vectors of the same stamps. The topic /scene sets which things lie
on the table, as letters: "AC" shows the things A and C; each takes a part of the vector. The
frame_id of a vector is the scene that it shows.
"""

import sys
from array import array

import cv2
import numpy as np
import rclpy
from proemlc_ros.msg import FeatureVector
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import Image
from std_msgs.msg import String

RATE = 25.0
WIDTH = 294
COLOURS = ((206, 74, 62), (58, 110, 186), (86, 152, 84), (226, 172, 58), (128, 84, 158))


class ScenePlayer(Node):
    """Shows a table with things on it."""

    def __init__(self):
        super().__init__('scene_player')
        self.random = np.random.default_rng(3)
        self.things = self.random.normal(size=(26, WIDTH)).astype(np.float32)
        self.scene = 'A'
        # The test must not miss any, not even those from before it was known to the publisher.
        self.features = self.create_publisher(FeatureVector, 'proemlc/features', QoSProfile(
            depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.images = self.create_publisher(Image, 'camera/image', qos_profile_sensor_data)
        self.create_subscription(String, 'scene', self.show, 10)
        self.create_timer(1 / RATE, self.look)

    def show(self, message):
        self.scene = message.data

    def look(self):
        stamp = self.get_clock().now().to_msg()
        values = self.random.normal(scale=0.1, size=WIDTH)
        for letter in self.scene:
            values += self.things[ord(letter) - ord('A')]
        features = FeatureVector(extractor='scene/1', source_topic=self.images.topic_name)
        features.header.stamp = stamp
        features.header.frame_id = self.scene
        features.data = array('f', values.astype(np.float32).tobytes())
        pixels = picture(self.scene)
        image = Image(height=pixels.shape[0], width=pixels.shape[1], encoding='rgb8',
                      step=3 * pixels.shape[1], data=array('B', pixels.tobytes()))
        image.header.stamp = stamp
        self.images.publish(image)
        self.features.publish(features)


def picture(scene):
    """Return the table as it looks from above."""
    pixels = np.full((240, 320, 3), (214, 198, 172), np.uint8)
    cv2.rectangle(pixels, (12, 12), (307, 227), (226, 212, 188), -1)
    for place, letter in enumerate(scene[:6]):
        colour = COLOURS[(ord(letter) - ord('A')) % len(COLOURS)]
        centre = (70 + 90 * (place % 3), 80 + 90 * (place // 3))
        if ord(letter) % 2:
            cv2.circle(pixels, centre, 34, colour, -1, cv2.LINE_AA)
        else:
            corner = tuple(value - 30 for value in centre)
            cv2.rectangle(pixels, corner, tuple(value + 30 for value in centre), colour, -1)
    return pixels


def main():
    rclpy.init()
    try:
        rclpy.spin(ScenePlayer())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
