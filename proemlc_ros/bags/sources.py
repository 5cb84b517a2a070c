# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Finds what a bag has to learn from: feature vectors, annotations and model events, in order.

Feature vectors are taken as recorded, or made from sensor messages by the extractors of the
feature node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from proemlc_ros import conversions
from proemlc_ros.bags.entry_order import entry_of, in_entry_order
from proemlc_ros.bags.learnt_copies import Copies, find_copies, node_of
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.cdr import read_annotation, read_event, read_vector
from proemlc_ros.errors import BadSensorDataError, BagError
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.records import Annotation, Event, StampedVector

if TYPE_CHECKING:
    from proemlc_ros.features.pipeline import FeaturePipeline

# Stands for the topic of a camera's regions among the names of the sensors.
REGIONS = '/'
FLOAT_ARRAY_TYPE = 'std_msgs/msg/Float32MultiArray'

BagRecord = StampedVector | Annotation | Event
"""One thing to learn from."""
MessageReader = Callable[[Any, int], Sequence[BagRecord]]
"""Function from a message and its time to what there is to learn from it."""
Shortcut = Callable[[bytes], BagRecord | None]
"""Function from a serialized message to the same; None where it cannot tell."""


@dataclass(frozen=True)
class TopicSelection:
    """Topics that the user has named; empty: found by type.

    Args:
        features: topic of feature vectors.
        annotations: topic of annotations.
        sensors: makes the pipeline from the sensor messages of a bag to features.
        node: full name of the classifier, of several; empty: any.
    """

    features: str = ''
    annotations: str = ''
    sensors: Callable[[BagReader], FeaturePipeline] | None = None
    node: str = ''


@dataclass
class Sources:
    """Topics of one bag to learn from, and how each is read.

    Args:
        topics: the topics.
        readers: function for the messages of each topic, by its name.
        shortcuts: faster function for serialized messages, of topics that have one.
        rejects: sensor messages that could not be used, counted by cause.
        copies: messages to leave out, since they are there twice.
    """

    topics: list[BagTopic] = field(default_factory=list)
    readers: dict[str, MessageReader] = field(default_factory=dict)
    shortcuts: dict[str, Shortcut] = field(default_factory=dict)
    rejects: Counter[str] = field(default_factory=Counter)
    copies: Copies = field(default_factory=Copies)

    def add(self, topic: BagTopic, read: MessageReader, shortcut: Shortcut | None = None) -> None:
        """Add a topic."""
        self.topics.append(topic)
        self.readers[topic.name] = read
        if shortcut is not None:
            self.shortcuts[topic.name] = shortcut

    @property
    def count(self) -> int:
        """Number of messages to be read."""
        return sum(topic.count - len(self.copies.skipped.get(topic.name, ()))
                   for topic in self.topics)

    def only(self, *types: str) -> Sources:
        """Return the topics of some types alone."""
        return replace(self, topics=[topic for topic in self.topics if topic.type in types])

    def stream(self, bag: BagReader) -> Iterator[tuple[int, BagRecord]]:
        """Yield what there is to learn from with its time, in that order and that of entries."""
        entries, records = self._entries(bag), self._as_recorded(bag)
        return in_entry_order(records, entries) if entries else records

    def _entries(self, bag: BagReader) -> list[tuple[int, int]]:
        events = self.only(conversions.EVENT_TYPE)
        if not events.topics:
            return []
        with bag.again() as ahead:  # What is unreadable is noted when it is read for good.
            if not any(entry_of(event) for _, event in events._as_recorded(ahead)):
                return []
            teaching = self.only(conversions.ANNOTATION_TYPE, conversions.EVENT_TYPE)
            return [(time, entry_of(record)) for time, record in teaching._as_recorded(ahead)
                    if entry_of(record)]

    def _as_recorded(self, bag: BagReader) -> Iterator[tuple[int, BagRecord]]:
        decode = {topic.name: bag.decoder(topic) for topic in self.topics}
        places = dict.fromkeys(self.copies.skipped, -1)
        numbered = self.copies.numbered if self.copies.entries else None
        for connection, time, data in bag.raw(set(decode)):
            name = connection.topic
            if name in places:
                places[name] += 1
                if places[name] in self.copies.skipped[name]:
                    continue
            shortcut = self.shortcuts.get(name)
            record = shortcut(data) if shortcut is not None else None
            if record is not None:
                yield time, numbered(record, name, places) if numbered else record
                continue
            message = decode[name](data, time)
            if message is not None:
                for record in bag.converted(self.readers[name], message, time):
                    yield time, self.copies.numbered(record, name, places)
        bag.note_unreadable()


def find_sources(bag: BagReader, selection: TopicSelection | None = None) -> Sources:
    """Find the topics of a bag to learn from.

    Args:
        bag: open bag; a journal has annotations that carry their features.
        selection: topics that the user has named.

    Raises:
        BagError: a named topic is missing, or the choice is not clear; the text says how to name
            the topic.
    """
    selection = selection or TopicSelection()
    sources = Sources()
    features = None if selection.sensors is not None else _feature_topic(bag, selection)
    annotations = _annotation_topics(bag, selection, features)
    sources.copies = find_copies(
        # Vectors without a header have other stamps in a bag than they had for the node.
        bag, annotations, features is None or features.type == conversions.FEATURES_TYPE)
    for topic in annotations:
        sources.add(topic, lambda message, _: [conversions.annotation_of(message)],
                    read_annotation if bag.has_our(topic.type) else None)
    for topic in _of_one_node(bag.of_type(conversions.EVENT_TYPE), annotations):
        sources.add(topic, partial(_events, bag),
                    read_event if bag.has_our(topic.type) else None)
    if selection.sensors is not None:
        _add_sensors(bag, sources, selection.sensors(bag))
        return sources
    if features is not None:
        _add_features(bag, sources, features)
    elif not sources.topics or not _carries_features(bag, sources.topics[0]):
        _add_sensors(bag, sources, _default_pipeline(bag))
    return sources


def extractor_pipeline(bag: BagReader, extractors: dict[str, str]) -> FeaturePipeline:
    """Return the pipeline that uses extractors by topic, such as {'/scan': 'laser_profile'}.

    Raises:
        BagError: there is no such topic.
        ExtractorError: there is no such extractor, or it is for another sensor.
    """
    # Imported late, also below: the extractors need OpenCV, which takes its time.
    from proemlc_ros.features.settings import pipeline_from_settings
    settings: dict[str, Any] = {'sensors': []}
    for number, (name, kind) in enumerate(extractors.items()):
        topic = bag.topic(name)
        settings['sensors'].append(f'sensor{number}')
        settings[f'sensor{number}'] = {'topic': name, 'extractor': kind, 'type': topic.type}
    return pipeline_from_settings(settings)


def _annotation_topics(bag: BagReader, selection: TopicSelection,
                       features: BagTopic | None) -> list[BagTopic]:
    if not selection.annotations:
        found = [topic for topic in bag.of_type(conversions.ANNOTATION_TYPE)
                 if node_of(topic.name) == (selection.node or node_of(topic.name))]
        return found if features is None else _of_one_node(found, [features])
    topic = bag.topic(selection.annotations)
    if topic.type != conversions.ANNOTATION_TYPE:
        raise BagError(f'{bag.path}: {topic.name} has {topic.type}, not annotations')
    return [topic]


def _of_one_node(topics: list[BagTopic], beside: list[BagTopic]) -> list[BagTopic]:
    """Return the topics of the nodes that those beside them belong to; all where none has any.

    A bag may hold several robots, each with a classifier.
    """
    nodes = {node_of(topic.name) for topic in beside}
    return [topic for topic in topics if node_of(topic.name) in nodes] or topics


def _events(bag: BagReader, message: Any, time: int) -> list[Event]:
    try:
        return [conversions.event_of(message)]
    except ValueError as error:
        raise BagError(f'{bag.path}: the model event at {time} ns is of the unknown kind '
                       f'{message.kind}; read it with the version that wrote it') from error


def _feature_topic(bag: BagReader, selection: TopicSelection) -> BagTopic | None:
    if selection.features:
        topic = bag.topic(selection.features)
        if topic.type not in (conversions.FEATURES_TYPE, FLOAT_ARRAY_TYPE):
            raise BagError(
                f'{bag.path}: {topic.name} has {topic.type}, not feature vectors; '
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
                    read_vector if bag.has_our(topic.type) else None)


def _carries_features(bag: BagReader, topic: BagTopic) -> bool:
    """Tell whether annotations bring their own features, by the first of them."""
    for _, _, message in bag.messages([topic]):
        return bool(np.size(getattr(message, 'features', ())))
    return False


def _default_pipeline(bag: BagReader) -> FeaturePipeline:
    """Return the default extractor for the only sensor in a bag."""
    from proemlc_ros.features.registry import EXTRACTORS
    from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES
    found = [(topic, sensor) for sensor, types in MESSAGE_TYPES.items()
             for topic in bag.of_type(*types)]
    if len(found) != 1:
        names = ', '.join(topic.name for topic, _ in found) or 'none'
        raise BagError(
            f'{bag.path}: no feature vectors in it, and not exactly one sensor topic to make '
            f'them from (found: {names}); name one: --extract TOPIC=EXTRACTOR')
    topic, sensor = found[0]
    kind = next(name for name, extractor in EXTRACTORS.items() if extractor.sensor == sensor)
    return extractor_pipeline(bag, {topic.name: kind})


def _add_sensors(bag: BagReader, sources: Sources, pipeline: FeaturePipeline) -> None:
    for sensor in pipeline.sensors:
        topic = bag.topic(_absolute(bag, sensor.topic))
        if topic.type != sensor.message_type:
            raise BagError(f'{bag.path}: {topic.name} has {topic.type}; the extractor '
                           f'{sensor.extractor.name} was set up for {sensor.message_type}')
        sources.add(topic, _sensor_reader(pipeline, sensor.name, sources.rejects))
    regions = pipeline.regions.topic
    if regions is not None:
        sources.add(bag.topic(_absolute(bag, regions.topic)),
                    _sensor_reader(pipeline, REGIONS, sources.rejects))


def _absolute(bag: BagReader, name: str) -> str:
    """Return the full name of a topic; a relative one is in the namespace of the robot."""
    if name.startswith('/'):
        return name
    found = [topic.name for topic in bag.topics if topic.name.endswith(f'/{name}')]
    return found[0] if len(found) == 1 else f'/{name}'


def _sensor_reader(pipeline: FeaturePipeline, name: str, rejects: Counter[str]) -> MessageReader:
    def read(message: Any, time: int) -> list[StampedVector]:
        try:
            found = (pipeline.push_regions(message) if name == REGIONS
                     else pipeline.push(name, message, time))
        except BadSensorDataError as error:
            rejects[error.cause] += 1
            return []
        finally:
            if pipeline.regions.most:
                rejects.update(pipeline.regions.new_rejects())
        return [StampedVector(one.stamp, np.asarray(one.values, np.float32), one.extractor,
                              region=one.region, region_count=one.region_count)
                for one in found]

    return read
