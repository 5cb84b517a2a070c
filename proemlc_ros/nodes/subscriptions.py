# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions with the reliability that their publishers offer: to sensors, to pictures.

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
publisher still sends; there `process.watched` helps.

A `Receiver` has a thread of its own, for messages that must not wait: rclpy's executor looks at
every timer, service and event of the node for each message, and a slow service callback holds all
others up. Its loop waits for one topic only, in the way of `rclpy.wait_for_message`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.guard_condition import GuardCondition

# A wait set of one subscription and the count of lost messages have no public names;
# `rclpy.wait_for_message` uses these.
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.validate_topic_name import validate_topic_name

from proemlc_ros.conversions import IMAGE_TYPES
from proemlc_ros.foreign_text import printable_line, shown
from proemlc_ros.nodes.logs import ThrottledLog, errors_of, fault_text, log_warning

# Seconds between log lines about the same fault.
_FAULT_PERIOD = 5.0


def profile_of(reliable: bool, depth: int) -> QoSProfile:
    """Return the QoS of a topic of this reliability and queue length."""
    return QoSProfile(depth=depth, reliability=(
        ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT))


class _NotForExecutors(ReentrantCallbackGroup):
    """Keeps what is in it from executors."""

    def can_execute(self, entity: Any) -> bool:  # type: ignore[override]
        """Tell an executor what it may wait for."""
        return False


class Receiver:
    """Receives one topic.

    Args:
        node: that subscribes.
        kind: type of the messages.
        topic: name of the topic.
        callback: called with each message, in the receiver's thread.
        qos: of the subscription.
    """

    def __init__(self, node: Node, kind: type, topic: str, callback: Callable[[Any], None],
                 qos: QoSProfile) -> None:
        self.qos = qos
        self._node = node
        self._kind = kind
        self._callback = callback
        self._faults = ThrottledLog(errors_of(node.get_logger()), _FAULT_PERIOD)
        self._subscription = node.create_subscription(
            kind, topic, callback, qos, callback_group=_NotForExecutors(),
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))
        self._guard = GuardCondition(None, None, context=node.context)
        self._lost: Any = _rclpy.EventHandle(
            self._subscription.handle,
            _rclpy.rcl_subscription_event_type_t.RCL_SUBSCRIPTION_MESSAGE_LOST)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f'receiver of {topic}', daemon=True)
        self._thread.start()

    @property
    def topic_name(self) -> str:
        """The topic's full name."""
        return str(self._subscription.topic_name)

    @property
    def lost(self) -> int:
        """How many messages DDS knows to be lost, since the beginning.

        All of them where the history of the subscription is KEEP_ALL. With KEEP_LAST, DDS does
        not count those that it overwrites in the queue of the subscription.
        """
        return self._hear_of_lost()

    def destroy(self) -> None:
        """Stop receiving."""
        self._stopping = True
        self._guard.trigger()
        self._thread.join()
        self._guard.destroy()
        self._lost.destroy_when_not_in_use()
        self._node.destroy_subscription(self._subscription)

    def _run(self) -> None:
        subscription, guard = self._subscription.handle, self._guard.handle
        context: Any = self._node.context.handle
        with subscription, guard, context:
            wait_set = _rclpy.WaitSet(1, 1, 0, 0, 0, 0, context)
            while not self._stopping:
                wait_set.clear_entities()
                wait_set.add_subscription(subscription)
                wait_set.add_guard_condition(guard)
                wait_set.wait(-1)
                if not self._receive(subscription):
                    # A message was lost: until that is heard, no wait would last.
                    self._hear_of_lost()
                while not self._stopping and self._receive(subscription):
                    pass

    def _hear_of_lost(self) -> int:
        with self._lost:
            return int(self._lost.take_event().total_count)

    def _receive(self, subscription: Any) -> bool:
        """Take a message and hand it on; False where there was none."""
        try:
            taken = subscription.take_message(self._kind, False)
            if taken is None:
                return False
            self._callback(taken[0])
        except Exception as error:  # A fault of ours must not end the stream unheard.
            text = fault_text(error)
            self._faults.log(text.rpartition(' in ')[2],
                             f'A message of {self.topic_name} was dropped: {text}')
        return True


AUTOMATIC = 'automatic'
# Seconds between looks for the first publisher, and until its absence is worth a warning.
_SEARCH_PERIOD, _SILENCE = 0.1, 3.0
# Topics that the warning names.
_MOST_NAMED = 5


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
        own_thread: receive in a thread of its own, not in the executor's.
        types: full names of the message types that would do; a topic that nobody publishes is
            warned of, with those that have them. Empty: no warning.

    Attributes:
        topic_name: of the topic, fully qualified.

    Raises:
        InvalidTopicNameException: the name is not one.
    """

    def __init__(self, node: Node, kind: type, topic: str, take: Callable[[Any], None],
                 depth: int = 5, reliability: str = AUTOMATIC,
                 events: SubscriptionEventCallbacks | None = None, own_thread: bool = False,
                 types: Collection[str] = ()) -> None:
        self._node = node
        self._kind = kind
        self._take = take
        self._depth = depth
        self._events = events or SubscriptionEventCallbacks(use_default_callbacks=False)
        self._automatic = reliability == AUTOMATIC
        self._own_thread = own_thread
        validate_topic_name(topic)  # for an error that names it
        self.topic_name = str(node.resolve_topic_name(topic))
        self._topic = topic
        self._absence = _AbsenceWarning(node, self.topic_name, types)
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
        offered = {publisher.qos_profile.reliability for publisher
                   in self._node.get_publishers_info_by_topic(self.topic_name)}
        self._absence.note(bool(offered))
        if not self._automatic or not offered:
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
        if isinstance(self._subscription, Receiver):
            self._subscription.destroy()
        elif self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription = None

    def _subscribe(self, reliable: bool) -> None:
        self._reliable = reliable
        profile = profile_of(reliable, self._depth)
        if self._own_thread:
            self._subscription = Receiver(self._node, self._kind, self._topic, self._take, profile)
        else:
            self._subscription = self._node.create_subscription(
                self._kind, self._topic, self._take, profile, event_callbacks=self._events)


class _AbsenceWarning:
    """Warns once of a topic that nobody publishes, such as a mistyped one.

    Args:
        node: that subscribes.
        topic: fully qualified name.
        types: full names of the message types that would do; empty: never warn.
    """

    def __init__(self, node: Node, topic: str, types: Collection[str]) -> None:
        self._node = node
        self._topic = topic
        self._types = types
        self._due: float | None = time.monotonic() + _SILENCE if types else None

    def note(self, there: bool) -> None:
        """Note whether there is a publisher; call it regularly."""
        if there:
            self._due = None
        elif self._due is not None and time.monotonic() > self._due:
            self._due = None
            log_warning(self._node.get_logger(), printable_line(self._text()))

    def _text(self) -> str:
        published = sorted(
            name for name, types in self._node.get_topic_names_and_types()
            if not {*types}.isdisjoint(self._types) and self._node.count_publishers(name)
            and not name.startswith(f'{self._node.get_fully_qualified_name()}/'))
        kind = ' or '.join(self._types)
        others = (f'{kind} is published on {", ".join(published[:_MOST_NAMED])}'
                  f'{" …" if published[_MOST_NAMED:] else ""}.' if published
                  else f'No topic of {kind} has a publisher.')
        return f'Nobody publishes {self._topic}; is the name right? {others}'


class CameraSubscription:
    """Pictures of one topic, raw or compressed, as reliable as its publishers offer them.

    Args:
        node: to subscribe with.
        take: called with every picture and the full name of its type.
        own_thread: receive in a thread of its own, not in the executor's.

    Attributes:
        topic: fully qualified; empty: none.
    """

    def __init__(self, node: Node, take: Callable[[Any, str], None],
                 own_thread: bool = False) -> None:
        self.topic = ''
        self._node = node
        self._take = take
        self._own_thread = own_thread
        self._subscription: MatchedSubscription | None = None
        self._absence: _AbsenceWarning | None = None

    def follow(self, topic: str, warn: bool = False) -> None:
        """Go over to another topic.

        Args:
            topic: name; empty: none.
            warn: whether to log that nobody publishes it.

        Raises:
            NameValidationException, ValueError: the name is not one.
        """
        self.destroy()
        self.topic = ''
        if topic:
            validate_topic_name(topic)
            self.topic = str(self._node.resolve_topic_name(topic))
            self._absence = _AbsenceWarning(self._node, self.topic, IMAGE_TYPES if warn else ())

    def check(self) -> None:
        """Follow the publishers; call it regularly."""
        if self._subscription is not None:
            self._subscription.check()
        elif self.topic:
            types = self._types()
            if self._absence is not None:
                self._absence.note(bool(types))
            kind = next((kind for kind in IMAGE_TYPES if kind in types), None)
            if kind is not None:
                from sensor_msgs.msg import CompressedImage, Image  # Not where none are kept.

                self._subscription = MatchedSubscription(
                    self._node, Image if kind == IMAGE_TYPES[0] else CompressedImage, self.topic,
                    lambda message: self._take(message, kind), own_thread=self._own_thread)

    @property
    def receives(self) -> bool:
        """Whether it has subscribed."""
        return self._subscription is not None

    def missing(self) -> str:
        """Return why no picture can come, for people; empty: they can."""
        if self._subscription is not None or not self.topic:
            return ''
        types = ', '.join(sorted(self._types()))
        return (f'{shown(self.topic)} carries {types}, no pictures.' if types
                else f'Nobody publishes {shown(self.topic)}.')

    def destroy(self) -> None:
        """Receive nothing any more."""
        if self._subscription is not None:
            self._subscription.destroy()
            self._subscription = None

    def _types(self) -> set[str]:
        return {info.topic_type for info in self._node.get_publishers_info_by_topic(self.topic)}
