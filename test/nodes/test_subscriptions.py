# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A subscription that waits for its publishers, and takes the reliability that they offer.

A reader that follows a best-effort one as a reliable one gets stuck for ever in Fast DDS where it
is made in the middle of a picture, so what counts here is which readers there ever were.
"""

import pytest

rclpy = pytest.importorskip('rclpy')

from dashboard_stand import wait_until
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from proemlc_ros.nodes import subscriptions
from proemlc_ros.nodes.subscriptions import MatchedSubscription

BEST_EFFORT, RELIABLE = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE


class Listener:
    """A node with a matched subscription, and all reliabilities that it ever subscribed with."""

    def __init__(self, context):
        self.node = rclpy.create_node('listener', context=context)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.received, self.readers = [], []
        subscribe = self.node.create_subscription

        def recording(kind, topic, take, profile, **others):
            self.readers.append(profile.reliability)
            return subscribe(kind, topic, take, profile, **others)

        self.node.create_subscription = recording

    def follow(self, reliability='automatic'):
        return MatchedSubscription(self.node, String, 'words', self.received.append,
                                   reliability=reliability)

    def publisher(self, reliability):
        return self.node.create_publisher(
            String, 'words', QoSProfile(depth=10, reliability=reliability))

    def spin_until(self, condition, what):
        wait_until(lambda: self.executor.spin_once(0.02) or condition(), what)

    def hear(self, publisher, word):
        self.spin_until(lambda: publisher.publish(String(data=word)) or any(
            message.data == word for message in self.received), f'the word {word}')


@pytest.fixture
def listener(ros):
    listener = Listener(ros)
    yield listener
    listener.executor.shutdown()
    listener.node.destroy_node()


@pytest.mark.parametrize('offered', [BEST_EFFORT, RELIABLE])
def test_it_waits_for_a_publisher_and_subscribes_once_as_that_offers(listener, offered):
    listener.follow()
    for _ in range(20):
        listener.executor.spin_once(0.02)
    assert listener.readers == []
    publisher = listener.publisher(offered)
    listener.hear(publisher, 'first')
    assert listener.readers == [offered]


def test_one_best_effort_publisher_makes_it_best_effort_for_good(listener):
    found = listener.follow()
    listener.hear(listener.publisher(RELIABLE), 'reliable')
    poor = listener.publisher(BEST_EFFORT)
    listener.spin_until(lambda: found.check() or len(listener.readers) == 2, 'the change')
    listener.hear(poor, 'poor')
    listener.node.destroy_publisher(poor)
    listener.spin_until(lambda: listener.node.count_publishers('words') == 1, 'one publisher')
    for _ in range(5):
        found.check()
    assert listener.readers == [RELIABLE, BEST_EFFORT]


@pytest.mark.parametrize('reliability, wanted',
                         [('best_effort', BEST_EFFORT), ('reliable', RELIABLE)])
def test_a_given_reliability_subscribes_at_once_and_stays(listener, reliability, wanted):
    found = listener.follow(reliability)
    assert listener.readers == [wanted]
    listener.hear(listener.publisher(RELIABLE), 'word')
    found.check()
    assert listener.readers == [wanted]


def test_one_that_ends_before_it_found_a_publisher_never_subscribes(listener):
    listener.follow().destroy()
    listener.publisher(RELIABLE)
    for _ in range(20):
        listener.executor.spin_once(0.02)
    assert listener.readers == []


@pytest.mark.parametrize('reliability', ['automatic', 'best_effort'])
def test_a_topic_that_nobody_publishes_is_warned_of_once_with_those_that_are(
        listener, reliability, monkeypatch):
    warnings = []
    monkeypatch.setattr(subscriptions, 'log_warning', lambda logger, text: warnings.append(text))
    monkeypatch.setattr(subscriptions, '_SILENCE', 0.2)
    listener.node.create_publisher(String, 'wards', 1)
    found = MatchedSubscription(listener.node, String, 'worbs', print, reliability=reliability,
                                types=['std_msgs/msg/String'])
    listener.spin_until(lambda: found.check() or warnings, 'the warning')
    for _ in range(5):
        found.check()
    assert warnings == ['Nobody publishes /worbs; is the name right? std_msgs/msg/String is '
                        'published on /wards.']


def test_a_topic_that_is_published_is_not_warned_of(listener, monkeypatch):
    monkeypatch.setattr(subscriptions, 'log_warning', lambda logger, text: pytest.fail(text))
    monkeypatch.setattr(subscriptions, '_SILENCE', 0.0)
    listener.node.create_publisher(String, 'words', 1)
    listener.spin_until(lambda: listener.node.count_publishers('words'), 'the publisher')
    found = MatchedSubscription(listener.node, String, 'words', print,
                                types=['std_msgs/msg/String'])
    for _ in range(5):
        found.check()
