# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The other side: sends vectors and waits for the answers."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Sequence

import numpy as np
import rclpy
from proemlc_ros.msg import FeatureVector, LabelAnnotation, Prediction
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy

WIDTH = 294


class Client:
    """Sends vectors and waits for the answers."""

    def __init__(self, names: Sequence[str] = ('echo', 'proemlc'),
                 reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_EFFORT) -> None:
        if not rclpy.ok():
            rclpy.init()
        self.node = rclpy.create_node('client')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.message = FeatureVector()
        self.message.data = array('f', np.random.default_rng(1).normal(size=WIDTH))
        self.received = 0
        self.predictions = 0
        self.sent = 0
        self.publishers = {}
        # Room for a burst, so that the rate is the node's and not that of lost messages.
        qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
        heard = QoSProfile(depth=100, reliability=reliability)
        for name in names:
            self.publishers[name] = self.node.create_publisher(
                FeatureVector, f'/{name}/features', qos)
            self.node.create_subscription(
                Prediction, f'/{name}/predictions', self._receive, heard)

    def _receive(self, message: object) -> None:
        self.received = message.header.stamp.sec
        self.predictions += 1

    def listen_to_learnt(self) -> list[object]:
        """Begin the stream; return the list of what is learnt from now on."""
        learnt: list[object] = []
        self.node.create_subscription(
            LabelAnnotation, '/proemlc/learnt', learnt.append, 1000)
        self.annotations = self.node.create_publisher(
            LabelAnnotation, '/proemlc/annotations', 1000)
        self.annotation = LabelAnnotation(labels=['label 1'])
        while not (self.annotations.get_subscription_count()
                   and self.node.count_publishers('/proemlc/learnt')):
            self.executor.spin_once(0.1)
        self.predictions = 0
        return learnt

    def burst(self, count: int) -> None:
        """Send vectors, the last one annotated, and wait for as many answers."""
        expected = self.predictions + count
        for _ in range(count):
            self.sent += 1
            self.message.header.stamp.sec = self.sent
            self.publishers['proemlc'].publish(self.message)
        self.annotation.header.stamp.sec = self.sent
        self.annotations.publish(self.annotation)
        deadline = time.perf_counter() + 1.0
        while self.predictions < expected and time.perf_counter() < deadline:
            self.executor.spin_once(0.01)

    def drain(self) -> None:
        """Take what is still on its way."""
        deadline = time.perf_counter() + 2.0
        while time.perf_counter() < deadline:
            self.executor.spin_once(0.05)

    def ping(self, name: str, timeout: float = 1.0) -> float | None:
        """Return the seconds of one round trip, None where no answer came."""
        self.sent += 1
        self.message.header.stamp.sec = self.sent
        start = time.perf_counter()
        self.publishers[name].publish(self.message)
        while self.received != self.sent:
            self.executor.spin_once(timeout)
            if time.perf_counter() - start > timeout:
                return None
        return time.perf_counter() - start

    def connect(self, name: str) -> None:
        """Wait until a node answers."""
        deadline = time.time() + 60
        while self.ping(name, 0.2) is None:
            if time.time() > deadline:
                sys.exit(f'{name} does not answer')

    def close(self) -> None:
        """Leave the graph."""
        self.node.destroy_node()
