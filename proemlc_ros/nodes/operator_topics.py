# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators hear of the classifier: its topics, handed over to the thread that draws."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data

from proemlc_ros.conversions import (
    annotation_of,
    event_of,
    label_state_of,
    query_of,
    stamped_prediction_of,
    stamped_vector_of,
)
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
)
from proemlc_ros.operator.classifier_view import ClassifierView, Health

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=50)
# The value among the diagnostics that the learning curve is drawn from.
LOSS_KEY = 'Rolling Hamming loss'

Post = Callable[..., Any]


class OperatorTopics:
    """Subscribes to a classifier's topics and keeps the shared picture up to date.

    Args:
        node: to subscribe with.
        classifier: name of the classifier node, absolute or relative to the node's namespace.
        robot: the shared picture; touched by posted calls alone.
        post: runs a function with arguments in the thread that owns the picture.
    """

    def __init__(self, node: Node, classifier: str, robot: ClassifierView, post: Post) -> None:
        self._robot = robot
        self._post = post
        # Called with the stamp of each prediction, in the node's thread, before it is posted.
        self.before_sight: Callable[[int], None] = lambda stamp: None

        def listen(kind: type, topic: str, take: Callable[[Any], None], qos: Any) -> Any:
            return node.create_subscription(kind, f'{classifier}/{topic}', take, qos)

        listen(FeatureVector, 'features', self._on_features, qos_profile_sensor_data)
        listen(Prediction, 'predictions', self._on_prediction, qos_profile_sensor_data)
        labels = listen(LabelSet, 'labels', self._on_labels, LATCHED)
        listen(LabelQuery, 'queries', self._on_query, RELIABLE)
        listen(LabelAnnotation, 'learnt', self._on_learnt, RELIABLE)
        listen(ModelEvent, 'events', self._on_event, RELIABLE)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        # As resolved, so that remapping and namespaces are seen.
        self.classifier = labels.topic_name.rpartition('/')[0]

    def _on_features(self, message: FeatureVector) -> None:
        self._post(self._robot.on_moment, stamped_vector_of(message))

    def _on_prediction(self, message: Prediction) -> None:
        sight = stamped_prediction_of(message)
        self.before_sight(sight.stamp)
        self._post(self._robot.on_sight, sight, time.monotonic())

    def _on_labels(self, message: LabelSet) -> None:
        self._post(self._robot.on_labels, label_state_of(message))

    def _on_query(self, message: LabelQuery) -> None:
        self._post(self._robot.on_question, query_of(message))

    def _on_learnt(self, message: LabelAnnotation) -> None:
        self._post(self._robot.on_taught, annotation_of(message))

    def _on_event(self, message: ModelEvent) -> None:
        self._post(self._robot.on_event, event_of(message))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.hardware_id == self.classifier:
                self._post(self._robot.on_health, health_of(status), loss_of(status),
                           time.monotonic())


def health_of(status: DiagnosticStatus) -> Health:
    """Return a diagnostic status as the operators' picture of it."""
    return Health(status.level[0], status.message,
                  tuple((pair.key, pair.value) for pair in status.values))


def loss_of(status: DiagnosticStatus) -> float | None:
    """Return the rolling Hamming loss among the values, or None before there is one."""
    text = next((pair.value for pair in status.values if pair.key == LOSS_KEY), '')
    try:
        loss = float(text)
    except ValueError:
        return None
    return loss if math.isfinite(loss) else None
