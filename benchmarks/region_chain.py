# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ten boxes a picture over DDS: from the picture to the last of its predictions.

./proemlc run python benchmarks/regions.py chain
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from proemlc_ros.msg import FeatureVector, Prediction, Region, RegionArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image

from proemlc_ros.demo.processes import Processes, own_domain
from proemlc_ros.stamps import stamp_of

BOXES = 10
HEIGHT, WIDTH = 480, 640
ENOUGH = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)


class Detector(Node):
    """Publishes pictures with their boxes, and waits for the answers about all of them."""

    def __init__(self) -> None:
        """Prepare one picture, sent again with a new stamp each time."""
        super().__init__('bench')
        self.images = self.create_publisher(Image, 'bench/image', 10)
        self.regions = self.create_publisher(RegionArray, 'bench/regions', 10)
        self.vectors: Counter[int] = Counter()
        self.answers: Counter[int] = Counter()
        self.create_subscription(FeatureVector, 'proemlc/features', self._on_vector, ENOUGH)
        self.create_subscription(Prediction, 'proemlc/predictions', self._on_prediction, ENOUGH)
        pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        self._data = array('B', pixels.tobytes())
        self._boxes = [Region(id=str(place), center_x=WIDTH * (0.2 + 0.06 * place),
                              center_y=HEIGHT / 2, size_x=WIDTH / 4, size_y=HEIGHT / 2)
                       for place in range(BOXES)]

    def _on_vector(self, message: FeatureVector) -> None:
        self.vectors[stamp_of(message.header)] += 1

    def _on_prediction(self, message: Prediction) -> None:
        self.answers[stamp_of(message.header)] += 1

    def show(self, number: int, seconds: float = 20.0) -> float:
        """Publish a picture; return the seconds until all of its boxes are answered."""
        message = Image(height=HEIGHT, width=WIDTH, encoding='rgb8', step=3 * WIDTH,
                        data=self._data)
        message.header.stamp.sec = number
        boxes = RegionArray(header=message.header, regions=self._boxes)
        started = time.perf_counter()
        self.images.publish(message)
        self.regions.publish(boxes)
        while self.answers[number * 10**9] < BOXES:
            if time.perf_counter() - started > seconds:
                return float('nan')
            rclpy.spin_once(self, timeout_sec=0.05)
        return time.perf_counter() - started


def measure_chain(camera: dict[str, Any], rounds: int = 40) -> None:
    """Print the latency of ten boxes a picture.

    Args:
        camera: settings of the feature node's camera.
        rounds: pictures.
    """
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    settings = {**camera, 'topic': 'bench/image', 'regions': 'topic',
                'regions_topic': 'bench/regions', 'tracks': False}
    with own_domain(), tempfile.TemporaryDirectory() as folder:
        parameters = Path(folder, 'features.yaml')
        parameters.write_text(json.dumps({'/**': {'ros__parameters': {
            'sensors': ['camera'], 'camera': settings}}}))
        with Processes(Path(folder)) as processes:
            processes.start('feature_node', '--ros-args', '--params-file', str(parameters))
            processes.start('classifier_node', '--ros-args', '-p', f'model_directory:={folder}')
            rclpy.init()
            node = Detector()
            deadline = time.monotonic() + 60
            while not (node.images.get_subscription_count()
                       and node.regions.get_subscription_count()
                       and node.count_publishers('proemlc/predictions')):
                assert time.monotonic() < deadline, 'the nodes did not start'
                rclpy.spin_once(node, timeout_sec=0.1)
            for number in range(1, 4):
                node.show(number)  # Warms up, and lets the queues match.
            spent = [node.show(number) for number in range(4, 4 + rounds)]
            node.destroy_node()
            rclpy.shutdown()
    whole = [one for one in spent if one == one]
    print(f'over DDS: {BOXES} boxes of a 640 x 480 picture, picture to last prediction: median '
          f'{np.median(whole) * 1e3:.1f} ms, 95 % {np.percentile(whole, 95) * 1e3:.1f} ms; '
          f'{len(spent) - len(whole)} of {len(spent)} pictures incomplete')
