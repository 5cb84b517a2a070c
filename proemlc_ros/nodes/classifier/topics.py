# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's publishers and subscriptions, with their QoS."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float32MultiArray, Header

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.conversions import (
    ANNOTATION_TYPE,
    FEATURES_TYPE,
    PREDICTION_TYPE,
    annotation_message,
    annotation_of,
    event_message,
    label_set_message,
    prediction_message,
    query_message,
    stamped_vector_of,
    vector_of,
)
from proemlc_ros.errors import NotActiveError, ProEMLCError, cause_of, text_of
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
)
from proemlc_ros.nodes.classifier.qos_check import QosCheck
from proemlc_ros.nodes.classifier.receiver import Receiver
from proemlc_ros.nodes.classifier.vision_output import VisionOutput
from proemlc_ros.nodes.log_lines import log_info
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.nodes.throttled_log import ThrottledLog
from proemlc_ros.records import Event, Learnt, ModelChange, StampedVector
from proemlc_ros.stamps import stamp_of

# Every region of a picture is a prediction of its own, and all come at once.
_SENSOR_DEPTH = 100
# Nothing is overwritten: where the queue is full (5,000 with Fast DDS), the publisher has to keep
# the message, and what it cannot keep is counted as lost.
_EVERY_ANNOTATION = QoSProfile(history=HistoryPolicy.KEEP_ALL,
                               reliability=ReliabilityPolicy.RELIABLE)
# Seconds that an annotation waits for room in the queue of the learning thread: a busy disk may
# take some for what is in the queue.
_ROOM_TIMEOUT = 10.0
_PREDICTIONS_ADVICE = ('Subscribe with best effort (sensor data), or set predictions_reliability '
                       'to reliable.')
_FEATURES_ADVICE = 'Set features_reliability to best_effort, or publish reliably.'
_ANNOTATIONS_ADVICE = 'Publish annotations reliably.'
_INPUTS = {'FeatureVector': FeatureVector, 'Float32MultiArray': Float32MultiArray}
_INPUT_TYPES = {'FeatureVector': FEATURES_TYPE,
                'Float32MultiArray': 'std_msgs/msg/Float32MultiArray'}


class ClassifierTopics:
    """Everything that the classifier publishes and subscribes to.

    Features and annotations come in threads of their own, results of annotations in the learning
    thread, all else in the executor's.

    Args:
        node: on which the topics are created.
        values: of the parameters.
        classifier: what is behind them.
        warnings: where rejections and other repeated warnings are logged.
    """

    def __init__(self, node: LifecycleNode, values: SimpleNamespace, classifier: Classifier,
                 warnings: ThrottledLog) -> None:
        self.active = False
        self._node = node
        self._classifier = classifier
        self._warnings = warnings
        self._factory = RosMessages()
        self._labels_changed = False
        self._publishing_labels = threading.Lock()
        self._jumps = 0
        offered = _qos(values.predictions_reliability, _SENSOR_DEPTH)
        self._publishers: list[LifecyclePublisher] = []
        self._predictions = self._publisher(Prediction, '~/predictions', offered)
        self._labels = self._publisher(LabelSet, '~/labels', QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self._queries = self._publisher(LabelQuery, '~/queries', QoSProfile(depth=10))
        self._learnt = self._publisher(LabelAnnotation, '~/learnt', QoSProfile(depth=50))
        self._events = self._publisher(ModelEvent, '~/events', QoSProfile(depth=50))
        self._vision = VisionOutput(self._publisher, offered)
        classifier.renewals.on_change = self._on_renewed
        classifier.renewals.on_overtaken = lambda text: log_info(node.get_logger(), text)
        self._subscribe(values)
        self._checks = [
            QosCheck(node, self._predictions.topic_name, offered, True, _PREDICTIONS_ADVICE,
                     PREDICTION_TYPE),
            QosCheck(node, self._features.topic_name, self._features.qos, False,
                     _FEATURES_ADVICE, _INPUT_TYPES[values.input_type]),
            QosCheck(node, self._annotations.topic_name, self._annotations.qos, False,
                     _ANNOTATIONS_ADVICE, ANNOTATION_TYPE)]

    def _subscribe(self, values: SimpleNamespace) -> None:
        asked = _qos(values.features_reliability, values.features_depth)
        on_features = (self._on_features if values.input_type == 'FeatureVector'
                       else self._on_array)
        self._annotations = Receiver(
            self._node, LabelAnnotation, '~/annotations', self._on_annotation, _EVERY_ANNOTATION)
        self._features = Receiver(
            self._node, _INPUTS[values.input_type], '~/features', on_features, asked)

    # ----- feature vectors -----

    def _on_features(self, message: Any) -> None:
        if self.active:
            self._classify(message.header, stamped_vector_of(message))

    def _on_array(self, message: Any) -> None:
        if self.active:
            header = Header(stamp=self._node.get_clock().now().to_msg())
            self._classify(header, StampedVector(stamp_of(header), vector_of(message.data)))

    def _classify(self, header: Header, vector: StampedVector) -> None:
        started = time.perf_counter_ns()
        classifier, factory = self._classifier, self._factory
        try:
            prediction = classifier.classify(vector)
        except ProEMLCError as error:
            self.reject(error)
            return
        self._predictions.publish(prediction_message(factory, header, vector, prediction))
        classifier.statistics.count_prediction(time.perf_counter_ns() - started)
        # What follows is behind the prediction, so that nobody waits for it.
        classifier.keep(vector)
        query = classifier.query(vector, prediction)
        if query is not None:
            self._queries.publish(query_message(factory, header, query))
        self._vision.publish(header, vector, prediction)

    # ----- annotations and changes of the model -----

    def _on_annotation(self, message: Any) -> None:
        if not self.active:
            self._classifier.statistics.annotations.count()
            self.reject(NotActiveError())
            return
        # While one waits for room, those behind wait in the queue of DDS.
        future = self._classifier.annotate(annotation_of(message), _ROOM_TIMEOUT)
        future.add_done_callback(self.publish_learnt)

    def publish_learnt(self, future: Future[Any]) -> None:
        """Publish what was learnt from an annotation, or log why it was rejected.

        Args:
            future: done; with Learnt, or with a ClientRequest that was learnt before.
        """
        error = future.exception()
        if error is not None:
            self.log_rejection(error)
            return
        learnt = future.result()
        if not isinstance(learnt, Learnt):
            return
        if learnt.introduced:
            self.publish_labels()
        else:
            self._labels_changed = True  # Counts and thresholds wait for the periodic work.
        if self._learnt.get_subscription_count():
            self._learnt.publish(annotation_message(
                self._factory, learnt.annotation.bare(), learnt.number))

    def publish_event(self, event: Event) -> None:
        """Publish a change of the model, and the labels after it."""
        self._classifier.matcher.objects.clear()
        self.publish_labels()
        self._events.publish(event_message(self._factory, event, event.entry))

    def _on_renewed(self, change: ModelChange) -> None:
        log_info(self._node.get_logger(), f'The model was {change.message}')
        if change.event is not None:
            self.publish_event(change.event)

    def publish_labels(self) -> None:
        """Publish the labels as they are now."""
        # One at a time, or an older state could be the last that is published.
        with self._publishing_labels:
            self._labels_changed = False
            state = self._classifier.durable.model.label_state()
            message = label_set_message(
                self._factory, state, self._node.get_clock().now().nanoseconds)
            self._labels.publish(message)
            self._vision.publish_labels(message.header, state)

    def reject(self, error: BaseException) -> None:
        """Count and log a rejected message."""
        self._classifier.statistics.reject(cause_of(error))
        self.log_rejection(error)

    def log_rejection(self, error: BaseException) -> None:
        """Log a rejection that is counted already, not too often."""
        cause = cause_of(error)
        self._warnings.log(cause, f'Rejected, {cause}: {text_of(error)}')

    # ----- by the clock -----

    def note_changed_thresholds(self) -> None:
        """Publish the labels soon: parameters may have changed their thresholds."""
        self._labels_changed = True

    def run_periodic_work(self) -> None:
        """Settle held annotations, snapshot, publish counts that changed; call it regularly."""
        if not self.active:
            return
        self._classifier.run_periodic_work()
        if self._labels_changed:
            self.publish_labels()
        jumps = self._classifier.matcher.buffer.jumps
        if jumps != self._jumps:
            self._jumps = jumps
            self._warnings.log(
                'stamps', 'The stamps of the features jumped back (a looping bag or a restarted '
                'simulation?); the buffer was cleared.')

    def check_connections(self) -> None:
        """Warn of endpoints with an incompatible QoS, and of lost annotations."""
        for check in self._checks:
            check.check()
        lost = self._annotations.lost
        new = lost - self._classifier.statistics.lost_annotations
        if new:
            self._classifier.statistics.lost_annotations = lost
            self._warnings.log('lost', f'{new} annotations were lost: their publisher could not '
                               'keep them until they were received. Publish more slowly, with a '
                               'longer queue, or call ~/annotate.')

    # ----- taking down -----

    def stop_receiving(self) -> None:
        """Receive nothing any more."""
        self.active = False
        self._features.destroy()
        self._annotations.destroy()

    def destroy(self) -> None:
        """Take down what is left."""
        for publisher in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)

    def _publisher(self, kind: type, topic: str, qos: QoSProfile) -> LifecyclePublisher:
        publisher = self._node.create_lifecycle_publisher(
            kind, topic, qos, event_callbacks=PublisherEventCallbacks(use_default_callbacks=False))
        self._publishers.append(publisher)
        return publisher


def _qos(reliability: str, depth: int) -> QoSProfile:
    policy = (ReliabilityPolicy.RELIABLE if reliability == 'reliable'
              else ReliabilityPolicy.BEST_EFFORT)
    return QoSProfile(depth=depth, reliability=policy)
