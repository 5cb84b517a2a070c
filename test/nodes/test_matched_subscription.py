# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A subscription that follows its publishers, and leaves a reader that is stuck."""

import pytest

rclpy = pytest.importorskip('rclpy')

from dashboard_stand import wait_until
from std_msgs.msg import String

from proemlc_ros.nodes.matched_subscription import MatchedSubscription


@pytest.fixture
def node(ros):
    node = rclpy.create_node('listener', context=ros)
    yield node
    node.destroy_node()


@pytest.fixture
def publisher(node):
    return node.create_publisher(String, 'words', 10)


def subscribed(node, publisher):
    """Return a subscription that has found its publisher, and what it receives."""
    received = []
    found = MatchedSubscription(node, String, 'words', received.append, reliability='reliable')
    wait_until(lambda: publisher.get_subscription_count() == 1, 'the subscription')
    return found, received


def test_a_message_that_cannot_be_taken_makes_it_subscribe_again(node, publisher, capfd):
    found, received = subscribed(node, publisher)
    # Nobody takes it, as from a reader that only says that it has one.
    publisher.publish(String(data='stuck'))
    wait_until(found._has_message, 'the message')
    for _ in range(3):
        found.check()
    assert 'holds back all others: subscribed again' in capfd.readouterr().err
    assert not found._has_message()
    wait_until(lambda: publisher.get_subscription_count() == 1, 'the new subscription')
    executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    wait_until(lambda: publisher.publish(String(data='next')) or executor.spin_once(0.1)
               or received, 'the next message')
    assert received[0].data == 'next'


def test_one_whose_messages_are_taken_stays(node, publisher, capfd):
    found, received = subscribed(node, publisher)
    executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    for number in range(1, 6):
        publisher.publish(String(data='word'))
        wait_until(lambda number=number: executor.spin_once(0.1) or len(received) == number,
                   'the message')
        publisher.publish(String(data='waits'))  # there is always one more
        wait_until(found._has_message, 'one more')
        found.check()
        wait_until(lambda number=number: executor.spin_once(0.1) or len(received) > number,
                   'one more')
        received.pop()
    assert 'subscribed again' not in capfd.readouterr().err
