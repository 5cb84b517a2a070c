# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier as a managed node: features in, predictions out, annotations learnt for good."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Header

from proemlc_ros.conversions import annotation_of, moment_of, stamp_of, vector_of
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.nodes import process
from proemlc_ros.nodes.classifier_diagnostics import ClassifierDiagnostics
from proemlc_ros.nodes.classifier_parameters import CLASSIFIER_PARAMETERS
from proemlc_ros.nodes.classifier_services import ClassifierServices
from proemlc_ros.nodes.classifier_topics import ClassifierTopics
from proemlc_ros.nodes.open_classroom import apply_parameters, open_classroom
from proemlc_ros.nodes.parameter_table import ParameterTable
from proemlc_ros.nodes.refusal_log import RefusalLog
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.teaching.classroom import Classroom, Verdict
from proemlc_ros.teaching.events import Event
from proemlc_ros.teaching.intake import cause_of, text_of
from proemlc_ros.teaching.moments import Annotation, Moment
from proemlc_ros.teaching.resuming import Resumed
from proemlc_ros.teaching.session import Learnt

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
_HOUSEKEEPING_PERIOD = 0.1
_DIAGNOSTICS_PERIOD = 1.0


class ClassifierNode(LifecycleNode):
    """Classifies feature vectors and learns from annotations; see docs/node.md."""

    def __init__(self, **options: Any) -> None:
        super().__init__('proemlc', **options)
        self.active = False
        self._refusal_log = RefusalLog(self.get_logger().warning, 0.0)
        self._table = ParameterTable(self, CLASSIFIER_PARAMETERS, self._follow_parameters)
        self._refusal_log.period = self._table.values.warning_period
        self._classroom: Classroom | None = None
        self._topics: ClassifierTopics | None = None
        self._answering: ClassifierServices | None = None
        self._jump_handle: Any = None
        self._jumps = 0
        self._labels_changed = False
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
        self.active = False
        self._close()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the model directory, resume, and create the topics and services."""
        try:
            self._classroom, resumed = open_classroom(
                self._table.values, self.get_fully_qualified_name(), RosMessages(),
                self.get_logger().error)
        except (ProEMLCError, OSError) as error:
            self.get_logger().error(f'Cannot configure: {text_of(error)}')
            return FAILURE
        self._tell(resumed)
        on_features = (self._on_features if self._table.values.input_type == 'FeatureVector'
                       else self._on_array)
        self._topics = ClassifierTopics(
            self, self._table.values, on_features, self._on_annotation)
        self._answering = ClassifierServices(self, self._classroom)
        self._jump_handle = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1),
                          on_clock_change=True), post_callback=self._on_jump)
        self._state_name = 'inactive'
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to predict and to learn."""
        result = super().on_activate(state)
        self.active = True
        self._state_name = 'active'
        self._publish_labels()
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop predicting and learning; what was learnt stays."""
        self.active = False
        self._state_name = 'inactive'
        self._classroom.forget_moments()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Save everything and take topics and services down."""
        self._close()
        self._state_name = 'unconfigured'
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Save everything, for good."""
        self.active = False
        self._close()
        self._state_name = 'finalized'
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Save what can be saved and go back to unconfigured."""
        self.active = False
        self._close()
        self._state_name = 'unconfigured'
        return SUCCESS

    def _close(self) -> None:
        if self._jump_handle is not None:
            self._jump_handle.unregister()
            self._jump_handle = None
        classroom, self._classroom = self._classroom, None
        if classroom is None:
            return
        self._topics.stop_listening()
        for service in self._answering.services:
            self.destroy_service(service)
        try:
            classroom.close()
        except (ProEMLCError, OSError) as error:
            self.get_logger().error(f'While closing: {text_of(error)}')
        self._topics.destroy()
        self._answering = self._topics = None

    def _tell(self, resumed: Resumed) -> None:
        model = self._classroom.session.pupil.model
        for note in resumed.notes:
            self.get_logger().warning(note)
        self.get_logger().info(
            f'Model directory {self._classroom.session.directory.path}: {len(model.labels)} '
            f'labels, {model.samples} samples; snapshot '
            f'{resumed.snapshot.name if resumed.snapshot else "none"}, {resumed.replayed} journal '
            'entries replayed')

    # ----- messages -----

    def _on_features(self, message: Any) -> None:
        if self.active:
            self._take(message.header, moment_of(message))

    def _on_array(self, message: Any) -> None:
        if self.active:
            header = Header(stamp=self.get_clock().now().to_msg())
            self._take(header, Moment(stamp_of(header), vector_of(message.data)))

    def _take(self, header: Header, moment: Moment) -> None:
        started = time.perf_counter_ns()
        classroom, topics = self._classroom, self._topics
        statistics = classroom.statistics
        statistics.features.count()
        try:
            classroom.feature_rate.check(started, 'feature vectors')
            verdict = classroom.classify(moment)
        except ProEMLCError as error:
            statistics.reject(cause_of(error))
            self.warn_refused(error)
            return
        topics.predictions.publish(topics.prediction(header, verdict))
        statistics.predictions.count()
        statistics.latency.add(time.perf_counter_ns() - started)
        # What follows is behind the answer, so that nobody waits for it.
        classroom.keep(moment)
        question = classroom.question(moment, verdict)
        if question is not None:
            topics.publish_query(header, question)
        topics.vision.publish(header, verdict.found)

    def _on_annotation(self, message: Any) -> None:
        if self.active:
            self._classroom.annotate(annotation_of(message), self._on_answer)

    def _on_answer(self, annotation: Annotation, answer: Learnt | ProEMLCError) -> None:
        if isinstance(answer, Learnt):
            self.taught(annotation, answer)
        else:
            self.warn_refused(answer)

    # ----- what services and the teaching thread call -----

    def warn_refused(self, error: Exception) -> None:
        """Log a refusal, not too often."""
        self._refusal_log.refused(error)

    def taught(self, annotation: Annotation, answer: Learnt) -> None:
        """Announce what was learnt."""
        if answer.introduced:
            self._publish_labels()
        else:
            self._labels_changed = True  # Counts and thresholds: told by and by.
        self._topics.publish_learnt(annotation)

    def changed(self, event: Event) -> None:
        """Announce a change of the model."""
        self._publish_labels()
        self._topics.publish_event(event)

    def prediction(self, header: Header, verdict: Verdict) -> Any:
        """Return the message of a verdict."""
        return self._topics.prediction(header, verdict)

    # ----- by the clock -----

    def _keep_house(self) -> None:
        if not self.active:
            return
        self._classroom.expire()
        if self._labels_changed:
            self._publish_labels()
        jumps = self._classroom.intake.matcher.jumps
        if jumps != self._jumps:
            self._jumps = jumps
            self.get_logger().warning('The stamps of the features jumped back (a looping bag or a '
                                      'restarted simulation?); the buffer was cleared.')

    def _on_jump(self, jump: TimeJump) -> None:
        if self._classroom is not None:
            self._classroom.forget_moments()
            self.get_logger().warning('The clock jumped; the buffer of features was cleared.')

    def _report(self) -> None:
        if self._topics is not None:
            self._topics.look_around()
        self._diagnostics_publisher.publish(self._diagnostics.message(
            self.get_clock().now().to_msg(), self._state_name, self._classroom))

    def _publish_labels(self) -> None:
        self._labels_changed = False
        self._topics.publish_labels(self.get_clock().now().to_msg(),
                                    self._classroom.session.pupil.label_state())

    def _follow_parameters(self, values: SimpleNamespace) -> None:
        self._refusal_log.period = values.warning_period
        if self._classroom is not None:
            apply_parameters(self._classroom, values)


def main(args: Sequence[str] | None = None) -> int:
    """Run the classifier node."""
    return process.run(ClassifierNode, args)


if __name__ == '__main__':
    sys.exit(main())
