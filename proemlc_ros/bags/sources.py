# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Finds what a bag has to learn from: feature vectors, annotations and model events, in order.

Feature vectors are taken as recorded, or made from sensor messages by the extractors of the
feature node. An annotation that was recorded twice, as it was sent (`~/annotations`) and as it was
learnt (`~/learnt`), counts once. What was taught comes in the order of its journal entries: a
recorder may get an undo before the annotation that it takes back.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from proemlc_ros import conversions
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.cdr import read_annotation, read_event, read_vector
from proemlc_ros.errors import BadSensorDataError, BagError
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.records import Annotation, Event, StampedVector

if TYPE_CHECKING:
    from proemlc_ros.features.pipeline import FeaturePipeline

# Stands for the topic of a camera's regions among the names of the sensors.
_REGIONS = '/'
FLOAT_ARRAY_TYPE = 'std_msgs/msg/Float32MultiArray'
_SENT, _LEARNT = '/annotations', '/learnt'
# Nanoseconds that a record may come too late. Numbers that are smaller later on are of another
# journal, since the classifier has begun again.
WINDOW = 5_000_000_000

BagRecord = StampedVector | Annotation | Event
"""One thing to learn from."""
_MessageReader = Callable[[Any, int], Sequence[BagRecord]]
_Shortcut = Callable[[bytes], BagRecord | None]
_Content = tuple[tuple[str, ...], tuple[str, ...], bool, str]


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


class _Taught(NamedTuple):
    """An annotation or event without features, and where it is: the place in its topic."""

    time: int
    topic: str
    place: int
    record: Annotation | Event
    has_features: bool


@dataclass
class Sources:
    """Topics of one bag to learn from, and how each is read.

    Attributes:
        topics: the topics.
        rejects: sensor messages that could not be used, counted by cause.
        taught: time and record of annotations, without features, and of events, in the order of
            their entries; only of a bag that has events.
    """

    topics: list[BagTopic] = field(default_factory=list)
    rejects: Counter[str] = field(default_factory=Counter)
    taught: list[tuple[int, Annotation | Event]] = field(default_factory=list)
    _readers: dict[str, _MessageReader] = field(default_factory=dict)
    # Faster ones, for serialized messages; they return None where they cannot tell.
    _shortcuts: dict[str, _Shortcut] = field(default_factory=dict)
    # Places of copies to leave out, by topic, and numbers of entries that only they have, by
    # topic and place of those that stay.
    _skipped: dict[str, set[int]] = field(default_factory=dict)
    _numbers: dict[str, dict[int, int]] = field(default_factory=dict)
    # Time and number of what is numbered; empty: the order of the bag is that of the entries.
    _entries: list[tuple[int, int]] = field(default_factory=list)

    def add(self, topic: BagTopic, read: _MessageReader,
            shortcut: _Shortcut | None = None) -> None:
        """Add a topic: how its messages are read, and how its serialized ones are read faster."""
        self.topics.append(topic)
        self._readers[topic.name] = read
        if shortcut is not None:
            self._shortcuts[topic.name] = shortcut

    @property
    def count(self) -> int:
        """Number of messages to be read."""
        return sum(topic.count - len(self._skipped.get(topic.name, ())) for topic in self.topics)

    def stream(self, bag: BagReader) -> Iterator[tuple[int, BagRecord]]:
        """Yield what there is to learn from with its time, in that order and that of entries."""
        recorded = self._as_recorded(bag, self.topics)
        records = ((time, self._numbered(record, name, place))
                   for time, name, place, record in recorded
                   if name not in self._skipped or place not in self._skipped[name])
        return _in_entry_order(records, self._entries) if self._entries else records

    def look_ahead(self, bag: BagReader, prefer_learnt: bool) -> None:
        """Read what was taught, to know what is there twice and in which order it belongs.

        Args:
            bag: open bag.
            prefer_learnt: of copies keep that of `~/learnt`, which has the stamp of the vector
                that the node found; else that of `~/annotations`.
        """
        topics = [topic for topic in self.topics
                  if topic.type in (conversions.ANNOTATION_TYPE, conversions.EVENT_TYPE)]
        names = {topic.name for topic in topics}
        pairs = [(name, node_of(name) + _LEARNT) for name in names
                 if name.endswith(_SENT) and node_of(name) + _LEARNT in names]
        has_events = any(topic.type == conversions.EVENT_TYPE for topic in topics)
        if not pairs and not has_events:
            return
        with bag.again() as ahead:  # What is unreadable is noted when it is read for good.
            found = [_taught(*one) for one in self._as_recorded(ahead, topics)]
        for sent, learnt in pairs:
            self._find_copies([one for one in found if one.topic == sent],
                              [one for one in found if one.topic == learnt], prefer_learnt)
        if not has_events:
            return
        once = [(one.time, self._numbered(one.record, one.topic, one.place)) for one in found
                if one.place not in self._skipped.get(one.topic, ())]
        if any(isinstance(record, Event) and record.entry for _, record in once):
            self._entries = [(time, record.entry) for time, record in once if record.entry]
            once = list(_in_entry_order(once, self._entries))
        self.taught = once

    def _find_copies(self, sent: list[_Taught], learnt: list[_Taught],
                     prefer_learnt: bool) -> None:
        if not sent or not learnt:
            return
        skipped = {topic: self._skipped.setdefault(topic, set())
                   for topic in (sent[0].topic, learnt[0].topic)}
        for one, other in _pairs(sent, learnt):
            # What ~/learnt publishes has no features, so that the other one is needed.
            if prefer_learnt and not one.has_features:
                skipped[one.topic].add(one.place)
            else:
                skipped[other.topic].add(other.place)
                self._numbers.setdefault(one.topic, {})[one.place] = other.record.entry

    def _numbered(self, record: Any, topic: str, place: int) -> Any:
        """Return an annotation with the number that only its copy has; anything else as it is."""
        if topic in self._numbers:
            return record._replace(entry=self._numbers[topic].get(place, record.entry))
        return record

    def _as_recorded(self, bag: BagReader, topics: Iterable[BagTopic]
                     ) -> Iterator[tuple[int, str, int, BagRecord]]:
        """Yield time, topic, place in the topic, and record."""
        decode = {topic.name: bag.decoder(topic) for topic in topics}
        places = dict.fromkeys(decode, -1)
        for connection, time, data in bag.raw(set(decode)):
            name = connection.topic
            places[name] += 1
            shortcut = self._shortcuts.get(name)
            record = shortcut(data) if shortcut is not None else None
            if record is not None:
                yield time, name, places[name], record
                continue
            message = decode[name](data, time)
            if message is not None:
                for record in bag.converted(self._readers[name], message, time):
                    yield time, name, places[name], record
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
    for topic in annotations:
        sources.add(topic, lambda message, _: [conversions.annotation_of(message)],
                    read_annotation if bag.has_our(topic.type) else None)
    for topic in _of_one_node(bag.of_type(conversions.EVENT_TYPE), annotations):
        sources.add(topic, partial(_events, bag), read_event if bag.has_our(topic.type) else None)
    # Vectors without a header have other stamps in a bag than they had for the node.
    sources.look_ahead(bag, features is None or features.type == conversions.FEATURES_TYPE)
    if selection.sensors is not None:
        _add_sensors(bag, sources, selection.sensors(bag))
        return sources
    if features is not None:
        _add_features(bag, sources, features)
    elif not sources.topics or not _carries_features(bag, sources.topics[0]):
        _add_sensors(bag, sources, _default_pipeline(bag))
    return sources


def node_of(topic: str) -> str:
    """Return the full name of the node whose private topic this is, such as /proemlc."""
    return topic.rpartition('/')[0]


def _in_entry_order(records: Iterable[tuple[int, Any]],
                    entries: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Any]]:
    """Yield records with their times, each behind those of smaller numbers that come too late.

    Args:
        records: with the times at which they were recorded, in that order.
        entries: time and number of those that have one, in the same order.
    """
    last_before = _last_before(entries)
    held: list[tuple[int, int, BagRecord]] = []
    place = -1
    for time, record in records:
        entry = 0 if isinstance(record, StampedVector) else record.entry
        if not entry:
            yield time, record
            continue
        place += 1
        heappush(held, (entry, place, record))
        while held and last_before[held[0][1]] <= place:
            yield time, heappop(held)[2]


def _last_before(entries: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each entry the place of the last one that belongs before it, or its own."""
    found = []
    for place, (time, entry) in enumerate(entries):
        last = place
        for other in range(place + 1, len(entries)):
            if entries[other][0] > time + WINDOW:
                break
            if entries[other][1] < entry:
                last = other
        found.append(last)
    return found


def _taught(time: int, topic: str, place: int, record: Any) -> _Taught:
    if isinstance(record, Annotation):
        return _Taught(time, topic, place, record.bare(), record.features is not None)
    return _Taught(time, topic, place, record, False)


def _content(said: Any) -> _Content:
    # Names as the node has them before it learns them.
    labels, absent = (tuple(sorted({unicodedata.normalize('NFC', name) for name in names}))
                      for names in (said.labels, said.absent))
    return labels, absent, said.complete, said.annotator


def _pairs(sent: list[_Taught], learnt: list[_Taught]) -> Iterator[tuple[_Taught, _Taught]]:
    """Pair by stamp, then those about the newest vector, or about one near, in their order."""
    groups: dict[_Content, tuple[list[_Taught], list[_Taught]]] = defaultdict(lambda: ([], []))
    for side, those in enumerate((sent, learnt)):
        for one in those:
            groups[_content(one.record)][side].append(one)
    for ones, others in groups.values():
        by_stamp: dict[int, list[_Taught]] = defaultdict(list)
        for other in others:
            by_stamp[_stamp(other)].append(other)
        left = []
        for one in ones:
            if same := by_stamp.get(_stamp(one)):
                yield one, same.pop(0)
            elif not one.has_features:
                left.append(one)
        rest = sorted((other for same in by_stamp.values() for other in same),
                      key=lambda other: other.place)
        yield from zip(left, rest, strict=False)


def _stamp(taught: _Taught) -> int:
    record = taught.record
    return record.stamp if isinstance(record, Annotation) else 0


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
                    _sensor_reader(pipeline, _REGIONS, sources.rejects))


def _absolute(bag: BagReader, name: str) -> str:
    """Return the full name of a topic; a relative one is in the namespace of the robot."""
    if name.startswith('/'):
        return name
    found = [topic.name for topic in bag.topics if topic.name.endswith(f'/{name}')]
    return found[0] if len(found) == 1 else f'/{name}'


def _sensor_reader(pipeline: FeaturePipeline, name: str, rejects: Counter[str]) -> _MessageReader:
    def read(message: Any, time: int) -> list[StampedVector]:
        try:
            found = (pipeline.push_regions(message) if name == _REGIONS
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
