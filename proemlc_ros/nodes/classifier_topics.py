# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's publishers and subscriptions, with their QoS."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float32MultiArray

from proemlc_ros.conversions import annotation_message, event_message
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
)
from proemlc_ros.nodes.ros_messages import RosMessages, float_array
from proemlc_ros.nodes.vision import VisionPublisher
from proemlc_ros.teaching.classroom import Question, Verdict
from proemlc_ros.teaching.events import Event
from proemlc_ros.teaching.moments import Annotation
from proemlc_ros.teaching.pupil import LabelState
from proemlc_ros.teaching.queries import candidates, explain

# As rclpy's sensor data profile: late is worse than lost.
_SENSOR_DEPTH = 5
_ANNOTATION_DEPTH = 1000
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
        self._prediction = Prediction()
        publisher = node.create_lifecycle_publisher
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.predictions = publisher(
            Prediction, '~/predictions', _qos(values.predictions_reliability, _SENSOR_DEPTH),
            event_callbacks=PublisherEventCallbacks(incompatible_qos=self._warn_subscriber))
        self.labels = publisher(LabelSet, '~/labels', latched)
        self.queries = publisher(LabelQuery, '~/queries', 10)
        self.learnt = publisher(LabelAnnotation, '~/learnt', 50)
        self.events = publisher(ModelEvent, '~/events', 50)
        self.vision = VisionPublisher(node)
        warn = SubscriptionEventCallbacks(incompatible_qos=self._warn_publisher)
        self._subscriptions = [
            node.create_subscription(
                _INPUTS[values.input_type], '~/features', on_features,
                _qos(values.features_reliability, values.features_depth), event_callbacks=warn),
            node.create_subscription(
                LabelAnnotation, '~/annotations', on_annotation, _ANNOTATION_DEPTH,
                event_callbacks=warn),
        ]

    def prediction(self, header: Any, verdict: Verdict) -> Prediction:
        """Return the message of a verdict; the same object is used again for the next one."""
        message, found = self._prediction, verdict.found
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

    def publish_query(self, header: Any, question: Question) -> None:
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

    def destroy(self) -> None:
        """Take everything down."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        for publisher in (self.predictions, self.labels, self.queries, self.learnt, self.events):
            self._node.destroy_lifecycle_publisher(publisher)
        self.vision.destroy()

    def _warn_publisher(self, event: Any) -> None:
        self._node.get_logger().warning(
            'A publisher of ~/features or ~/annotations offers another QoS than is asked for '
            f'({_policy(event)}): none of its messages will come. Annotations must be published '
            'reliably; for features set features_reliability to best_effort.')

    def _warn_subscriber(self, event: Any) -> None:
        self._node.get_logger().warning(
            'A subscriber of ~/predictions asks for another QoS than is offered '
            f'({_policy(event)}): it will hear nothing. Subscribe with best effort (sensor data), '
            'or set predictions_reliability to reliable.')


def _qos(reliability: str, depth: int) -> QoSProfile:
    policy = (ReliabilityPolicy.RELIABLE if reliability == 'reliable'
              else ReliabilityPolicy.BEST_EFFORT)
    return QoSProfile(depth=depth, reliability=policy)


def _policy(event: Any) -> str:
    from rclpy.qos import qos_policy_name_from_kind
    return qos_policy_name_from_kind(event.last_policy_kind)
