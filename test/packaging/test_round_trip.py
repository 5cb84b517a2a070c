# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Each message and service, with all fields set, over DDS to another process and back."""

import time
from pathlib import Path

import pytest
from interface_samples import LATCHED, message_types, sample, service_types

rclpy = pytest.importorskip('rclpy')
TIMEOUT = 240.0


def spin_until(executor, condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition() and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.05)
    return condition()


@pytest.fixture
def tester(ros, start_process):
    """Return a node and its executor, with the echo ready in another process."""
    start_process('python', Path(__file__).with_name('echo_node.py')).wait_for('ready')
    node = rclpy.create_node('tester', context=ros)
    executor = rclpy.executors.SingleThreadedExecutor(context=ros)
    executor.add_node(node)
    yield node, executor
    executor.shutdown()
    node.destroy_node()


def test_every_message_comes_back_equal(tester):
    node, executor = tester
    received = {}
    for name, kind in message_types().items():
        node.create_subscription(
            kind, f'back/{name}', lambda message, name=name: received.update({name: message}),
            LATCHED)
        assert sample(kind) != kind()
        node.create_publisher(kind, f'there/{name}', LATCHED).publish(sample(kind))
    assert spin_until(executor, lambda: len(received) == len(message_types())), received.keys()
    for name, kind in message_types().items():
        assert received[name] == sample(kind)


def test_every_service_carries_request_and_answer(tester):
    node, executor = tester
    for name, kind in service_types().items():
        client = node.create_client(kind, f'call/{name}')
        assert client.wait_for_service(TIMEOUT)
        future = client.call_async(sample(kind.Request))
        assert spin_until(executor, future.done)
        assert future.result() == sample(kind.Response)
