# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's publishers and subscriptions, with their QoS."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float32MultiArray

from proemlc_ros.classifier.classifier import ClassifierQuestion, VersionedPrediction
from proemlc_ros.classifier.queries import candidates, explain
from proemlc_ros.classifier.records import Annotation, Event
from proemlc_ros.classifier.versioned_model import LabelState
from proemlc_ros.conversions import annotation_message, event_message
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
)
from proemlc_ros.nodes.qos_check import QosCheck
from proemlc_ros.nodes.receiver import Receiver
from proemlc_ros.nodes.ros_messages import RosMessages, float_array
from proemlc_ros.nodes.vision import VisionPublisher

# As rclpy's sensor data profile: late is worse than lost.
_SENSOR_DEPTH = 5
_ANNOTATION_DEPTH = 1000
_PREDICTIONS_ADVICE = ('Subscribe with best effort (sensor data), or set predictions_reliability '
                       'to reliable.')
_FEATURES_ADVICE = 'Set features_reliability to best_effort, or publish reliably.'
_ANNOTATIONS_ADVICE = 'Publish annotations reliably.'
_INPUTS = {'FeatureVector': FeatureVector, 'Float32MultiArray': Float32MultiArray}


class ClassifierTopics:
    """Everything that the classifier says and hears on topics.

    Args:
        node: on which the topics are created.
        values: of the parameters.
        on_features: called with each message of ~/features.
        on_annotation: called with each message of ~/annotations.
    """

    def __init__(self, node: LifecycleNode, values: SimpleNamespace,
                 on_features: Callable[[Any], None],
                 on_annotation: Callable[[Any], None]) -> None:
        self._node = node
        self._factory = RosMessages()
        offered = _qos(values.predictions_reliability, _SENSOR_DEPTH)
        asked = _qos(values.features_reliability, values.features_depth)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.predictions = self._publisher(Prediction, '~/predictions', offered)
        self.labels = self._publisher(LabelSet, '~/labels', latched)
        self.queries = self._publisher(LabelQuery, '~/queries', QoSProfile(depth=10))
        self.learnt = self._publisher(LabelAnnotation, '~/learnt', QoSProfile(depth=50))
        self.events = self._publisher(ModelEvent, '~/events', QoSProfile(depth=50))
        self.vision = VisionPublisher(node)
        reliable = QoSProfile(depth=_ANNOTATION_DEPTH)
        self._annotations = node.create_subscription(
            LabelAnnotation, '~/annotations', on_annotation, reliable,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))
        self._features = Receiver(
            node, _INPUTS[values.input_type], '~/features', on_features, asked)
        self._watches = [
            QosCheck(node, self.predictions.topic_name, offered, True, _PREDICTIONS_ADVICE),
            QosCheck(node, self._features.topic_name, asked, False, _FEATURES_ADVICE),
            QosCheck(node, self._annotations.topic_name, reliable, False, _ANNOTATIONS_ADVICE)]

    def look_around(self) -> None:
        """Warn of others whose QoS does not fit."""
        for watch in self._watches:
            watch.look()

    def prediction(self, header: Any, verdict: VersionedPrediction) -> Prediction:
        """Return the message of a verdict."""
        message, found = Prediction(), verdict.found
        message.header = header
        message.labels = list(found.labels)
        message.scores = float_array(found.scores)
        message.novelty = float(found.novelty)
        message.label_set_version = verdict.version
        return message

    def publish_labels(self, stamp: Any, state: LabelState) -> None:
        """Announce the labels."""
        message = LabelSet(
            names=list(state.names), counts=list(state.counts),
            thresholds=float_array(state.thresholds), samples=state.samples,
            version=state.version)
        message.header.stamp = stamp
        self.labels.publish(message)

    def publish_query(self, header: Any, question: ClassifierQuestion) -> None:
        """Ask the operator."""
        found = question.verdict.found
        columns = candidates(found.scores)
        self.queries.publish(LabelQuery(
            header=header, reason=int(question.reason),
            text=explain(question.reason, found.novelty, question.distance),
            candidates=[found.names[column] for column in columns],
            scores=float_array(found.scores[columns]), novelty=float(found.novelty),
            features=float_array(question.moment.data), extractor=question.moment.extractor))

    def publish_learnt(self, annotation: Annotation) -> None:
        """Tell other operators what was learnt, without the features."""
        if self.learnt.get_subscription_count():
            self.learnt.publish(annotation_message(self._factory, annotation.bare()))

    def publish_event(self, event: Event) -> None:
        """Tell other operators what changed."""
        self.events.publish(event_message(self._factory, event))

    def stop_listening(self) -> None:
        """Receive nothing any more."""
        self._features.destroy()
        self._node.destroy_subscription(self._annotations)

    def destroy(self) -> None:
        """Take down what is left."""
        for publisher in (self.predictions, self.labels, self.queries, self.learnt, self.events):
            self._node.destroy_lifecycle_publisher(publisher)
        self.vision.destroy()

    def _publisher(self, kind: type, topic: str, qos: QoSProfile) -> LifecyclePublisher:
        return self._node.create_lifecycle_publisher(
            kind, topic, qos, event_callbacks=PublisherEventCallbacks(use_default_callbacks=False))


def _qos(reliability: str, depth: int) -> QoSProfile:
    policy = (ReliabilityPolicy.RELIABLE if reliability == 'reliable'
              else ReliabilityPolicy.BEST_EFFORT)
    return QoSProfile(depth=depth, reliability=policy)
