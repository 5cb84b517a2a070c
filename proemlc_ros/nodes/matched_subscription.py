# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A subscription with the reliability that its publishers offer.

Best effort receives from everybody, but a picture is sent in many parts, and on a busy machine one
of them is often lost, and with it the picture. Reliable loses none, but receives only from those
that offer it; which one is right, only the publishers know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

AUTOMATIC = 'automatic'


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
        self._subscription = self._subscribe()
        self.topic_name = str(self._subscription.topic_name)
        self.check()

    @property
    def reliable(self) -> bool:
        """Whether it is reliable now."""
        return bool(self._reliability == ReliabilityPolicy.RELIABLE)

    def check(self) -> None:
        """Follow the publishers; call it regularly."""
        if not self._automatic:
            return
        offered = {publisher.qos_profile.reliability for publisher
                   in self._node.get_publishers_info_by_topic(self.topic_name)}
        if not offered:
            return  # Those that come back are probably the same.
        wanted = (ReliabilityPolicy.RELIABLE if offered == {ReliabilityPolicy.RELIABLE}
                  else ReliabilityPolicy.BEST_EFFORT)
        if wanted != self._reliability:
            self._reliability = wanted
            self.destroy()
            self._subscription = self._subscribe()

    def destroy(self) -> None:
        """Receive nothing any more."""
        self._node.destroy_subscription(self._subscription)

    def _subscribe(self) -> Any:
        profile = QoSProfile(depth=self._depth, reliability=self._reliability)
        return self._node.create_subscription(
            self._kind, self._topic, self._take, profile, event_callbacks=self._events)
