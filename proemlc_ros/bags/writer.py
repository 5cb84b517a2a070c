# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a new bag, with message definitions, that every ROS 2 tool can read."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
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
from proemlc_ros.bags.reader import offered_qos
from proemlc_ros.errors import BagError
from proemlc_ros.records import Annotation, Event, StampedVector, Vector
from proemlc_ros.stamps import NANOSECONDS

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
