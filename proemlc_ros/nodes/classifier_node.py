# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier as a managed node: features in, predictions out, annotations learnt for good."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from types import SimpleNamespace
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.resume import Resumed
from proemlc_ros.classifier.validation import text_of
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.nodes import process
from proemlc_ros.nodes.classifier_diagnostics import ClassifierDiagnostics
from proemlc_ros.nodes.classifier_interface import ClassifierInterface
from proemlc_ros.nodes.classifier_parameters import CLASSIFIER_PARAMETERS
from proemlc_ros.nodes.open_classifier import apply_parameters, open_classifier
from proemlc_ros.nodes.parameter_table import ParameterTable
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.nodes.throttled_log import ThrottledLog

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
_HOUSEKEEPING_PERIOD = 0.1
_DIAGNOSTICS_PERIOD = 1.0


def _faults_logged(transition: Callable[..., Any]) -> Callable[..., Any]:
    """Log an unexpected error of a transition; rclpy turns it into a failure without a word."""
    @wraps(transition)
    def logged(node: LifecycleNode, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            return transition(node, state)
        except Exception:
            node.get_logger().error(f'{transition.__name__} failed:\n{traceback.format_exc()}')
            raise
    return logged


class ClassifierNode(LifecycleNode):
    """Classifies feature vectors and learns from annotations; see docs/node.md."""

    def __init__(self, **options: Any) -> None:
        super().__init__('proemlc', **options)
        self._refusal_log = ThrottledLog(self.get_logger().warning, 0.0)
        self._table = ParameterTable(self, CLASSIFIER_PARAMETERS, self._follow_parameters)
        self._refusal_log.period = self._table.values.warning_period
        self._classroom: Classifier | None = None
        self._interface: ClassifierInterface | None = None
        self._jump_handle: Any = None
        self._state_name = 'unconfigured'
        self._diagnostics = ClassifierDiagnostics(self.get_fully_qualified_name())
        self._diagnostics_publisher = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        # Steady: simulated time may stand still, and a heartbeat must not.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_DIAGNOSTICS_PERIOD, self._report, clock=steady)
        self.create_timer(_HOUSEKEEPING_PERIOD, self._keep_house, clock=steady)

    # ----- life -----

    def start(self) -> bool:
        """Configure and activate, unless told to wait for it."""
        if not self._table.values.autostart:
            return True
        return self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS

    def finish(self) -> None:
        """Save everything and let go."""
        self._close()

    @_faults_logged
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the model directory, resume, and create the topics and services."""
        try:
            self._classroom, resumed = open_classifier(
                self._table.values, self.get_fully_qualified_name(), RosMessages(),
                self.get_logger().error)
        except (ProEMLCError, OSError) as error:
            self.get_logger().error(f'Cannot configure: {text_of(error)}')
            return FAILURE
        self._tell(resumed)
        self._interface = ClassifierInterface(
            self, self._table.values, self._classroom, self._refusal_log)
        self._jump_handle = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1),
                          on_clock_change=True), post_callback=self._on_jump)
        self._state_name = 'inactive'
        return super().on_configure(state)

    @_faults_logged
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to predict and to learn."""
        result = super().on_activate(state)
        self._interface.active = True
        self._state_name = 'active'
        self._interface.publish_labels()
        return result

    @_faults_logged
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop predicting and learning; what was learnt stays."""
        self._interface.active = False
        self._state_name = 'inactive'
        self._classroom.forget_moments('deactivated', 'the node was deactivated')
        return super().on_deactivate(state)

    @_faults_logged
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Save everything and take topics and services down."""
        self._close()
        self._state_name = 'unconfigured'
        return super().on_cleanup(state)

    @_faults_logged
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Save everything, for good."""
        self._close()
        self._state_name = 'finalized'
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Save what can be saved and go back to unconfigured."""
        self._close()
        self._state_name = 'unconfigured'
        return SUCCESS

    def _close(self) -> None:
        if self._jump_handle is not None:
            self._jump_handle.unregister()
            self._jump_handle = None
        # Configuring may have failed between the two.
        open_parts = self._interface or self._classroom
        self._interface = self._classroom = None
        if open_parts is None:
            return
        try:
            open_parts.close()
        except (ProEMLCError, OSError) as error:
            self.get_logger().error(f'While closing: {text_of(error)}')

    def _tell(self, resumed: Resumed) -> None:
        model = self._classroom.session.pupil.model
        for note in resumed.notes:
            self.get_logger().warning(note)
        self.get_logger().info(
            f'Model directory {self._classroom.session.directory.path}: {len(model.labels)} '
            f'labels, {model.samples} samples; snapshot '
            f'{resumed.snapshot.name if resumed.snapshot else "none"}, {resumed.replayed} journal '
            'entries replayed')

    # ----- by the clock and by parameters -----

    def _keep_house(self) -> None:
        if self._interface is not None:
            self._interface.keep_house()

    def _on_jump(self, jump: TimeJump) -> None:
        if self._classroom is not None:
            self._classroom.clock_jumped()
            self.get_logger().warning('The clock jumped; the buffer of features was cleared.')

    def _report(self) -> None:
        if self._interface is not None:
            self._interface.topics.look_around()
        self._diagnostics_publisher.publish(self._diagnostics.message(
            self.get_clock().now().to_msg(), self._state_name, self._classroom))

    def _follow_parameters(self, values: SimpleNamespace) -> None:
        self._refusal_log.period = values.warning_period
        if self._classroom is not None:
            apply_parameters(self._classroom, values)
            self._interface.follow_parameters()


def main(args: Sequence[str] | None = None) -> int:
    """Run the classifier node."""
    return process.run(ClassifierNode, args)


if __name__ == '__main__':
    sys.exit(main())
