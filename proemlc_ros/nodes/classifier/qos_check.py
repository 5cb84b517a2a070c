# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Warns of endpoints with an incompatible QoS or another type: DDS connects them to nothing.

The graph is asked now and then. The events of DDS would tell the same, but wake the node's
executor for every message of their topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.duration import Duration, Infinite
from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible

from proemlc_ros.foreign_text import LONGEST_SHOWN, printable_line

# What the graph tells in place of the name of a node that it does not know, or not yet.
_UNKNOWN = '_NODE_NAME_UNKNOWN_'
# Checks after which an endpoint is judged whose name stays unknown, as those do that are not ROS.
_PATIENCE = 10


class QosCheck:
    """Checks the endpoints of one topic, each once.

    An endpoint is judged at the second check that sees it, or once its node has a name: the
    graph has its QoS at once, but the name often only a moment later, on a busy machine
    seconds, and a warning without a name helps nobody.

    Args:
        node: whose topic it is.
        topic: fully qualified name.
        ours: QoS that the node uses.
        publishing: whether the node publishes the topic; else it subscribes.
        advice: what the user can do, a sentence.
        kind: full name of the message type, such as std_msgs/msg/Header; empty: not checked.
    """

    def __init__(self, node: Node, topic: str, ours: QoSProfile, publishing: bool,
                 advice: str, kind: str = '') -> None:
        self._node = node
        self._topic = topic
        self._ours = ours
        self._publishing = publishing
        self._advice = advice
        self._kind = kind
        # How many checks have seen each that is not judged yet.
        self._new: dict[bytes, int] = {}
        self._judged: set[bytes] = set()
        self._others: Callable[[str], list[Any]] = (
            node.get_subscriptions_info_by_topic if publishing
            else node.get_publishers_info_by_topic)

    def check(self) -> None:
        """Warn of incompatible endpoints that an earlier check saw for the first time."""
        others = {bytes(other.endpoint_gid): other for other in self._others(self._topic)}
        self._judged &= others.keys()
        self._new = {identity: self._new.get(identity, 0) + 1
                     for identity in others.keys() - self._judged}
        for identity, seen in list(self._new.items()):
            known = others[identity].node_name != _UNKNOWN
            if seen > (1 if known else _PATIENCE):
                self._judge(others[identity])
                self._judged.add(identity)
                del self._new[identity]

    def _judge(self, other: Any) -> None:
        if self._kind and other.topic_type != self._kind:
            kind = printable_line(other.topic_type, LONGEST_SHOWN)
            self._node.get_logger().warning(
                f'{self._described(other)} as {kind}, not as {self._kind}, so no message arrives.')
            return
        theirs = _without_infinity(other.qos_profile)
        pair = (self._ours, theirs) if self._publishing else (theirs, self._ours)
        compatibility, reason = qos_check_compatible(*pair)
        if compatibility == QoSCompatibility.ERROR:
            self._warn(other, reason)

    def _warn(self, other: Any, reason: str) -> None:
        self._node.get_logger().warning(
            f'{self._described(other)} with an incompatible QoS, so no message arrives '
            f'({reason.strip().rstrip(";")}). {self._advice}')

    def _described(self, other: Any) -> str:
        name = printable_line(f'{other.node_namespace.rstrip("/")}/{other.node_name}',
                              LONGEST_SHOWN)
        return f'{name} {"subscribes to" if self._publishing else "publishes"} {self._topic}'


def _without_infinity(profile: QoSProfile) -> QoSProfile:
    """Return a profile of the graph with infinite durations as durations that are not set.

    The graph tells an infinite deadline where nobody set one, and qos_check_compatible takes
    that for a deadline.
    """
    for name in ('deadline', 'lifespan', 'liveliness_lease_duration'):
        if getattr(profile, name) == Infinite:
            setattr(profile, name, Duration())
    return profile
