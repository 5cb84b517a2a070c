# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Warns of publishers and subscribers whose QoS does not fit: in DDS that means silence.

The graph is looked at now and then. The events of DDS would tell the same, but wake the node's
executor for every message of the topic that they belong to.

An endpoint is judged at its second sight: when it has just been discovered, the graph may show it
with a QoS that is not its own yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.duration import Duration, Infinite
from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible


class QosCheck:
    """Looks after one topic.

    Args:
        node: whose topic it is.
        topic: fully qualified name.
        ours: the QoS that the node uses.
        publishing: whether the node publishes the topic; else it subscribes.
        advice: what to do, in words.
    """

    def __init__(self, node: Node, topic: str, ours: QoSProfile, publishing: bool,
                 advice: str) -> None:
        self._node = node
        self._topic = topic
        self._ours = ours
        self._publishing = publishing
        self._advice = advice
        self._count = 0
        self._newcomers: set[bytes] = set()
        self._judged: set[bytes] = set()
        self._others: Callable[[str], list[Any]] = (
            node.get_subscriptions_info_by_topic if publishing
            else node.get_publishers_info_by_topic)

    def look(self) -> None:
        """Warn of those that were new at the last look and do not fit; call it regularly."""
        count = (self._node.count_subscribers(self._topic) if self._publishing
                 else self._node.count_publishers(self._topic))
        if count == self._count and not self._newcomers:
            return
        self._count = count
        others = {bytes(other.endpoint_gid): other for other in self._others(self._topic)}
        for identity in self._newcomers & others.keys():
            self._judge(others[identity])
        self._judged = (self._judged | self._newcomers) & others.keys()
        self._newcomers = others.keys() - self._judged

    def _judge(self, other: Any) -> None:
        theirs = _without_infinity(other.qos_profile)
        pair = (self._ours, theirs) if self._publishing else (theirs, self._ours)
        verdict, reason = qos_check_compatible(*pair)
        if verdict == QoSCompatibility.ERROR:
            self._warn(other, reason)

    def _warn(self, other: Any, reason: str) -> None:
        who = f'{other.node_namespace.rstrip("/")}/{other.node_name}'
        role = 'subscribes to' if self._publishing else 'publishes'
        self._node.get_logger().warning(
            f'{who} {role} {self._topic} with a QoS that does not fit, so nothing will be heard '
            f'({reason.strip().rstrip(";")}). {self._advice}')


def _without_infinity(profile: QoSProfile) -> QoSProfile:
    """Return a profile of the graph with times that are not limited as those that are not set.

    The graph tells "never" for a deadline that nobody asked for, and the check for compatibility
    takes that for a deadline.
    """
    for name in ('deadline', 'lifespan', 'liveliness_lease_duration'):
        if getattr(profile, name) == Infinite:
            setattr(profile, name, Duration())
    return profile
