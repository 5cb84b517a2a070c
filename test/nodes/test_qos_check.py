# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When the watch over QoS warns, on graphs that discovery brings about by chance only."""

from __future__ import annotations

import time

import pytest

rclpy = pytest.importorskip('rclpy')

from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_msgs.msg import String

from proemlc_ros.nodes.qos_check import QosCheck

RELIABLE = QoSProfile(depth=1)
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
DEADLINE = QoSProfile(depth=1, deadline=Duration(seconds=1))


class Graph:
    """The part of a node that the watch asks, with endpoints as the test sets them."""

    def __init__(self) -> None:
        self.endpoints: dict[int, QoSProfile] = {}
        self.warnings: list[str] = []

    def count_subscribers(self, topic: str) -> int:
        return len(self.endpoints)

    def get_subscriptions_info_by_topic(self, topic: str) -> list[TopicEndpointInfo]:
        return [TopicEndpointInfo(node_name=f'node_{number}', node_namespace='/',
                                  endpoint_gid=[number] * 16, qos_profile=qos)
                for number, qos in self.endpoints.items()]

    get_publishers_info_by_topic = count_publishers = None  # The watch publishes.

    def get_logger(self) -> Graph:
        return self

    def warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def watch(graph) -> QosCheck:
    return QosCheck(graph, '/seen', BEST_EFFORT, publishing=True, advice='Do something.')


def test_a_subscriber_that_is_not_fully_discovered_is_looked_at_again(graph, watch):
    graph.endpoints = {1: DEADLINE}
    watch.look()
    graph.endpoints = {1: BEST_EFFORT}
    watch.look()
    watch.look()
    assert not graph.warnings


def test_one_that_only_seems_to_fit_at_first_is_found_out(graph, watch):
    graph.endpoints = {1: BEST_EFFORT}
    watch.look()
    graph.endpoints = {1: RELIABLE}
    watch.look()
    assert len(graph.warnings) == 1


def test_each_that_does_not_fit_is_told_once(graph, watch):
    graph.endpoints = {1: RELIABLE, 2: BEST_EFFORT}
    for _ in range(3):
        watch.look()
    warning, = graph.warnings
    assert warning.startswith('/node_1 subscribes to /seen with a QoS that does not fit')
    assert warning.endswith('Do something.')
    graph.endpoints[3] = DEADLINE
    for _ in range(3):
        watch.look()
    assert [text.split()[0] for text in graph.warnings] == ['/node_1', '/node_3']


def test_one_that_comes_back_is_told_again(graph, watch):
    graph.endpoints = {1: RELIABLE}
    for endpoints in ({1: RELIABLE}, {1: RELIABLE}, {}, {1: RELIABLE}, {1: RELIABLE}):
        graph.endpoints = endpoints
        watch.look()
    assert len(graph.warnings) == 2


def test_one_that_leaves_at_once_is_not_told(graph, watch):
    graph.endpoints = {1: RELIABLE}
    watch.look()
    graph.endpoints = {}
    watch.look()
    assert not graph.warnings


def test_a_real_graph_warns_of_what_does_not_fit_and_of_nothing_else(ros):
    node = rclpy.create_node('watching', context=ros)
    node.create_publisher(String, '/seen', BEST_EFFORT)
    told = Graph()
    node.get_logger = lambda: told
    watch = QosCheck(node, '/seen', BEST_EFFORT, publishing=True, advice='Do something.')
    fitting = rclpy.create_node('fitting', context=ros)
    fitting.create_subscription(String, '/seen', print, BEST_EFFORT)
    demanding = rclpy.create_node('demanding', context=ros)
    demanding.create_subscription(String, '/seen', print, RELIABLE)
    for _ in range(100):
        watch.look()
        if told.warnings:
            break
        time.sleep(0.05)
    for _ in range(3):
        watch.look()
    warning, = told.warnings
    assert warning.startswith('/demanding subscribes') and 'eliable' in warning
    assert 'deadline' not in warning
    for one in (node, fitting, demanding):
        one.destroy_node()
