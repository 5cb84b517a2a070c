# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a recording teaches: its feature vectors, annotations and model events, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from proemlc_ros import conversions
from proemlc_ros.bags.cdr import read_annotation, read_moment
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.topics import BagTopic
from proemlc_ros.classifier.records import Annotation, Event, StampedVector
from proemlc_ros.errors import BagError

if TYPE_CHECKING:
    from proemlc_ros.features.pipeline import FeaturePipeline

FLOAT_ARRAY_TYPE = 'std_msgs/msg/Float32MultiArray'

Taught = StampedVector | Annotation | Event
"""One thing that a recording has to say."""


@dataclass(frozen=True)
class TopicSelection:
    """What the user wants to be read; empty: found by type.

    Attributes:
        features: BagTopic of feature vectors.
        annotations: BagTopic of annotations.
        sensors: Makes the pipeline from sensor messages to features for a recording.

    """

    features: str = ''
    annotations: str = ''
    sensors: Callable[[BagReader], FeaturePipeline] | None = None


@dataclass
class Sources:
    """The topics of one recording that teach, and how each is read."""

    readers: dict[str, Callable[[Any, int], list[Taught]]] = field(default_factory=dict)
    shortcuts: dict[str, Callable[[bytes], Taught | None]] = field(default_factory=dict)
    topics: list[BagTopic] = field(default_factory=list)
    rejects: Counter[str] = field(default_factory=Counter)

    def add(
        self, topic: BagTopic, read: Callable[[Any, int], list[Taught]],
        shortcut: Callable[[bytes], Taught | None] | None = None,
    ) -> None:
        """Read a topic's messages.

        Args:
            topic: The topic.
            read: From message and time to what it teaches.
            shortcut: From serialized message to what it teaches, None where that fails.

        """
        self.topics.append(topic)
        self.readers[topic.name] = read
        if shortcut is not None:
            self.shortcuts[topic.name] = shortcut

    @property
    def count(self) -> int:
        """Number of messages to be read."""
        return sum(topic.count for topic in self.topics)

    def stream(self, bag: BagReader) -> Iterator[tuple[int, Taught]]:
        """Yield what the recording teaches, with the time it was recorded at, in that order."""
        decode = {topic.name: bag.decoder(topic) for topic in self.topics}
        for connection, time, data in bag.raw(set(decode)):
            name = connection.topic
            shortcut = self.shortcuts.get(name)
            item = shortcut(data) if shortcut is not None else None
            if item is not None:
                yield time, item
                continue
            message = decode[name](data, time)
            if message is not None:
                for item in self.readers[name](message, time):
                    yield time, item
        bag.note_unreadable()


def find_sources(bag: BagReader, choice: TopicSelection | None = None) -> Sources:
    """Find what teaches in a recording.

    Args:
        bag: The recording; a journal has annotations that carry their features.
        choice: What the user named.

    Raises:
        BagError: A named topic is missing, or it is not clear what is meant; the text says how
            to name it.

    """
    choice = choice or TopicSelection()
    sources = Sources()
    for topic in _annotation_topics(bag, choice):
        sources.add(topic, lambda message, _: [conversions.annotation_of(message)],
                    read_annotation if bag.has_our(topic.type) else None)
    for topic in bag.of_type(conversions.EVENT_TYPE):
        sources.add(topic, lambda message, _: [conversions.event_of(message)])
    if choice.sensors is not None:
        _add_pipeline(bag, sources, choice.sensors(bag))
        return sources
    topic = _feature_topic(bag, choice)
    if topic is not None:
        _add_features(bag, sources, topic)
    elif not sources.topics or not _carries_features(bag, sources.topics[0]):
        # Imported late: the extractors need OpenCV, which takes its time.
        from proemlc_ros.bags.sensors import default_pipeline
        _add_pipeline(bag, sources, default_pipeline(bag))
    return sources


def _annotation_topics(bag: BagReader, choice: TopicSelection) -> list[BagTopic]:
    if not choice.annotations:
        return bag.of_type(conversions.ANNOTATION_TYPE)
    topic = bag.topic(choice.annotations)
    if topic.type != conversions.ANNOTATION_TYPE:
        raise BagError(f'{bag.path}: {topic.name} has {topic.type}, not annotations')
    return [topic]


def _feature_topic(bag: BagReader, choice: TopicSelection) -> BagTopic | None:
    if choice.features:
        topic = bag.topic(choice.features)
        if topic.type not in (conversions.FEATURES_TYPE, FLOAT_ARRAY_TYPE):
            raise BagError(
                f'{bag.path}: {topic.name} has {topic.type}, no feature vectors; '
                'name an extractor for it: --extract TOPIC=EXTRACTOR')
        return topic
    found = bag.of_type(conversions.FEATURES_TYPE)
    if len(found) > 1:
        names = ', '.join(topic.name for topic in found)
        raise BagError(f'{bag.path}: several topics of feature vectors: {names}; '
                       'name one: --features TOPIC')
    return found[0] if found else None


def _add_features(bag: BagReader, sources: Sources, topic: BagTopic) -> None:
    if topic.type == FLOAT_ARRAY_TYPE:
        # It has no header: like the node, take the time of arrival.
        sources.add(topic, lambda message, time: [
            StampedVector(time, np.asarray(message.data, np.float32))])
    else:
        sources.add(topic, lambda message, _: [conversions.stamped_vector_of(message)],
                    read_moment if bag.has_our(topic.type) else None)


def _carries_features(bag: BagReader, topic: BagTopic) -> bool:
    """Whether annotations bring their own features, by the first of them."""
    for record in bag.records([topic]):
        features = getattr(record.message, 'features', ())
        return len(features) > 0
    return False


def _add_pipeline(bag: BagReader, sources: Sources, pipeline: FeaturePipeline) -> None:
    from proemlc_ros.bags.sensors import sensor_readers
    for name, read in sensor_readers(bag, pipeline, sources.rejects):
        sources.add(bag.topic(name), read)
