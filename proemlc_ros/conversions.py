# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Our own messages to plain objects and back: the one place where this happens.

Reading works on any object with the message's fields, be it of rclpy or of rosbags; writing asks a
`MessageFactory` for the messages of one of the two worlds.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from proemlc_ros.classifier.limits import distinct
from proemlc_ros.classifier.matching import NANOSECONDS
from proemlc_ros.classifier.records import (
    Annotation,
    Event,
    EventKind,
    LabelState,
    Query,
    StampedPrediction,
    StampedVector,
    Vector,
)

ANNOTATION_TYPE = 'proemlc_ros/msg/LabelAnnotation'
EVENT_TYPE = 'proemlc_ros/msg/ModelEvent'
FEATURES_TYPE = 'proemlc_ros/msg/FeatureVector'


class MessageFactory(Protocol):
    """Makes messages of one world, and turns them to bytes (CDR) and back."""

    def new(self, type_name: str, **fields: Any) -> Any:
        """Return a message of a type such as 'std_msgs/msg/Header'."""

    def floats(self, values: Vector) -> Any:
        """Return values in the form that a float32[] field takes without a check by element."""

    def serialize(self, message: Any, type_name: str) -> bytes:
        """Return the message as CDR bytes."""

    def deserialize(self, data: bytes, type_name: str) -> Any:
        """Return the message of CDR bytes."""


def stamp_of(header: Any) -> int:
    """Return a header's stamp in nanoseconds."""
    stamp = header.stamp
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def vector_of(values: Any) -> Vector:
    """Return a float32[] field as an array, without a copy where the field allows it."""
    return np.asarray(values, dtype=np.float32)


def stamped_vector_of(message: Any) -> StampedVector:
    """Return the moment of a FeatureVector."""
    return StampedVector(stamp_of(message.header), vector_of(message.data), str(message.extractor))


def annotation_of(message: Any) -> Annotation:
    """Return the annotation of a LabelAnnotation; repeated names count once."""
    features = vector_of(message.features)
    return Annotation(
        stamp=stamp_of(message.header),
        labels=distinct(message.labels),
        absent=distinct(message.absent),
        complete=bool(message.complete),
        features=features if features.size else None,
        extractor=str(message.extractor),
        annotator=str(message.annotator),
    )


def stamped_prediction_of(message: Any) -> StampedPrediction:
    """Return what a Prediction says of its moment."""
    return StampedPrediction(stamp_of(message.header), tuple(message.labels), vector_of(message.scores),
                 float(message.novelty), int(message.label_set_version))


def label_state_of(message: Any) -> LabelState:
    """Return the labels of a LabelSet."""
    return LabelState(tuple(message.names), tuple(map(int, message.counts)),
                      tuple(map(float, message.thresholds)), int(message.samples),
                      int(message.version))


def query_of(message: Any) -> Query:
    """Return the question of a LabelQuery."""
    moment = StampedVector(stamp_of(message.header), vector_of(message.features),
                    str(message.extractor))
    return Query(moment, str(message.text), tuple(message.candidates),
                    tuple(map(float, message.scores)), float(message.novelty))


def event_of(message: Any) -> Event:
    """Return the event of a ModelEvent.

    Raises:
        ValueError: the kind is not known to this version.
    """
    return Event(EventKind(message.kind), stamp_of(message.header), str(message.label),
                 str(message.new_label), str(message.file_name))


def new_header(factory: MessageFactory, stamp: int, frame_id: str = '') -> Any:
    """Return a header with a stamp given in nanoseconds."""
    time = factory.new('builtin_interfaces/msg/Time', sec=stamp // NANOSECONDS,
                       nanosec=stamp % NANOSECONDS)
    return factory.new('std_msgs/msg/Header', stamp=time, frame_id=frame_id)


def annotation_message(factory: MessageFactory, annotation: Annotation) -> Any:
    """Return the LabelAnnotation of an annotation."""
    features = annotation.features
    return factory.new(
        ANNOTATION_TYPE,
        header=new_header(factory, annotation.stamp),
        labels=list(annotation.labels),
        absent=list(annotation.absent),
        complete=annotation.complete,
        features=factory.floats(np.empty(0, np.float32) if features is None else features),
        extractor=annotation.extractor,
        annotator=annotation.annotator,
    )


def event_message(factory: MessageFactory, event: Event) -> Any:
    """Return the ModelEvent of an event."""
    return factory.new(
        EVENT_TYPE,
        header=new_header(factory, event.stamp),
        kind=int(event.kind),
        label=event.label,
        new_label=event.new_label,
        file_name=event.file_name,
    )


def feature_vector_message(factory: MessageFactory, moment: StampedVector, frame_id: str = '') -> Any:
    """Return the FeatureVector of a moment."""
    return factory.new(
        FEATURES_TYPE,
        header=new_header(factory, moment.stamp, frame_id),
        data=factory.floats(moment.data),
        extractor=moment.extractor,
    )
