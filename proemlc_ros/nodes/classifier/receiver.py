# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A subscription with a thread of its own, for messages that must not wait.

rclpy's executor looks at every timer, service and event of the node for each message, and a slow
service callback holds all others up. This loop waits for one topic only, in the way of
`rclpy.wait_for_message`.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile

from proemlc_ros.nodes.throttled_log import ThrottledLog, errors_of

# Seconds between log lines about the same fault.
_FAULT_PERIOD = 5.0


class _NotForExecutors(ReentrantCallbackGroup):
    """Keeps what is in it from executors."""

    def can_execute(self, entity: Any) -> bool:
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
        self._lost = _rclpy.EventHandle(
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
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._faults.log(place.lineno, f'A message of {self.topic_name} was dropped: '
                             f'{error!r} in {place.name}, {place.filename}:{place.lineno}')
        return True
