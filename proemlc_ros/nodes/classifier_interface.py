# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A classroom with its topics and services: what a configured classifier does with messages."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import Header

from proemlc_ros.classifier.classifier import Classifier, VersionedPrediction
from proemlc_ros.classifier.durable_model import Learnt
from proemlc_ros.classifier.records import Annotation, Event, StampedVector
from proemlc_ros.classifier.validation import cause_of, text_of
from proemlc_ros.conversions import annotation_of, stamp_of, stamped_vector_of, vector_of
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.nodes.classifier_services import ClassifierServices
from proemlc_ros.nodes.classifier_topics import ClassifierTopics
from proemlc_ros.nodes.throttled_log import ThrottledLog


class ClassifierInterface:
    """Creates the topics and services of a classroom and passes messages to and fro.

    Features come in the receiver's thread, answers to annotations in the teaching thread, all else
    in the executor's.

    Args:
        node: on which they are created.
        values: of the parameters.
        classroom: what is behind it.
        refusals: where refused messages are told.
    """

    def __init__(self, node: LifecycleNode, values: SimpleNamespace, classroom: Classifier,
                 refusals: ThrottledLog) -> None:
        self.active = False
        self._node = node
        self._classroom = classroom
        self._refusals = refusals
        self._labels_changed = False
        self._announcing = threading.Lock()
        self._jumps = 0
        on_features = (self._on_features if values.input_type == 'FeatureVector'
                       else self._on_array)
        self.topics = ClassifierTopics(node, values, on_features, self._on_annotation)
        self._services = ClassifierServices(node, self, classroom)

    def close(self) -> None:
        """Receive nothing more, finish and save the classroom, take everything down.

        Raises:
            ProEMLCError, OSError: something could not be saved; everything is down nevertheless.
        """
        self.active = False
        self.topics.stop_listening()
        self._services.destroy()
        try:
            self._classroom.close()
        finally:
            self.topics.destroy()

    # ----- messages -----

    def _on_features(self, message: Any) -> None:
        if self.active:
            self._take(message.header, stamped_vector_of(message))

    def _on_array(self, message: Any) -> None:
        if self.active:
            header = Header(stamp=self._now())
            self._take(header, StampedVector(stamp_of(header), vector_of(message.data)))

    def _take(self, header: Header, moment: StampedVector) -> None:
        started = time.perf_counter_ns()
        classroom, topics = self._classroom, self.topics
        statistics = classroom.statistics
        statistics.features.count()
        try:
            classroom.feature_rate.check(started, 'feature vectors')
            verdict = classroom.classify(moment)
        except ProEMLCError as error:
            self.refused(error)
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
            self.told(answer)

    # ----- what the services call -----

    def refused(self, error: Exception) -> None:
        """Count a refusal and log it."""
        self._classroom.statistics.reject(cause_of(error))
        self.told(error)

    def told(self, error: Exception) -> None:
        """Log a refusal that is counted already, not too often."""
        cause = cause_of(error)
        self._refusals.say(cause, f'Refused, {cause}: {text_of(error)}')

    def taught(self, annotation: Annotation, answer: Learnt) -> None:
        """Announce what was learnt."""
        if answer.introduced:
            self.publish_labels()
        else:
            self._labels_changed = True  # Counts and thresholds: told by and by.
        self.topics.publish_learnt(annotation)

    def changed(self, event: Event) -> None:
        """Announce a change of the model."""
        self.publish_labels()
        self.topics.publish_event(event)

    def prediction(self, header: Header, verdict: VersionedPrediction) -> Any:
        """Return the message of a verdict."""
        return self.topics.prediction(header, verdict)

    # ----- by the clock -----

    def publish_labels(self) -> None:
        """Announce the labels as they are now."""
        # One at a time, or an older state could be the last that is announced.
        with self._announcing:
            self._labels_changed = False
            self.topics.publish_labels(self._now(), self._classroom.session.pupil.label_state())

    def follow_parameters(self) -> None:
        """Announce thresholds that parameters may have changed."""
        self._labels_changed = True

    def keep_house(self) -> None:
        """Do what is due: held annotations, snapshots, counts that changed."""
        if not self.active:
            return
        self._classroom.expire()
        if self._labels_changed:
            self.publish_labels()
        jumps = self._classroom.intake.matcher.jumps
        if jumps != self._jumps:
            self._jumps = jumps
            self._node.get_logger().warning(
                'The stamps of the features jumped back (a looping bag or a restarted '
                'simulation?); the buffer was cleared.')

    def _now(self) -> Any:
        return self._node.get_clock().now().to_msg()
