# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Work that takes seconds as ROS actions, beside the services of the same names.

A goal is the request of the service, its result the response; feedback tells how far the work is,
and a goal can be cancelled until the change is being written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from proemlc_ros.action import ChangeSamples, Reembed, Renew
from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.nodes.classifier_services import ClassifierServices, DeferredResponse

# Seconds between two looks at how far the work is.
_FEEDBACK_PERIOD = 0.2


class ClassifierActions:
    """Creates the actions; one goal of all of them is carried out at a time.

    Args:
        node: on which they are created.
        classifier: does the work.
        services: answer the requests.
    """

    def __init__(self, node: Node, classifier: Classifier, services: ClassifierServices) -> None:
        self._node = node
        self._classifier = classifier
        self._services = services
        self._goal: Any = None
        self._reported = ''
        self._servers = [
            _WorkServer(node, kind, f'~/{name}', partial(self._begin, name),
                        goal_callback=self._accept, cancel_callback=self._cancel)
            for name, kind in (('change_samples', ChangeSamples), ('reembed', Reembed),
                               ('renew', Renew))]
        self._timer = node.create_timer(
            _FEEDBACK_PERIOD, self._give_feedback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def destroy(self) -> None:
        """Take the actions down."""
        self._node.destroy_timer(self._timer)
        for server in self._servers:
            server.destroy()

    def _accept(self, request: Any) -> GoalResponse:
        busy = self._goal is not None or bool(self._classifier.progress)
        return GoalResponse.REJECT if busy else GoalResponse.ACCEPT

    def _begin(self, name: str, goal: Any, end: Callable[[Any], None]) -> None:
        """Carry out a goal; `end` is given its result, from any thread."""
        self._goal, self._reported = goal, ''

        def ended(result: Any) -> None:
            self._goal = None
            end(result)
        answer = self._services.answer(name, goal.request, goal.result)
        if isinstance(answer, DeferredResponse):
            answer.bind(ended)
        else:
            ended(answer)

    def _cancel(self, goal: Any) -> CancelResponse:
        return CancelResponse.ACCEPT if self._classifier.cancel() else CancelResponse.REJECT

    def _give_feedback(self) -> None:
        goal, progress = self._goal, self._classifier.progress
        if goal is not None and progress and progress != self._reported:
            self._reported = progress
            goal.publish_feedback(goal.feedback(progress))


class _WorkServer(ActionServer):
    """An action server whose work is done elsewhere.

    rclpy's own way, a coroutine that waits, makes its executors poll until the work is done. So
    a goal is executed twice: `execute` begins the work, and the end of the work hands the result
    to the executor.
    """

    def __init__(self, node: Node, kind: Any, name: str,
                 begin: Callable[[Any, Callable[[Any], None]], None], **callbacks: Any) -> None:
        super().__init__(node, kind, name, lambda goal: None, **callbacks)
        self._begin = begin
        self._destroyed = False

    def destroy(self) -> None:
        """Take the action down; work that ends later has no result any more."""
        self._destroyed = True
        super().destroy()

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Begin the work of a goal that is executed now."""
        goal_handle.feedback = lambda text: self.action_type.Feedback(progress=text)
        goal_handle.result = self.action_type.Result()
        self._begin(goal_handle, partial(self._end, goal_handle))

    def _end(self, goal: Any, result: Any) -> None:
        def finish(goal: Any) -> Any:
            if goal.is_cancel_requested and not result.success:
                goal.canceled()
            elif result.success:
                goal.succeed()
            else:
                goal.abort()
            return result
        if not self._destroyed:
            super().notify_execute(goal, finish)
