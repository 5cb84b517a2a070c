# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages to plain objects and back: the one place where this happens.

Reading works on any object with the message's fields, of rclpy or of rosbags; those that a bag of
an earlier version lacks have their defaults. Writing asks a `MessageFactory` for the messages of
one of the two libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from proemlc_ros.cdr import ANNOTATION_TYPE as ANNOTATION_TYPE
from proemlc_ros.cdr import EVENT_TYPE as EVENT_TYPE
from proemlc_ros.cdr import FEATURES_TYPE as FEATURES_TYPE
from proemlc_ros.classifier.pictures import Detection, even_confidences_of
from proemlc_ros.classifier.validation import distinct
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.records import (
    WHOLE,
    Annotation,
    Event,
    EventKind,
    LabelState,
    Query,
    QueryReason,
    Region,
    StampedPrediction,
    StampedVector,
    TaughtSample,
    Vector,
)
from proemlc_ros.stamps import NANOSECONDS, stamp_of

LABEL_SET_TYPE = 'proemlc_ros/msg/LabelSet'
PREDICTION_TYPE = 'proemlc_ros/msg/Prediction'
QUERY_TYPE = 'proemlc_ros/msg/LabelQuery'
SAMPLE_TYPE = 'proemlc_ros/msg/LearntSample'
REGION_TYPE = 'proemlc_ros/msg/Region'
IMAGE_TYPES = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage')
VISION_TYPE = 'vision_msgs/msg/Classification'
# Value of Prediction.decided_by.
BY_SCORE, BY_PROBABILITY = 0, 1
HYPOTHESIS_TYPE = 'vision_msgs/msg/ObjectHypothesis'
DETECTIONS_TYPE = 'vision_msgs/msg/Detection2DArray'
LABEL_INFO_TYPE = 'vision_msgs/msg/LabelInfo'
_VISION = 'vision_msgs/msg'
DETECTIONS_3D_TYPE = f'{_VISION}/Detection3DArray'


class MessageFactory(Protocol):
    """Makes messages of one library, and turns them to bytes (CDR) and back."""

    def new(self, type_name: str, **fields: Any) -> Any:
        """Return a message of a type such as 'std_msgs/msg/Header'."""

    def floats(self, values: Any) -> Any:
        """Return values in the form that a float32[] field takes without a check by element."""

    def serialize(self, message: Any, type_name: str) -> bytes:
        """Return the message as CDR bytes."""

    def deserialize(self, data: bytes, type_name: str) -> Any:
        """Return the message of CDR bytes."""


def vector_of(values: Any) -> Vector:
    """Return a float32[] field as an array, without a copy where the field allows it."""
    return np.asarray(values, dtype=np.float32)


def stamped_vector_of(message: Any) -> StampedVector:
    """Return the vector of a FeatureVector."""
    stamp = message.header.stamp
    return StampedVector(stamp.sec * NANOSECONDS + stamp.nanosec,
                         np.asarray(message.data, dtype=np.float32), message.extractor,
                         getattr(message, 'source_topic', ''), region_of(message),
                         getattr(message, 'region_count', 0))


def region_of(message: Any) -> Region:
    """Return the region of a message that has one."""
    region = getattr(message, 'region', None)
    if region is None:
        return WHOLE
    return Region(region.id, region.center_x, region.center_y, region.size_x, region.size_y)


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
        region=region_of(message),
        entry=int(getattr(message, 'entry', 0)),
    )


def stamped_prediction_of(message: Any) -> StampedPrediction:
    """Return the content of a Prediction."""
    return StampedPrediction(stamp_of(message.header), tuple(message.labels),
                             vector_of(message.scores), float(message.novelty),
                             int(message.label_set_version), vector_of(message.probabilities),
                             message.decided_by == BY_PROBABILITY, float(message.threshold),
                             region_of(message), int(message.region_count),
                             str(message.source_topic), bool(getattr(message, 'unknown', False)),
                             _position_of(message))


def _position_of(message: Any) -> tuple[float, float, float] | None:
    if not getattr(message, 'position_valid', False):  # older bags do not have it
        return None
    return float(message.position_x), float(message.position_y), float(message.position_z)


def label_state_of(message: Any) -> LabelState:
    """Return the labels of a LabelSet."""
    return LabelState(tuple(message.names), tuple(map(int, message.counts)),
                      tuple(map(float, message.thresholds)), int(message.samples),
                      int(message.version), int(message.at_least), str(message.decision),
                      int(message.judged), float(message.right),
                      tuple(map(int, message.judged_counts)), tuple(map(float, message.recalls)))


def query_of(message: Any) -> Query:
    """Return the query of a LabelQuery."""
    vector = StampedVector(stamp_of(message.header), vector_of(message.features),
                           str(message.extractor), str(message.source_topic),
                           region_of(message))
    return Query(vector, str(message.text), tuple(message.candidates),
                 tuple(map(float, message.scores)), float(message.novelty),
                 QueryReason.NOVEL if message.reason == QueryReason.NOVEL
                 else QueryReason.DOUBTFUL,
                 str(message.label), tuple(map(float, message.probabilities)))


def event_of(message: Any) -> Event:
    """Return the event of a ModelEvent.

    Raises:
        ValueError: the kind is not known to this version.
    """
    return Event(EventKind(message.kind), stamp_of(message.header), str(message.label),
                 str(message.new_label), str(message.file_name),
                 int(getattr(message, 'sample', 0)), distinct(getattr(message, 'labels', ())),
                 distinct(getattr(message, 'absent', ())),
                 bool(getattr(message, 'complete', True)),
                 str(getattr(message, 'annotator', '')), int(getattr(message, 'entry', 0)))


def taught_sample_of(message: Any) -> TaughtSample:
    """Return the sample of a LearntSample."""
    return TaughtSample(
        int(message.number), _nanoseconds(message.taught),
        Annotation(_nanoseconds(message.stamp), tuple(message.labels), tuple(message.absent),
                   bool(message.complete), annotator=message.annotator,
                   region=region_of(message.region)),
        bool(message.has_picture), float(message.doubt), str(message.doubtful_label),
        tuple(message.expected))


def taught_sample_message(factory: MessageFactory, sample: TaughtSample) -> Any:
    """Return the LearntSample of a sample."""
    said = sample.annotation
    return factory.new(
        SAMPLE_TYPE,
        number=sample.number,
        taught=_new_time(factory, sample.taught),
        stamp=_new_time(factory, said.stamp),
        labels=list(said.labels),
        absent=list(said.absent),
        complete=said.complete,
        annotator=said.annotator,
        region=region_message(factory, said.region),
        has_picture=sample.has_picture,
        doubt=sample.doubt,
        doubtful_label=sample.doubtful,
        expected=list(sample.expected),
    )


def _nanoseconds(time: Any) -> int:
    return int(time.sec) * NANOSECONDS + int(time.nanosec)


def _new_time(factory: MessageFactory, stamp: int) -> Any:
    return factory.new('builtin_interfaces/msg/Time', sec=stamp // NANOSECONDS,
                       nanosec=stamp % NANOSECONDS)


def new_header(factory: MessageFactory, stamp: int, frame_id: str = '') -> Any:
    """Return a header with a stamp given in nanoseconds."""
    return factory.new('std_msgs/msg/Header', stamp=_new_time(factory, stamp), frame_id=frame_id)


def region_message(factory: MessageFactory, region: Region) -> Any:
    """Return the Region of a region."""
    return factory.new(REGION_TYPE, **region._asdict())


def annotation_message(factory: MessageFactory, annotation: Annotation, entry: int = 0) -> Any:
    """Return the LabelAnnotation of an annotation; entry: number of what was learnt of it."""
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
        region=region_message(factory, annotation.region),
        entry=entry,
    )


def event_message(factory: MessageFactory, event: Event, entry: int = 0) -> Any:
    """Return the ModelEvent of an event; entry: its own number."""
    return factory.new(
        EVENT_TYPE,
        header=new_header(factory, event.stamp),
        kind=int(event.kind),
        label=event.label,
        new_label=event.new_label,
        file_name=event.file_name,
        sample=event.sample,
        labels=list(event.labels),
        absent=list(event.absent),
        complete=event.complete,
        annotator=event.annotator,
        entry=entry,
    )


def feature_vector_message(factory: MessageFactory, vector: StampedVector,
                           frame_id: str = '') -> Any:
    """Return the FeatureVector of a vector."""
    return factory.new(
        FEATURES_TYPE,
        header=new_header(factory, vector.stamp, frame_id),
        data=factory.floats(vector.data),
        extractor=vector.extractor,
        source_topic=vector.source_topic,
        region=region_message(factory, vector.region),
        region_count=vector.region_count,
    )


def prediction_message(factory: MessageFactory, header: Any, vector: StampedVector,
                       prediction: VersionedPrediction,
                       position: Sequence[float] | None = None) -> Any:
    """Return the Prediction for a vector that came with this header; position: where known."""
    found = prediction.classification
    x, y, z = position or (0.0, 0.0, 0.0)
    return factory.new(
        PREDICTION_TYPE,
        header=header,
        labels=list(found.labels),
        scores=factory.floats(found.scores),
        novelty=float(found.novelty),
        label_set_version=prediction.version,
        threshold=float(found.threshold),
        probabilities=factory.floats(found.probabilities),
        decided_by=BY_PROBABILITY if found.by_probability else BY_SCORE,
        region=region_message(factory, vector.region),
        region_count=vector.region_count,
        source_topic=vector.source_topic,
        unknown=found.unknown,
        position_x=x, position_y=y, position_z=z,
        position_valid=position is not None,
    )


def label_set_message(factory: MessageFactory, state: LabelState, stamp: int) -> Any:
    """Return the LabelSet of the labels at a time in nanoseconds."""
    return factory.new(
        LABEL_SET_TYPE,
        header=new_header(factory, stamp),
        names=list(state.names),
        counts=list(state.counts),
        thresholds=factory.floats(state.thresholds),
        samples=state.samples,
        version=state.version,
        at_least=state.at_least,
        decision=state.decision,
        judged=state.judged,
        right=state.right,
        judged_counts=list(state.judged_counts),
        recalls=factory.floats(state.recalls),
    )


def query_message(factory: MessageFactory, header: Any, query: Query) -> Any:
    """Return the LabelQuery about the features with this header."""
    return factory.new(
        QUERY_TYPE,
        header=header,
        reason=int(query.reason),
        text=query.text,
        candidates=list(query.candidates),
        scores=factory.floats(query.scores),
        novelty=float(query.novelty),
        features=factory.floats(query.vector.data),
        extractor=query.vector.extractor,
        label=query.label,
        probabilities=factory.floats(query.probabilities),
        region=region_message(factory, query.vector.region),
        source_topic=query.vector.source_topic,
    )


def vision_message(factory: MessageFactory, header: Any, prediction: VersionedPrediction) -> Any:
    """Return all known labels as vision_msgs/Classification, best first, scores from 0 to 1.

    Of a vector that is unknown: none.
    """
    found = prediction.classification
    if found.unknown:
        return factory.new(VISION_TYPE, header=header, results=[])
    values = even_confidences_of(found)
    return factory.new(VISION_TYPE, header=header, results=[
        factory.new(HYPOTHESIS_TYPE, class_id=found.names[column], score=float(values[column]))
        for column in np.argsort(-values, kind='stable')])


def detections_message(factory: MessageFactory, header: Any,
                       detections: Iterable[Detection]) -> Any:
    """Return the answers about a picture as vision_msgs/Detection2DArray, boxes as they came."""
    return factory.new(DETECTIONS_TYPE, header=header, detections=[
        factory.new(f'{_VISION}/Detection2D', header=header, id=one.region.id,
                    bbox=_bounding_box(factory, one.region), results=[
                        factory.new(f'{_VISION}/ObjectHypothesisWithPose', hypothesis=factory.new(
                            HYPOTHESIS_TYPE, class_id=label, score=score))
                        for label, score in zip(one.labels, one.confidences, strict=True)])
        for one in detections])


def detections_3d_message(factory: MessageFactory, header: Any,
                          placed: Iterable[tuple[Detection, Sequence[float], Sequence[float]]],
                          ) -> Any:
    """Return the answers about a picture as vision_msgs/Detection3DArray.

    Args:
        factory: makes the messages.
        header: of the picture.
        placed: detections with the position and the extent of each, in metres.
    """
    detections = []
    for one, position, extent in placed:
        box = factory.new(f'{_VISION}/BoundingBox3D')
        for axis, place, side in zip('xyz', position, extent, strict=True):
            setattr(box.center.position, axis, place)
            setattr(box.size, axis, side)
        found = factory.new(f'{_VISION}/Detection3D', header=header, id=one.region.id, bbox=box)
        for label, score in zip(one.labels, one.confidences, strict=True):
            result = factory.new(f'{_VISION}/ObjectHypothesisWithPose', hypothesis=factory.new(
                HYPOTHESIS_TYPE, class_id=label, score=score))
            result.pose.pose = box.center
            found.results.append(result)
        detections.append(found)
    return factory.new(DETECTIONS_3D_TYPE, header=header, detections=detections)


def _bounding_box(factory: MessageFactory, region: Region) -> Any:
    position = factory.new(f'{_VISION}/Point2D', x=region.center_x, y=region.center_y)
    return factory.new(f'{_VISION}/BoundingBox2D', size_x=region.size_x, size_y=region.size_y,
                       center=factory.new(f'{_VISION}/Pose2D', position=position))


def label_info_message(factory: MessageFactory, header: Any, names: Sequence[str],
                       threshold: float) -> Any:
    """Return the names of the labels as vision_msgs/LabelInfo; its numbers have 16 bits."""
    return factory.new(LABEL_INFO_TYPE, header=header, threshold=float(threshold), class_map=[
        factory.new(f'{_VISION}/VisionClass', class_id=number, class_name=name)
        for number, name in enumerate(names[:2**16 - 1])])
