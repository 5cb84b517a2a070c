# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""An operator's node: listens to the classifier in a thread of its own, acts from asyncio."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from proemlc_ros.classifier.validation import validate_message
from proemlc_ros.conversions import (
    annotation_of,
    event_of,
    label_state_of,
    query_of,
    stamped_prediction_of,
    stamped_vector_of,
)
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
)
from proemlc_ros.msg import SourceState as SourceStateMessage
from proemlc_ros.nodes.logs import ThrottledLog, warnings_of
from proemlc_ros.nodes.operator.camera import Camera
from proemlc_ros.nodes.operator.services import ClassifierClient
from proemlc_ros.nodes.parameters import Declared, ParameterTable
from proemlc_ros.operator.actions import Actions
from proemlc_ros.operator.classifier_view import ChainPart, ClassifierView, Health, SourceState
from proemlc_ros.operator.recent import CameraPicture
from proemlc_ros.records import StampedPrediction, StampedVector

# Seconds between checks of whether the classifier's services are there.
CHECK_PERIOD = 0.5
CLASSIFIER = Declared(
    'classifier', 'proemlc', 'name of the classifier node, absolute or in this namespace')
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=50)
# Deep enough for two seconds of a camera: an annotation must find the vector of its prediction.
# Every region of a picture is a vector and a prediction of its own.
PREDICTIONS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
VECTORS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
# The value among the diagnostics that the learning curve is drawn from.
LOSS_KEY = 'Rolling Hamming loss'
# Seconds between warnings of the same kind.
WARNING_PERIOD = 10.0


class OperatorNode(Node):
    """Keeps the view of one classifier up to date. Made inside a running asyncio loop.

    Args:
        name: of the node.
        table: its parameters beside `classifier`.
        node_options: for rclpy's Node.

    Raises:
        ParameterError: a parameter's value is not allowed.
    """

    def __init__(self, name: str, table: Iterable[Declared], **node_options: Any) -> None:
        super().__init__(
            name, automatically_declare_parameters_from_overrides=True, **node_options)
        self.settings = ParameterTable(self, (CLASSIFIER, *table), lambda values: None).values
        self.view = ClassifierView()
        self.warnings = ThrottledLog(warnings_of(self.get_logger()), WARNING_PERIOD)
        self._loop = asyncio.get_running_loop()
        self._camera: Camera | None = None
        self.classifier = self._subscribe(self.settings.classifier)
        self.client = ClassifierClient(self, self.settings.classifier, self.view)
        self.actions = Actions(self.client, self.view)
        self.create_timer(CHECK_PERIOD, self._check_services)

    def _subscribe(self, classifier: str) -> str:
        """Subscribe to a classifier's topics, and return its full name."""

        def listen(kind: type, topic: str, take: Callable[[Any], None], qos: QoSProfile) -> Any:
            return self.create_subscription(
                kind, f'{classifier}/{topic}', self.tolerant(take, topic), qos)

        listen(FeatureVector, 'features', self._on_features, VECTORS)
        listen(Prediction, 'predictions', self._on_prediction, PREDICTIONS)
        labels = listen(LabelSet, 'labels', self._on_labels, LATCHED)
        listen(LabelQuery, 'queries', self._on_query, RELIABLE)
        listen(LabelAnnotation, 'learnt', self._on_learnt, RELIABLE)
        listen(ModelEvent, 'events', self._on_event, RELIABLE)
        self.create_subscription(
            DiagnosticArray, '/diagnostics',
            self.tolerant(self._on_diagnostics, 'diagnostics'), 10)
        self.create_subscription(SourceStateMessage, 'source/state',
                                 self.tolerant(self._on_source, 'source/state'), LATCHED)
        # As resolved, so that remapping and namespaces are included.
        return str(labels.topic_name).rpartition('/')[0]

    def tolerant(self, take: Callable[[Any], None], topic: str) -> Callable[[Any], None]:
        """Return a callback that drops what it cannot take; any node may send to the topics."""

        def take_or_drop(message: Any) -> None:
            try:
                if not isinstance(message, DiagnosticArray):  # Of many nodes; shown in short.
                    validate_message(message)
                take(message)
            except (ArithmeticError, LookupError, ProEMLCError, TypeError, ValueError) as error:
                self.warnings.log(topic, f'Dropped a message of {topic}: {ascii(str(error))}')
        return take_or_drop

    def post(self, function: Callable[..., object], *arguments: object) -> None:
        """Run a function in the asyncio loop; called from the node's thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def watch_camera(self, rate: float, size: int, take: Callable[[CameraPicture], None],
                     tolerance: float = 0.0) -> None:
        """Take the pictures that predictions and queries are about, from image_topic.

        Args:
            rate: pictures per second.
            size: longest side of the pictures, in pixels.
            take: called with each picture, in the asyncio loop.
            tolerance: seconds that a picture may be older or newer than its prediction.
        """
        self._camera = Camera(
            self, self.settings.image_topic, rate, size,
            lambda picture: self.post(take, picture),
            lambda reason: self.post(self.view.note_picture, reason),
            lambda now: self.post(self.view.streams.note, ChainPart.CAMERA, now), tolerance)

    def _show(self, vector: StampedPrediction | StampedVector, always: bool = False) -> None:
        """Have the picture of a prediction passed on, before the view has the prediction."""
        if self._camera is not None:
            self._camera.show(vector.stamp, vector.source_topic, always)

    def _on_features(self, message: FeatureVector) -> None:
        self.post(self.view.on_vector, stamped_vector_of(message), time.monotonic())

    def _on_prediction(self, message: Prediction) -> None:
        prediction = stamped_prediction_of(message)
        self._show(prediction)
        self.post(self.view.on_prediction, prediction, time.monotonic())

    def _on_labels(self, message: LabelSet) -> None:
        labels = label_state_of(message)
        if not len(labels.names) == len(labels.counts) == len(labels.thresholds):
            raise ValueError(
                f'{len(labels.names)} names, {len(labels.counts)} counts and '
                f'{len(labels.thresholds)} thresholds do not belong together')
        self.post(self.view.on_labels, labels)

    def _on_query(self, message: LabelQuery) -> None:
        query = query_of(message)
        self._show(query.vector, always=True)
        self.post(self.view.on_query, query)

    def _on_learnt(self, message: LabelAnnotation) -> None:
        self.post(self.view.on_learnt, annotation_of(message))

    def _on_event(self, message: ModelEvent) -> None:
        self.post(self.view.on_event, event_of(message))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.hardware_id == self.classifier:
                self.post(self.view.on_health, _health_of(status), _loss_of(status),
                          time.monotonic())

    def _on_source(self, message: SourceStateMessage) -> None:
        self.post(self.view.on_source, SourceState(
            message.kind, message.name, message.position, message.count, message.playing,
            tuple(message.things), tuple(message.shown), self.get_clock().now().nanoseconds))

    def _check_services(self) -> None:
        self.post(setattr, self.view, 'reachable', self.actions.ready)


def _health_of(status: DiagnosticStatus) -> Health:
    """Return a diagnostic status as the operators' view of it."""
    return Health(status.level[0], status.message,
                  tuple((pair.key, pair.value) for pair in status.values))


def _loss_of(status: DiagnosticStatus) -> float | None:
    """Return the rolling Hamming loss among the values, or None before there is one."""
    text = next((pair.value for pair in status.values if pair.key == LOSS_KEY), '')
    try:
        loss = float(text)
    except ValueError:
        return None
    return loss if math.isfinite(loss) else None
