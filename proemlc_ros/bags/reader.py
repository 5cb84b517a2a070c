# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a bag: a rosbag2 folder, a bare storage file, or the journal of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from heapq import merge
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.interfaces import Connection, ConnectionExtRosbag2, Qos
from rosbags.typesys.store import Typestore

from proemlc_ros.bags.message_types import (
    GuessedTypeReader,
    default_typestore,
    full_type_name,
    is_defined,
    is_ours,
    read_any_version,
    typestore_of,
)
from proemlc_ros.bags.storage_files import open_readers, unpack_message
from proemlc_ros.errors import BagError
from proemlc_ros.journal.metadata import BagTopic


class BagMessage(NamedTuple):
    """One message: its topic, when it was recorded in nanoseconds, and its content."""

    topic: BagTopic
    time: int
    message: Any


class BagReader(AbstractContextManager['BagReader']):
    """A bag, open for reading.

    Args:
        path: rosbag2 folder (the journal of a node is one), or a .db3 or .mcap file.
        best_effort: read the intact part of a damaged bag; `notes` says what is lost.

    Raises:
        BagError: the bag is missing or damaged; the text says what to do.
    """

    def __init__(self, path: str | Path, best_effort: bool = False) -> None:
        self.path = Path(path)
        self.notes: list[str] = []
        self._best_effort = best_effort
        self._unreadable = 0
        self._stack = ExitStack()
        try:
            self._readers = open_readers(self.path, best_effort, self.notes, self._stack)
            self._types = typestore_of(self.connections, self.notes)
            self._defined = {
                full_type_name(connection.msgtype) for connection in self.connections
                if is_defined(connection.msgdef)
            }
            self.topics = _topics(self.connections, self._types, self.notes)
            self._check_counts()
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._stack.close()

    def again(self) -> BagReader:
        """Open the same bag a second time."""
        return BagReader(self.path, self._best_effort)

    @property
    def types(self) -> Typestore:
        """Message types of the bag."""
        return self._types

    def has_our(self, type_name: str) -> bool:
        """Tell whether the bag defines a type as this installation does."""
        ours = default_typestore()
        return self._types is ours or (
            self._types.fielddefs[type_name][1] == ours.fielddefs[type_name][1])

    @property
    def connections(self) -> list[Connection]:
        """Topics as the library `rosbags` describes them, of each file."""
        return [connection for reader in self._readers for connection in reader.connections]

    @property
    def start(self) -> int:
        """Time of the first message in nanoseconds; 0 for an empty bag."""
        return min((file.start_time for file in self._filled()), default=0)

    @property
    def end(self) -> int:
        """Time of the last message in nanoseconds; 0 for an empty bag."""
        return max((file.end_time - 1 for file in self._filled()), default=0)

    @property
    def count(self) -> int:
        """Number of messages."""
        return sum(topic.count for topic in self.topics)

    def topic(self, name: str) -> BagTopic:
        """Return a topic by name.

        Raises:
            BagError: there is none, or its type is unknown.
        """
        for topic in self.topics:
            if topic.name == name:
                if topic.readable:
                    return topic
                raise BagError(
                    f'{self.path}: topic {name} has the unknown type {topic.type} and the '
                    'bag does not define it; record again with a newer ROS, or leave it out')
        names = ', '.join(topic.name for topic in self.topics) or 'none'
        raise BagError(f'{self.path}: no topic {name}; it has: {names}')

    def of_type(self, *types: str) -> list[BagTopic]:
        """Return the topics of the given types that have messages."""
        return [topic for topic in self.topics if topic.type in types and topic.count]

    def messages(self, topics: Sequence[BagTopic]) -> Iterator[BagMessage]:
        """Yield the messages of some topics in the order they were recorded in.

        Raises:
            BagError: the bag is damaged, and `best_effort` is false.
        """
        by_name = {topic.name: topic for topic in topics}
        decode = {topic.name: self.decoder(topic) for topic in topics}
        for connection, time, data in self.raw(set(by_name)):
            message = decode[connection.topic](data, time)
            if message is not None:
                yield BagMessage(by_name[connection.topic], time, message)
        self.note_unreadable()

    def note_unreadable(self) -> None:
        """Note how many messages could not be read, once all have been tried."""
        if self._unreadable:
            self.notes.append(f'{self._unreadable} messages could not be read and were left out')
            self._unreadable = 0

    def raw(self, names: set[str]) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield serialized messages of the named topics in the order they were recorded in.

        Raises:
            BagError: the bag is damaged, and `best_effort` is false.
        """
        streams = []
        for reader in self._readers:
            chosen = [con for con in reader.connections if con.topic in names]
            if chosen:
                streams.append(reader.messages(chosen))
        ordered = streams[0] if len(streams) == 1 else merge(*streams, key=lambda item: item[1])
        try:
            for connection, time, data in ordered:
                # A .db3 file may have anything in any column.
                if type(time) is int and isinstance(data, bytes):
                    yield connection, time, unpack_message(data)
                elif self._best_effort:
                    self._unreadable += 1
                else:
                    raise BagError(f'a message of {connection.topic} has no time or no content')
        except Exception as error:
            # rosbags lets errors of all kinds through; whatever it is, the file is at fault.
            self._damaged(error)

    def _damaged(self, error: Exception) -> None:
        text = f'the bag is damaged: {error or type(error).__name__}'
        if not self._best_effort:
            raise BagError(
                f'{self.path}: {text}; use --best-effort to read the intact part') from error
        self.notes.append(f'{text}; what came after it was left out')

    def decoder(self, topic: BagTopic) -> Callable[[bytes, int], Any]:
        """Return the function from serialized data and time to a message of the topic."""
        read = self._reader(topic.type)

        def decode(data: bytes, time: int) -> Any:
            try:
                return read(data)
            except Exception as error:  # As in raw().
                if not self._best_effort:
                    raise BagError(
                        f'{self.path}: a message of {topic.name} at {time} ns cannot be read as '
                        f'{topic.type}: {error}; use --best-effort to leave such messages out'
                    ) from error
                self._unreadable += 1
                return None

        return decode

    def converted(self, convert: Callable[[Any, int], Sequence[Any]], message: Any,
                  time: int) -> Sequence[Any]:
        """Return what a function makes of a message; nothing where it cannot be used.

        Raises:
            BagError: it cannot be used, and `best_effort` is false.
        """
        try:
            return convert(message, time)
        except BagError:
            raise
        except Exception as error:
            # The bag may define a type with other fields than ours, or with other types of them.
            if not self._best_effort:
                raise BagError(f'{self.path}: a message at {time} ns cannot be used: '
                               f'{type(error).__name__}: {error}') from error
            self._unreadable += 1
            return ()

    def _reader(self, name: str) -> Callable[[bytes], object]:
        if is_ours(name, self._types):
            return partial(read_any_version, name, self._types)
        if name in self._defined:
            return lambda data: self._types.deserialize_cdr(data, name)
        return GuessedTypeReader(name, self._types)

    def _check_counts(self) -> None:
        """Trust the files, not the metadata, which a killed recorder has left out of date."""
        stored: dict[str, int] = {}
        for storage in self._storages():
            for connection in storage.connections:
                stored[connection.topic] = stored.get(connection.topic, 0) + connection.msgcount
        if sum(stored.values()) != self.count:
            self.notes.append(f'metadata.yaml counts {self.count} messages, the files hold '
                              f'{sum(stored.values())}')
            self.topics = [
                replace(topic, count=stored.get(topic.name, 0)) for topic in self.topics]

    def _storages(self) -> list[Any]:
        """Return the readers of the single files behind the readers."""
        return [
            storage for reader in self._readers
            for storage in getattr(reader.storage, 'storages', (reader.storage,))
        ]

    def _filled(self) -> list[Any]:
        described = [storage.metadata for storage in self._storages()]
        return [metadata for metadata in described if metadata.message_count]


def offered_qos(connection: Connection) -> list[Qos]:
    """Return the QoS profiles that the publishers of a recorded topic offered."""
    extra = connection.ext
    return list(extra.offered_qos_profiles) if isinstance(extra, ConnectionExtRosbag2) else []


def _topics(
    connections: Sequence[Connection], types: Typestore, notes: list[str]
) -> list[BagTopic]:
    """Return the topics of all files of a bag, and note what is not as it should be."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for connection in connections:
        name = connection.topic
        names[name] = full_type_name(connection.msgtype)
        counts[name] = counts.get(name, 0) + connection.msgcount
        if names[name] != connection.msgtype:
            notes.append(f'{name} has the old type name {connection.msgtype}')
    if not any(is_defined(connection.msgdef) for connection in connections):
        notes.append('no message definitions in it; those of this installation are used')
    topics = [
        BagTopic(name, kind, counts[name], kind in types.fielddefs) for name, kind in names.items()
    ]
    for topic in topics:
        if topic.count and not topic.readable:
            notes.append(f'{topic.name} has the unknown type {topic.type}')
    return topics
