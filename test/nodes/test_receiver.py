# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A receiver rests while nothing comes, also after messages were lost."""

from __future__ import annotations

import sys
import threading
import time

import pytest

rclpy = pytest.importorskip('rclpy')

from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_process import DEADLINE
from std_msgs.msg import UInt8MultiArray

from proemlc_ros.nodes.subscriptions import Receiver

# Large messages at once, numbered, until told to stop: with best effort, some of them are lost
# between two processes.
PUBLISHER = """
import array
import pathlib
import sys
import threading
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import UInt8MultiArray

rclpy.init()
node = rclpy.create_node('publisher')
qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
publisher = node.create_publisher(UInt8MultiArray, '/burst', qos)
while not publisher.get_subscription_count():
    pass
message = UInt8MultiArray(data=array.array('B', bytes(1_000_000)))
while not pathlib.Path(sys.argv[1]).exists():
    for _ in range(50):
        message.layout.data_offset += 1
        publisher.publish(message)
print('published')
threading.Event().wait()
"""
# Seconds in which nothing more may come, nor be looked for.
REST = 0.5


class CountingReceiver(Receiver):
    """Counts how often it looks for a message."""

    looks = 0

    def _receive(self, subscription: object) -> bool:
        self.looks += 1
        return super()._receive(subscription)


def test_lost_messages_do_not_keep_it_busy(ros, start_process, tmp_path):
    node = rclpy.create_node('subscriber', context=ros)
    numbers = []
    receiver = CountingReceiver(node, UInt8MultiArray, '/burst',
                                lambda message: numbers.append(message.layout.data_offset),
                                QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    publisher = start_process(sys.executable, '-c', PUBLISHER, tmp_path / 'enough')
    deadline = time.monotonic() + DEADLINE
    while len(numbers) < 2 or numbers[-1] - numbers[0] < len(numbers):
        assert time.monotonic() < deadline, 'no message was lost'
        time.sleep(0.01)
    (tmp_path / 'enough').touch()
    publisher.wait_for('published')
    looks = looks_at_rest(receiver)
    assert receiver.lost, 'no message was lost: this shows nothing'
    assert looks == 0
    receiver.destroy()
    node.destroy_node()


def looks_at_rest(receiver: CountingReceiver) -> int:
    """Return how often it looks in a while; once more where something still came before."""
    for _ in range(20):
        before = receiver.looks
        threading.Event().wait(REST)
        looks = receiver.looks - before
        if not looks:
            break
    return looks
