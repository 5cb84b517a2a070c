# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Camera image to prediction over DDS, beside a bare node that answers each image at once.

./proemlc run python benchmarks/features.py --chain
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import rclpy
from proemlc_ros.msg import Prediction
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image

from proemlc_ros.demo.processes import Processes

PARAMETERS = """
/**:
  ros__parameters:
    sensors: [camera]
    camera: {topic: bench/image, extractor: colour_moments, reliability: reliable}
"""
ECHO = """
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image
from proemlc_ros.msg import Prediction
rclpy.init()
node = rclpy.create_node('echo')
best_effort = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
publisher = node.create_publisher(Prediction, 'proemlc/predictions', best_effort)
node.create_subscription(
    Image, 'bench/image', lambda m: publisher.publish(Prediction(header=m.header)),
    QoSProfile(depth=5))
rclpy.spin(node)
"""


class Camera(Node):
    """Publishes images and counts the predictions that come back."""

    def __init__(self, pixels: np.ndarray) -> None:
        """Prepare one image, sent again with a new stamp each time."""
        super().__init__('bench')
        profile = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._publisher = self.create_publisher(Image, 'bench/image', QoSProfile(depth=20))
        self.create_subscription(
            Prediction, 'proemlc/predictions', self._on_prediction, profile)
        height, width = pixels.shape[:2]
        self._image = Image(height=height, width=width, step=3 * width, encoding='rgb8',
                            data=array('B', pixels.tobytes()))
        self._newest = 0
        self.sent = 0
        # Kept: rclpy.spin_once() takes the node into an executor and out of it each time.
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)

    def _on_prediction(self, message: Prediction) -> None:
        self._newest = max(self._newest, message.header.stamp.sec)

    def round_trip(self, patience: float) -> float | None:
        """Send an image and return the seconds until its prediction, None where it was lost."""
        self.sent += 1
        self._image.header.stamp.sec = self.sent
        start = time.perf_counter()
        self._publisher.publish(self._image)
        while self._newest < self.sent:
            if time.perf_counter() - start > patience:
                return None
            self._executor.spin_once(timeout_sec=0.05)
        return time.perf_counter() - start

    def send_window(self, in_flight: int, patience: float = 2.0) -> int:
        """Send images until one more is answered; return how many were answered meanwhile."""
        answered = self._newest
        while self.sent - self._newest < in_flight:
            self.sent += 1
            self._image.header.stamp.sec = self.sent
            self._publisher.publish(self._image)
        deadline = time.perf_counter() + patience
        while self._newest == answered and time.perf_counter() < deadline:
            self._executor.spin_once(timeout_sec=0.05)
        if self._newest == answered:
            self._newest = self.sent  # lost; go on
            return 0
        return self._newest - answered

    def measure(self, seconds: float) -> tuple[float, float]:
        """Return images per second, one in flight, and the median round trip in seconds."""
        deadline = time.monotonic() + 60
        while self.round_trip(1.0) is None:
            if time.monotonic() > deadline:
                raise SystemExit('the chain does not answer; is another node using its names?')
        times = []
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            took = self.round_trip(2.0)
            times += [] if took is None else [took]
        return len(times) / (time.perf_counter() - start), float(np.median(times))


@contextmanager
def bare_echo() -> Iterator[None]:
    """Run a node that answers each image with an empty prediction."""
    process = subprocess.Popen([sys.executable, '-c', ECHO])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def whole_chain() -> Iterator[dict[str, int]]:
    """Run the feature node and the classifier node; yield their process numbers."""
    with tempfile.TemporaryDirectory() as folder:
        parameters = Path(folder, 'parameters.yaml')
        parameters.write_text(PARAMETERS)
        with Processes(Path(folder)) as processes:
            processes.start('feature_node', '--ros-args', '--params-file', parameters)
            processes.start(
                'classifier_node', '--ros-args', '-p', f'model_directory:={folder}/model')
            yield processes.pids


def processor_time(pid: int) -> float:
    """Return the processor time of a process in seconds."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def measure_chain(pixels: np.ndarray, seconds: float = 10.0) -> None:
    """Print images per second through the chain and through the bare node."""
    rclpy.init()
    camera = Camera(pixels)
    with bare_echo():
        echo_rate, echo_time = camera.measure(seconds)
    with whole_chain() as pids:
        camera.measure(1.0)
        before = {name: processor_time(pid) for name, pid in pids.items()}
        sent = camera.sent
        chain_rate, chain_time = camera.measure(seconds)
        costs = {name: (processor_time(pid) - before[name]) / (camera.sent - sent)
                 for name, pid in pids.items()}
    print(f'image to prediction over DDS, one {pixels.shape[1]}x{pixels.shape[0]} rgb8 in flight: '
          f'{chain_rate:.0f} images/s, {chain_time * 1e3:.1f} ms')
    print(f'  a bare node that answers each image: {echo_rate:.0f} images/s, '
          f'{echo_time * 1e3:.1f} ms (ratio of the times {chain_time / echo_time:.2f})')
    print('  processor time per image: ' + ', '.join(
        f'{name} {cost * 1e3:.1f} ms' for name, cost in costs.items()))
    rclpy.try_shutdown()
