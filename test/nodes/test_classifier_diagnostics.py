# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When the QoS check warns: on graphs that the test makes up, and on a real one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

rclpy = pytest.importorskip('rclpy')

from dashboard_stand import wait_until
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_msgs.msg import String

from proemlc_ros.nodes.classifier_diagnostics import QosCheck

RELIABLE = QoSProfile(depth=1)
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
DEADLINE = QoSProfile(depth=1, deadline=Duration(seconds=1))


@dataclass
class Endpoint:
    """A subscriber of the graph."""

    qos: QoSProfile
    node: str


class Graph:
    """The part of a node that the check asks, with subscribers as the test sets them."""

    def __init__(self) -> None:
        self.endpoints: dict[int, Endpoint] = {}
        self.warnings: list[str] = []

    def set(self, **qos: QoSProfile) -> None:
        """Set the subscribers: one per node name, with a number of its own at the end."""
        self.endpoints = {int(name[-1]): Endpoint(profile, name) for name, profile in qos.items()}

    def get_subscriptions_info_by_topic(self, topic: str) -> list[TopicEndpointInfo]:
        return [TopicEndpointInfo(node_name=endpoint.node, node_namespace='/',
                                  endpoint_gid=[number] * 16, qos_profile=endpoint.qos)
                for number, endpoint in self.endpoints.items()]

    get_publishers_info_by_topic = None  # The node of these tests publishes.

    def get_logger(self) -> Graph:
        return self

    def warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def qos_check(graph) -> QosCheck:
    return QosCheck(graph, '/seen', BEST_EFFORT, publishing=True, advice='Do something.')


def test_a_subscriber_is_named_though_the_graph_learns_its_name_late(graph, qos_check):
    graph.endpoints = {1: Endpoint(RELIABLE, '_NODE_NAME_UNKNOWN_')}
    for _ in range(5):
        qos_check.check()
    assert not graph.warnings
    graph.endpoints[1].node = 'viewer'
    qos_check.check()
    warning, = graph.warnings
    assert warning.startswith('/viewer subscribes')


def test_one_that_never_gets_a_name_is_warned_of_all_the_same(graph, qos_check):
    graph.endpoints = {1: Endpoint(RELIABLE, '_NODE_NAME_UNKNOWN_')}
    for _ in range(30):
        qos_check.check()
    assert len(graph.warnings) == 1


def test_each_incompatible_subscriber_is_warned_of_once(graph, qos_check):
    graph.set(node_1=RELIABLE, node_2=BEST_EFFORT)
    for _ in range(3):
        qos_check.check()
    warning, = graph.warnings
    assert warning.startswith('/node_1 subscribes to /seen with an incompatible QoS')
    assert warning.endswith('Do something.')
    graph.set(node_1=RELIABLE, node_2=BEST_EFFORT, node_3=DEADLINE)
    for _ in range(3):
        qos_check.check()
    assert [text.split()[0] for text in graph.warnings] == ['/node_1', '/node_3']


def test_the_advice_is_about_the_policy_that_differs(graph, qos_check):
    graph.set(node_1=RELIABLE, node_2=DEADLINE, node_3=QoSProfile(
        depth=1, reliability=ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL))
    for _ in range(3):
        qos_check.check()
    reliable, deadline, durable = sorted(graph.warnings)
    assert reliable.endswith('Do something.')
    assert deadline.endswith('Subscribe without a deadline.')
    assert 'Do something' not in durable
    assert 'Subscribe with durability volatile' in durable


def test_one_that_takes_the_place_of_another_is_warned_of(graph, qos_check):
    graph.set(node_1=BEST_EFFORT)
    for _ in range(3):
        qos_check.check()
    graph.set(node_2=RELIABLE)
    for _ in range(3):
        qos_check.check()
    assert [text.split()[0] for text in graph.warnings] == ['/node_2']


def test_one_that_comes_back_is_warned_of_again(graph, qos_check):
    for subscribers in ({'node_1': RELIABLE}, {'node_1': RELIABLE}, {}, {'node_1': RELIABLE},
                        {'node_1': RELIABLE}):
        graph.set(**subscribers)
        qos_check.check()
    assert len(graph.warnings) == 2


def test_one_that_leaves_at_once_is_not_warned_of(graph, qos_check):
    graph.set(node_1=RELIABLE)
    qos_check.check()
    graph.set()
    qos_check.check()
    assert not graph.warnings


def test_a_real_graph_shows_incompatible_subscribers_and_no_others(ros):
    node = rclpy.create_node('publishing', context=ros)
    node.create_publisher(String, '/seen', BEST_EFFORT)
    log = Graph()
    node.get_logger = lambda: log
    qos_check = QosCheck(node, '/seen', BEST_EFFORT, publishing=True, advice='Do something.')
    compatible = rclpy.create_node('compatible', context=ros)
    compatible.create_subscription(String, '/seen', print, BEST_EFFORT)
    demanding = rclpy.create_node('demanding', context=ros)
    demanding.create_subscription(String, '/seen', print, RELIABLE)
    wait_until(lambda: node.count_subscribers('/seen') == 2, 'two subscribers')
    for _ in range(3):
        qos_check.check()
    warning, = log.warnings
    assert warning.startswith('/demanding subscribes') and 'eliable' in warning
    assert 'deadline' not in warning
    for one in (node, compatible, demanding):
        one.destroy_node()
