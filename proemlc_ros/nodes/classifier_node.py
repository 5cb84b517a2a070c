# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier as a managed node: features in, predictions out, annotations learnt durably."""

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
from proemlc_ros.classifier.resume import ResumeReport
from proemlc_ros.errors import ProEMLCError, text_of
from proemlc_ros.foreign_text import printable_line
from proemlc_ros.nodes import process
from proemlc_ros.nodes.classifier_actions import ClassifierActions
from proemlc_ros.nodes.classifier_diagnostics import ClassifierDiagnostics
from proemlc_ros.nodes.classifier_parameters import (
    CLASSIFIER_PARAMETERS,
    apply_parameters,
    open_classifier,
)
from proemlc_ros.nodes.classifier_services import ClassifierServices
from proemlc_ros.nodes.classifier_topics import ClassifierPictures, ClassifierTopics
from proemlc_ros.nodes.logs import ThrottledLog, errors_of, log_info, log_warning, warnings_of
from proemlc_ros.nodes.parameters import ParameterTable, help_text, help_wanted

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
_WORK_PERIOD = 0.1
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
        super().__init__(
            'proemlc', automatically_declare_parameters_from_overrides=True, **options)
        self._warnings = ThrottledLog(warnings_of(self.get_logger()), 0.0)
        self._failures = ThrottledLog(errors_of(self.get_logger()), 0.0)
        # Made in on_configure, released in _close.
        self._classifier: Classifier | None = None
        self._table = ParameterTable(self, CLASSIFIER_PARAMETERS, self._follow_parameters,
                                     lambda: self._classifier is None)
        self._follow_warning_period(self._table.values)
        # Topics and services only with a classifier.
        self._topics: ClassifierTopics | None = None
        self._model_services: ClassifierServices | None = None
        self._actions: ClassifierActions | None = None
        self._pictures: ClassifierPictures | None = None
        self._jump_handle: Any = None
        self._state_name = 'unconfigured'
        self._diagnostics = ClassifierDiagnostics(self.get_fully_qualified_name())
        self._diagnostics_publisher = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        # Steady: simulated time may stand still, and a heartbeat must not.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_DIAGNOSTICS_PERIOD, self._report, clock=steady)
        self.create_timer(_WORK_PERIOD, self._run_periodic_work, clock=steady)

    # ----- life cycle -----

    def start(self) -> bool:
        """Configure and activate, unless told to wait for it."""
        if not self._table.values.autostart:
            return True
        return bool(self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS)

    def finish(self) -> None:
        """Save everything and let go."""
        self._close()

    @_faults_logged
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the model directory, resume, and create the topics and services."""
        values = self._table.values
        try:
            self._classifier, report = open_classifier(
                values, self.get_fully_qualified_name(), self._log_failure)
        except (ProEMLCError, OSError) as error:
            self.get_logger().error(f'Cannot configure: {text_of(error)}')
            return FAILURE
        self._log_resumed(self._classifier, report)
        self._topics = ClassifierTopics(self, values, self._classifier, self._warnings)
        self._model_services = ClassifierServices(self, self._classifier, self._topics)
        self._actions = ClassifierActions(self, self._classifier, self._model_services)
        self._pictures = ClassifierPictures(self, values, self._classifier)
        self._jump_handle = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1),
                          on_clock_change=True), post_callback=self._on_jump)
        self._state_name = 'inactive'
        return super().on_configure(state)

    @_faults_logged
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to predict and to learn."""
        result = super().on_activate(state)
        if self._topics is not None:
            self._topics.active = True
            self._topics.publish_labels()
        self._state_name = 'active'
        return result

    @_faults_logged
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop predicting and learning; what was learnt stays."""
        if self._topics is not None:
            self._topics.active = False
        self._state_name = 'inactive'
        if self._classifier is not None:
            self._classifier.clear_buffer('deactivated', 'the node was deactivated')
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
        """Receive nothing more, finish and save, take everything down; what exists of it."""
        if self._jump_handle is not None:
            self._jump_handle.unregister()
        classifier, topics = self._classifier, self._topics
        services, actions, pictures = self._model_services, self._actions, self._pictures
        self._classifier = self._topics = self._model_services = None
        self._jump_handle = self._actions = self._pictures = None
        if pictures is not None:
            pictures.destroy()
        if topics is not None:
            topics.stop_receiving()
        if actions is not None:
            actions.destroy()
        if services is not None:
            services.destroy()
        try:
            if classifier is not None:
                classifier.close()
        except (ProEMLCError, OSError) as error:
            self.get_logger().error(f'While closing: {text_of(error)}')
        finally:
            if topics is not None:
                topics.destroy()

    def _log_failure(self, text: str) -> None:
        """Log a failure in the background; one that lasts, such as a full disk, not too often."""
        self._failures.log(text.partition(':')[0], text)

    def _log_resumed(self, classifier: Classifier, report: ResumeReport) -> None:
        learner = classifier.durable.model.learner
        for note in report.notes:
            log_warning(self.get_logger(), printable_line(note))
        log_info(
            self.get_logger(),
            f'Model directory {classifier.durable.directory.path}: {len(learner.labels)} '
            f'labels, {learner.samples} samples; snapshot '
            f'{report.snapshot.name if report.snapshot else "none"}, {report.replayed} journal '
            f'entries replayed, {report.rejected} rejected, '
            f'{sum(map(len, report.missing))} missing'
            + (f'; began with {printable_line(report.began_with)}' if report.began_with else '')
            + (f'; {report.unprovable} entries are of an earlier version and have no proof'
               if report.unprovable else ''))

    # ----- by the clock and by parameters -----

    def _run_periodic_work(self) -> None:
        if self._topics is not None:
            self._topics.run_periodic_work()
        if self._pictures is not None:
            self._pictures.follow()

    def _on_jump(self, jump: TimeJump) -> None:
        if self._classifier is not None:
            self._classifier.clock_jumped()
            self._warnings.log('clock', 'The clock jumped; the buffer of features was cleared.')

    def _report(self) -> None:
        if self._topics is not None:
            self._topics.check_connections()
        self._diagnostics_publisher.publish(self._diagnostics.message(
            self.get_clock().now().to_msg(), self._state_name, self._classifier))
        if text := self._diagnostics.memory_warning:
            self._warnings.log('partial_memory', printable_line(text))

    def _follow_warning_period(self, values: SimpleNamespace) -> None:
        self._warnings.period = self._failures.period = values.warning_period

    def _follow_parameters(self, values: SimpleNamespace) -> None:
        self._follow_warning_period(values)
        if self._classifier is not None:
            apply_parameters(self._classifier, values)
        if self._topics is not None:
            self._topics.note_changed_thresholds()


def main(args: Sequence[str] | None = None) -> int:
    """Run the classifier node."""
    if help_wanted(args):
        print(help_text('Learns labels from annotations while it classifies feature vectors.',
                        CLASSIFIER_PARAMETERS))
        return 0
    return process.run(ClassifierNode, args)


if __name__ == '__main__':
    sys.exit(main())
