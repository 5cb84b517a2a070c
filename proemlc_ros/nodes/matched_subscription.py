# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A subscription with the reliability that its publishers offer.

Best effort receives from everybody, but a picture is sent in many parts, and on a busy machine one
of them is often lost, and with it the picture. Reliable loses none, but receives only from those
that offer it; which one is right, only the publishers know. So it subscribes when there is one, as
`ros2 topic echo` and `ros2 bag record` do.

It never goes from best effort to reliable, nor should a node have two reliable subscriptions to a
topic of large messages. A reliable reader of Fast DDS that is made while parts of a message arrive
for another reader of the process collects these parts; if the publisher then declares that message
irrelevant for the new reader (a GAP), its memory is freed but the reader keeps it in its queue
(StatefulReader::processGapMsg, up to 2.14.6 and 3.x), and taking a message never returns. The same
happens, rarely, to a process that takes the place of one which was killed, and to which the
publisher still sends; there watchdog.py helps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.validate_topic_name import validate_topic_name

AUTOMATIC = 'automatic'
# Seconds between looks for the first publisher.
_SEARCH_PERIOD = 0.1


class MatchedSubscription:
    """Subscribes once there is a publisher, and again if best effort is all that one offers.

    Args:
        node: to subscribe with.
        kind: class of the messages.
        topic: name as given to the node; remapping and namespace apply.
        take: called with every message.
        depth: queue length, messages.
        reliability: 'automatic', 'best_effort' or 'reliable'; the latter two subscribe at once.
        events: called for events of DDS; None: for none.

    Attributes:
        topic_name: of the topic, fully qualified.

    Raises:
        InvalidTopicNameException: the name is not one.
    """

    def __init__(self, node: Node, kind: type, topic: str, take: Callable[[Any], None],
                 depth: int = 5, reliability: str = AUTOMATIC,
                 events: SubscriptionEventCallbacks | None = None) -> None:
        self._node = node
        self._kind = kind
        self._take = take
        self._depth = depth
        self._events = events or SubscriptionEventCallbacks(use_default_callbacks=False)
        self._automatic = reliability == AUTOMATIC
        validate_topic_name(topic)  # for an error that names it
        self.topic_name = str(node.resolve_topic_name(topic))
        self._topic = topic
        self._reliable = False
        self._subscription: Any = None
        self._search: Any = None
        if self._automatic:
            # By a clock of its own: simulated time may stand still until pictures come.
            self._search = node.create_timer(
                _SEARCH_PERIOD, self.check, clock=Clock(clock_type=ClockType.STEADY_TIME))
            self.check()
        else:
            self._subscribe(reliability == 'reliable')

    def check(self) -> None:
        """Follow the publishers; call it regularly."""
        if not self._automatic:
            return
        offered = {publisher.qos_profile.reliability for publisher
                   in self._node.get_publishers_info_by_topic(self.topic_name)}
        if not offered:
            return  # Those that come back are probably the same.
        reliable = offered == {ReliabilityPolicy.RELIABLE}
        if self._subscription is None or self._reliable and not reliable:
            self.destroy()
            self._subscribe(reliable)

    def destroy(self) -> None:
        """Receive nothing any more."""
        if self._search is not None:
            self._node.destroy_timer(self._search)
            self._search = None
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _subscribe(self, reliable: bool) -> None:
        self._reliable = reliable
        profile = QoSProfile(depth=self._depth, reliability=(
            ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT))
        self._subscription = self._node.create_subscription(
            self._kind, self._topic, self._take, profile, event_callbacks=self._events)
