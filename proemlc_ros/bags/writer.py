# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes bags: of samples, or copies of other bags with annotations added."""

from __future__ import annotations

import math
import shutil
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from proemlc_ros import conversions
from proemlc_ros.bags.message_types import (
    RosbagsMessages,
    definition_and_hash,
    full_type_name,
    is_defined,
    matching_typestore,
)
from proemlc_ros.bags.reader import BagReader, offered_qos
from proemlc_ros.classifier.validation import Limits
from proemlc_ros.core.labels import check_label
from proemlc_ros.errors import BagError, DataSetError, LabelError
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.label_text import CELL_SEPARATORS, csv_rows, is_yes, split_labels
from proemlc_ros.records import Annotation, Event, StampedVector, Vector
from proemlc_ros.stamps import NANOSECONDS, stamp_of

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
# Names of the classifier node's topics, so that the bag can be played to it without remapping.
FEATURES_TOPIC = '/proemlc/features'
ANNOTATIONS_TOPIC = '/proemlc/annotations'
EVENTS_TOPIC = '/proemlc/events'
# Any stamp except zero, which means "the newest" to an annotation.
DEFAULT_START = 1_700_000_000 * NANOSECONDS


class BagWriter(AbstractContextManager['BagWriter']):
    """A new bag; after an error nothing of it stays behind.

    Args:
        path: folder to make.
        storage: 'mcap' or 'sqlite3'.

    Raises:
        BagError: the folder exists already, or cannot be made.
    """

    def __init__(self, path: str | Path, storage: str = 'mcap') -> None:
        self.path = Path(path)
        if self.path.exists():
            raise BagError(f'{self.path}: exists already; choose another name or remove it')
        self.messages = RosbagsMessages()
        self._connections: dict[str, Connection] = {}
        try:
            self._writer = Writer(self.path, version=9, storage_plugin=STORAGES[storage])
            self._writer.open()
        except (OSError, WriterError) as error:
            raise BagError(f'{self.path}: cannot be written: {error}') from error

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Finish the bag, or remove it after an error."""
        if kind is None:
            self._writer.close()
        else:
            self._writer.abort()
            shutil.rmtree(self.path, ignore_errors=True)

    def write_vector(self, vector: StampedVector, time: int, topic: str = FEATURES_TOPIC) -> None:
        """Write a feature vector as recorded at a time in nanoseconds."""
        message = conversions.feature_vector_message(self.messages, vector)
        self._write(topic, conversions.FEATURES_TYPE, time, message)

    def write_annotation(
        self, annotation: Annotation, time: int, topic: str = ANNOTATIONS_TOPIC
    ) -> None:
        """Write an annotation as recorded at a time in nanoseconds."""
        message = conversions.annotation_message(self.messages, annotation, annotation.entry)
        self._write(topic, conversions.ANNOTATION_TYPE, time, message)

    def write_event(self, event: Event, time: int, topic: str = EVENTS_TOPIC) -> None:
        """Write a change of the model as recorded at a time in nanoseconds."""
        message = conversions.event_message(self.messages, event, event.entry)
        self._write(topic, conversions.EVENT_TYPE, time, message)

    def copy(self, source: Connection, types: Typestore, time: int, data: bytes) -> None:
        """Copy a message of another bag as it is.

        Args:
            source: its topic there; definitions and QoS profiles are copied too.
            types: message types of that bag.
            time: when it was recorded, in nanoseconds.
            data: the serialized message.
        """
        connection = self._connections.get(source.topic)
        if connection is None:
            connection = self._copy_connection(source, types, data)
        self._writer.write(connection, time, data)

    def _write(self, topic: str, type_name: str, time: int, message: object) -> None:
        connection = self._connections.get(topic)
        if connection is None:
            connection = self._writer.add_connection(
                topic, type_name, typestore=self.messages.store)
            self._connections[topic] = connection
        self._writer.write(connection, time, self.messages.serialize(message, type_name))

    def _copy_connection(self, source: Connection, types: Typestore, data: bytes) -> Connection:
        name = full_type_name(source.msgtype)
        definition, type_hash = source.msgdef.data, source.digest
        if not is_defined(source.msgdef):
            definition, type_hash = _guessed_definition(name, data, types)
        connection = self._writer.add_connection(
            source.topic, name, msgdef=definition,
            # Storage mcap keeps no hashes.
            rihs01=type_hash or types.hash_rihs01(name),
            offered_qos_profiles=offered_qos(source),
        )
        self._connections[source.topic] = connection
        return connection


def make_bag(
    path: str | Path, samples: Iterable[tuple[Vector, tuple[str, ...]]], storage: str = 'mcap',
    rate: float = 10.0, start: int = DEFAULT_START, extractor: str = '',
) -> int:
    """Write samples to a new bag: each a feature vector, then its annotation.

    Args:
        path: folder to make.
        samples: feature values and label names of each sample, in the order to be played.
        storage: 'mcap' or 'sqlite3'.
        rate: samples per second when the bag is played.
        start: time of the first sample in nanoseconds.
        extractor: extractor named in the feature vectors.

    Returns:
        Number of samples.

    Raises:
        BagError: the folder exists already, or cannot be written.
    """
    period = round(NANOSECONDS / rate)
    count = 0
    with BagWriter(path, storage) as bag:
        for count, (values, labels) in enumerate(samples, 1):
            time = start + (count - 1) * period
            bag.write_vector(StampedVector(time, values, extractor), time)
            # Half a period later: after its own features, before the next.
            bag.write_annotation(Annotation(time, labels), time + period // 2)
    return count


def _guessed_definition(name: str, data: bytes, types: Typestore) -> tuple[str, str]:
    """Return definition and hash of a type by one message; of an empty type if it is unknown."""
    store = matching_typestore(name, data, types)
    if store is not None:
        return definition_and_hash(name, store)
    nothing = get_typestore(Stores.EMPTY)
    nothing.register(get_types_from_msg('', name))
    return '', nothing.hash_rihs01(name)


_COLUMNS = ('start', 'end', 'labels', 'absent', 'complete')


@dataclass(frozen=True)
class LabelSpan:
    """One line of the CSV file.

    Args:
        line: number of the line, for error messages.
        start: nanoseconds, as the file counts them.
        end: nanoseconds; None: only the message nearest to `start`.
        labels: names that are present; none: "nothing of interest".
        absent: names that are absent; matters where `complete` is false.
        complete: whether all other labels are absent.
    """

    line: int
    start: int
    end: int | None
    labels: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True


def read_label_spans(path: str | Path) -> list[LabelSpan]:
    """Read a CSV file of times and labels.

    Its header names the columns: `start` (or `time`) in seconds and `labels` (names separated by
    ",", ";" or "|", unless in quotes); optional are `end`, `absent` and `complete`.

    Raises:
        DataSetError: the file cannot be read or has an error; the text names file and line.
    """
    path = Path(path)
    rows = csv_rows(path)
    if not rows:
        raise DataSetError(f'{path}: is empty; expected a header such as start,end,labels')
    header = _header(path, rows[0][1])
    spans = []
    for line, row in rows[1:]:
        if len(row) > len(header):
            raise DataSetError(f'{path}:{line}: {len(row)} values for {len(header)} columns')
        try:
            spans.append(_span(line, dict(zip(header, row, strict=False))))
        except ValueError as error:
            raise DataSetError(f'{path}:{line}: {error}') from None
    if not spans:
        raise DataSetError(f'{path}: has no lines below its header')
    return spans


def annotate_bag(
    source: BagReader, target: str | Path, spans: Sequence[LabelSpan], topic: BagTopic,
    storage: str = 'mcap', relative: bool = True, annotator: str = '', reach: float = 0.5,
) -> int:
    """Copy a bag and put an annotation behind each message that a span covers.

    Args:
        source: bag to copy.
        target: folder to make.
        spans: labels by time. A message that several spans cover gets all their labels.
        topic: topic of the messages to annotate.
        storage: 'mcap' or 'sqlite3'.
        relative: whether times count from the beginning of the bag, or are dates.
        annotator: name written into the annotations.
        reach: largest distance in seconds of a span without end from the nearest message.

    Returns:
        Number of annotations written.

    Raises:
        BagError: a bag cannot be read or written.
        DataSetError: a line lies outside of the bag.
    """
    chosen = _covered(source, topic, spans, relative, reach)
    names = {topic.name for topic in source.topics}
    read = source.decoder(topic)
    index = -1
    with BagWriter(target, storage) as bag:
        for connection, time, data in source.raw(names):
            bag.copy(connection, source.types, time, data)
            if connection.topic != topic.name:
                continue
            index += 1
            if index in chosen:
                stamp = stamp_of(getattr(read(data, time), 'header', None)) or time
                # At the same time: behind the message it is about, before the next one.
                bag.write_annotation(
                    _annotation(stamp, chosen[index], annotator), time, ANNOTATIONS_TOPIC)
    return len(chosen)


def _header(path: Path, row: Sequence[str]) -> list[str]:
    names = [name.strip().lower().replace('time', 'start') for name in row]
    unknown = [name for name in names if name not in _COLUMNS]
    if unknown or 'start' not in names or 'labels' not in names or len(set(names)) < len(names):
        raise DataSetError(
            f'{path}:1: the header is {",".join(row)!r}; expected start (or time) and labels, '
            'and optionally end, absent, complete')
    return names


def _span(line: int, cells: dict[str, str]) -> LabelSpan:
    start = _time(cells['start'])
    end = _time(cells['end']) if cells.get('end', '').strip() else None
    if end is not None and end < start:
        raise ValueError(f'the end {cells["end"]} is before the start {cells["start"]}')
    complete = cells.get('complete', '').strip()
    try:
        is_complete = is_yes(complete or 'yes')
    except ValueError:
        raise ValueError(f'complete is {complete!r}; expected true or false') from None
    return LabelSpan(
        line, start, end, _names(cells.get('labels', '')), _names(cells.get('absent', '')),
        is_complete)


def _time(text: str) -> int:
    try:
        seconds, _, fraction = text.strip().partition('.')
        # By parts: a float does not hold the nanoseconds of a date.
        if seconds.isdecimal() and (not fraction or fraction.isdecimal()):
            return int(seconds) * NANOSECONDS + int(fraction[:9].ljust(9, '0'))
        value = float(text)
    except ValueError:
        raise ValueError(f'{text!r} is not a time in seconds') from None
    if not math.isfinite(value) or value < 0:
        raise ValueError(f'{text!r} is not a time in seconds')
    return round(value * NANOSECONDS)


def _names(text: str) -> tuple[str, ...]:
    names = split_labels(text, CELL_SEPARATORS)
    for name in names:
        try:
            check_label(name, Limits().max_label_length)
        except LabelError as error:
            raise ValueError(str(error)) from error
    return names


def _covered(
    source: BagReader, topic: BagTopic, spans: Sequence[LabelSpan], relative: bool, reach: float
) -> dict[int, list[LabelSpan]]:
    """Return the spans that cover each message of the topic, by the message's number."""
    times = [time for _, time, _ in source.raw({topic.name})]
    if not times:
        raise BagError(f'{source.path}: topic {topic.name} has no messages to annotate')
    origin = source.start if relative else 0
    covered: dict[int, list[LabelSpan]] = {}
    for span in spans:
        start = origin + span.start
        if span.end is None:
            numbers = [_nearest(times, start, reach, span, source)]
        else:
            first = bisect_left(times, start)
            numbers = list(range(first, bisect_left(times, origin + span.end + 1)))
        if not numbers:
            raise DataSetError(
                f'line {span.line}: no message of {topic.name} lies in its span; '
                f'{_extent(source, relative)}')
        for number in numbers:
            covered.setdefault(number, []).append(span)
    return covered


def _nearest(
    times: Sequence[int], time: int, reach: float, span: LabelSpan, source: BagReader
) -> int:
    place = bisect_left(times, time)
    near = min(range(max(0, place - 1), min(len(times), place + 1)),
               key=lambda number: abs(times[number] - time))
    if abs(times[near] - time) > reach * NANOSECONDS:
        raise DataSetError(
            f'line {span.line}: the nearest message is {abs(times[near] - time) / NANOSECONDS:.3f}'
            f' s away, more than {reach:g} s; {_extent(source, True)}')
    return near


def _annotation(stamp: int, spans: Sequence[LabelSpan], annotator: str) -> Annotation:
    labels = tuple(dict.fromkeys(name for span in spans for name in span.labels))
    absent = dict.fromkeys(name for span in spans for name in span.absent)
    return Annotation(
        stamp, labels, tuple(name for name in absent if name not in labels),
        all(span.complete for span in spans), annotator=annotator)


def _extent(source: BagReader, relative: bool) -> str:
    if relative:
        return f'the bag lasts {(source.end - source.start) / NANOSECONDS:.3f} s'
    return (f'the bag goes from {source.start / NANOSECONDS:.3f} '
            f'to {source.end / NANOSECONDS:.3f}')
