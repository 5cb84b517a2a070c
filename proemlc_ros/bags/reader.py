# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reading a recording: a rosbag2 folder, a bare storage file, or a node's journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from heapq import merge
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader
from rosbags.typesys.store import Typestore

from proemlc_ros.bags.files import paths_to_open, storage_files
from proemlc_ros.bags.message_types import (
    GuessedTypeReader,
    default_types,
    full_type_name,
    is_defined,
    types_of,
)
from proemlc_ros.bags.topics import BagMessage, BagTopic, describe
from proemlc_ros.errors import BagError


class BagReader(AbstractContextManager['BagReader']):
    """A recording, open for reading.

    Args:
        path: A rosbag2 folder (a node's journal is one), or a .db3 or .mcap file.
        best_effort: Use what is readable of a damaged recording; `notes` says what is lost.

    Raises:
        BagError: It is missing or damaged; the text says what to do.

    """

    def __init__(self, path: str | Path, best_effort: bool = False) -> None:
        """Open the recording."""
        self.path = Path(path)
        self.notes: list[str] = []
        self._best_effort = best_effort
        self._unreadable = 0
        self._stack = ExitStack()
        try:
            self._readers = self._open_all()
            connections = [con for reader in self._readers for con in reader.connections]
            self._types = types_of(connections, self.notes)
            self._defined = {
                full_type_name(connection.msgtype) for connection in connections
                if is_defined(connection.msgdef)
            }
            self.topics = describe(connections, self._types, self.notes)
            self._check_counts()
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._stack.close()

    @property
    def types(self) -> Typestore:
        """The message types of the recording."""
        return self._types

    def has_our(self, type_name: str) -> bool:
        """Whether the recording has a type in the form that it has here."""
        ours = default_types().fielddefs
        return self._types is default_types() or (
            self._types.fielddefs[type_name][1] == ours[type_name][1])

    @property
    def connections(self) -> list[Connection]:
        """The topics as the library `rosbags` describes them."""
        return [connection for reader in self._readers for connection in reader.connections]

    @property
    def start(self) -> int:
        """Time of the first message in nanoseconds; 0 for an empty recording."""
        return min((file.start_time for file in self._filled()), default=0)

    @property
    def end(self) -> int:
        """Time of the last message in nanoseconds; 0 for an empty recording."""
        return max((file.end_time - 1 for file in self._filled()), default=0)

    @property
    def count(self) -> int:
        """Number of messages."""
        return sum(topic.count for topic in self.topics)

    def topic(self, name: str) -> BagTopic:
        """Return a topic by name.

        Raises:
            BagError: There is none, or its type is unknown.

        """
        for topic in self.topics:
            if topic.name == name:
                if topic.readable:
                    return topic
                raise BagError(
                    f'{self.path}: topic {name} has the unknown type {topic.type} and the '
                    'recording does not define it; record again with a newer ROS, or leave it out'
                )
        names = ', '.join(topic.name for topic in self.topics) or 'none'
        raise BagError(f'{self.path}: no topic {name}; it has: {names}')

    def of_type(self, *types: str) -> list[BagTopic]:
        """Return the topics of the given types that have messages."""
        return [topic for topic in self.topics if topic.type in types and topic.count]

    def records(self, topics: list[BagTopic]) -> Iterator[BagMessage]:
        """Read the messages of some topics in the order they were recorded in.

        Raises:
            BagError: The recording is damaged, unless the best effort was asked for.

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
        """Read serialized messages of the named topics in recorded order.

        Raises:
            BagError: The recording is damaged, unless the best effort was asked for.

        """
        streams = []
        for reader in self._readers:
            chosen = [con for con in reader.connections if con.topic in names]
            if chosen:
                streams.append(reader.messages(chosen))
        ordered = streams[0] if len(streams) == 1 else merge(*streams, key=lambda item: item[1])
        try:
            yield from ordered
        except Exception as error:
            # rosbags checks files with assert and lets errors of sqlite, struct and the
            # decompressors through; whatever it is, the file is at fault.
            self._damaged(error)

    def _damaged(self, error: Exception) -> None:
        text = f'the recording is damaged: {error or type(error).__name__}'
        if not self._best_effort:
            raise BagError(
                f'{self.path}: {text}; use --best-effort to take what is readable') from error
        self.notes.append(f'{text}; what came after it was left out')

    def decoder(self, topic: BagTopic) -> Callable[[bytes, int], Any]:
        """Return the function from serialized data and time to a message of the topic."""
        read = self._reader(topic.type)

        def decode(data: bytes, time: int) -> Any:
            try:
                return read(data)
            except Exception as error:  # as in raw()
                if not self._best_effort:
                    raise BagError(
                        f'{self.path}: a message of {topic.name} at {time} ns cannot be read as '
                        f'{topic.type}: {error}; use --best-effort to leave such messages out'
                    ) from error
                self._unreadable += 1
                return None

        return decode

    def _reader(self, name: str) -> Callable[[bytes], object]:
        if name in self._defined:
            return lambda data: self._types.deserialize_cdr(data, name)
        return GuessedTypeReader(name, self._types)

    def _open_all(self) -> list[Reader]:
        paths = paths_to_open(self.path, self._best_effort, self.notes, self._stack)
        try:
            return [self._open(path) for path in paths]
        except BagError as error:
            if not self._best_effort or paths != [self.path] or not self.path.is_dir():
                raise
            self.notes.append(f'metadata.yaml cannot be used: {error.__cause__}')
            return [self._open(file) for file in storage_files(self.path)]

    def _open(self, file: Path) -> Reader:
        try:
            reader = Reader(file)
            reader.open()
        except Exception as error:  # as in raw()
            raise BagError(
                f'{file}: cannot be opened: {error or type(error).__name__}; it may be cut off: '
                'use --best-effort to take what is readable'
            ) from error
        self._stack.callback(reader.close)
        return reader

    def _check_counts(self) -> None:
        """Trust the files, not the metadata: a killed recorder has not brought it up to date."""
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
