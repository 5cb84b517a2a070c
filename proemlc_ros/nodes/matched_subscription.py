# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A subscription with the reliability that its publishers offer.

Best effort receives from everybody, but a picture is sent in many parts, and on a busy machine one
of them is often lost, and with it the picture. Reliable loses none, but receives only from those
that offer it; which one is right, only the publishers know.

A reader that offers a message without end and hands out nothing holds back all that follow; such
a subscription is made again. Where taking the message never returns, that is no help.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from proemlc_ros.nodes.log_lines import log_warning

AUTOMATIC = 'automatic'
# Checks in a row that find a message which nobody could take in between.
_STUCK = 3


class MatchedSubscription:
    """Subscribes, and again whenever the publishers offer another reliability.

    Args:
        node: to subscribe with.
        kind: class of the messages.
        topic: name as given to the node; remapping and namespace apply.
        take: called with every message.
        depth: queue length, messages.
        reliability: 'automatic', 'best_effort' or 'reliable'; the latter two stay.
        events: called for events of DDS; None: for none.

    Attributes:
        topic_name: of the topic, fully qualified.
    """

    def __init__(self, node: Node, kind: type, topic: str, take: Callable[[Any], None],
                 depth: int = 5, reliability: str = AUTOMATIC,
                 events: SubscriptionEventCallbacks | None = None) -> None:
        self._node = node
        self._kind = kind
        self._topic = topic
        self._take = take
        self._depth = depth
        self._events = events or SubscriptionEventCallbacks(use_default_callbacks=False)
        self._automatic = reliability == AUTOMATIC
        self._reliability = (ReliabilityPolicy.RELIABLE if reliability == 'reliable'
                             else ReliabilityPolicy.BEST_EFFORT)
        self._taken = self._taken_before = 0
        self._offered = 0
        self._subscription = self._subscribe()
        self.topic_name = str(self._subscription.topic_name)
        self.check()

    @property
    def reliable(self) -> bool:
        """Whether it is reliable now."""
        return bool(self._reliability == ReliabilityPolicy.RELIABLE)

    def check(self) -> None:
        """Follow the publishers, and leave a stuck reader; call it regularly, where it spins."""
        if self._automatic:
            self._follow()
        stuck = self._taken == self._taken_before and self._has_message()
        self._offered = self._offered + 1 if stuck else 0
        self._taken_before = self._taken
        if self._offered >= _STUCK:
            log_warning(self._node.get_logger(), f'{self.topic_name} offers a message that cannot '
                        'be read, and holds back all others: subscribed again')
            self._again()

    def _follow(self) -> None:
        offered = {publisher.qos_profile.reliability for publisher
                   in self._node.get_publishers_info_by_topic(self.topic_name)}
        if not offered:
            return  # Those that come back are probably the same.
        wanted = (ReliabilityPolicy.RELIABLE if offered == {ReliabilityPolicy.RELIABLE}
                  else ReliabilityPolicy.BEST_EFFORT)
        if wanted != self._reliability:
            self._reliability = wanted
            self._again()

    def _has_message(self) -> bool:
        """Tell whether DDS offers a message."""
        subscription: Any = self._subscription.handle
        context: Any = self._node.context.handle
        with subscription, context:
            wait_set = _rclpy.WaitSet(1, 0, 0, 0, 0, 0, context)
            wait_set.clear_entities()
            wait_set.add_subscription(subscription)
            wait_set.wait(0)
            return bool(wait_set.get_ready_entities('subscription'))

    def _again(self) -> None:
        self.destroy()
        self._offered = 0
        self._subscription = self._subscribe()

    def destroy(self) -> None:
        """Receive nothing any more."""
        self._node.destroy_subscription(self._subscription)

    def _subscribe(self) -> Any:
        profile = QoSProfile(depth=self._depth, reliability=self._reliability)
        return self._node.create_subscription(
            self._kind, self._topic, self._on_message, profile, event_callbacks=self._events)

    def _on_message(self, message: Any) -> None:
        self._taken += 1
        self._take(message)
