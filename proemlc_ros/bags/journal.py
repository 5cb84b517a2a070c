# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The journal: everything a model was taught, in order, as an ordinary rosbag2.

Annotations carry their features, so that playing the journal to a fresh classifier, or evaluating
it as a bag, teaches the same again.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from proemlc_ros.bags.appendable_bag import AppendableBag
from proemlc_ros.bags.bag_metadata import StoredTopic
from proemlc_ros.bags.cdr_check import ANNOTATION_LAYOUT, EVENT_LAYOUT, is_whole
from proemlc_ros.bags.definitions import definition_and_hash
from proemlc_ros.bags.sqlite_file import Row
from proemlc_ros.classifier.records import Annotation, Event
from proemlc_ros.conversions import (
    ANNOTATION_TYPE,
    EVENT_TYPE,
    MessageFactory,
    annotation_message,
    annotation_of,
    event_message,
    event_of,
)
from proemlc_ros.errors import JournalError

Statement = Annotation | Event
Result = TypeVar('Result')

_TYPES = (ANNOTATION_TYPE, EVENT_TYPE)
_LAYOUTS = (ANNOTATION_LAYOUT, EVENT_LAYOUT)
_ROWS_AT_ONCE = 1000
_TOPIC_ENDINGS = ('annotations', 'events')


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line of the journal.

    Args:
        number: position, from 1 on.
        record: the annotation or event.
    """

    number: int
    record: Statement


class Journal:
    """A journal that is open for appending; safe to use from several threads.

    Args:
        folder: of the bag; made where it does not exist.
        messages: makes and serialises messages.
        node_name: fully qualified; the topics are named after it.
        max_file_bytes: size of a file above which the next one is begun.
        max_bytes: size of the whole journal above which the oldest files go, 0 for no limit; what
            no snapshot holds yet is never deleted.
        clock: nanoseconds since the epoch.

    Raises:
        JournalError: the folder cannot be used.
    """

    def __init__(self, folder: Path, messages: MessageFactory, node_name: str = '/proemlc',
                 max_file_bytes: int = 64 * 1024 * 1024, max_bytes: int = 0,
                 clock: Callable[[], int] = time.time_ns) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.last_write: int | None = None
        self._messages = messages
        self._node_name = node_name
        self._clock = clock
        self._lock = threading.Lock()
        self._bag = self._guarded('open', lambda: AppendableBag(
            folder, self._new_topics, _is_valid, max_file_bytes))

    @property
    def last_number(self) -> int:
        """Number of the last entry; 0 without any."""
        return self._bag.last_id

    @property
    def repairs(self) -> list[str]:
        """What had to be repaired on opening, in words."""
        return self._bag.salvaged

    @property
    def size(self) -> int:
        """Bytes of all files; a file that somebody took away counts nothing."""
        paths = (self.folder / file.path for file in self._bag.files)
        return sum(path.stat().st_size for path in paths if path.exists())

    def append(self, statements: Sequence[Statement]) -> list[int]:
        """Write statements in one transaction; they are on the disk when this returns.

        Args:
            statements: annotations, with their features, and events.

        Returns:
            The numbers of the entries.

        Raises:
            JournalError: nothing was written, for instance because the disk is full.
        """
        rows = [self._encode(statement) for statement in statements]
        now = self._clock()
        with self._lock:
            numbers = self._guarded('write', lambda: self._bag.append(rows, now))
            self.last_write = now
        return numbers

    def entries(self, after: int = 0) -> Iterator[JournalEntry]:
        """Yield the entries with a number above `after`, in order.

        Raises:
            JournalError: an entry cannot be read.
        """
        while True:
            with self._lock:
                rows = self._guarded('read', partial(self._some_rows, after))
            if not rows:
                return
            for row in rows:
                yield self._decode(row)
            after = rows[-1][0]

    def entry(self, number: int) -> JournalEntry | None:
        """Return one entry, or None where it is not there any more."""
        with self._lock:
            row = self._guarded('read', lambda: self._bag.row(number))
        return None if row is None else self._decode(row)

    def continue_after(self, number: int) -> None:
        """Number new entries above this, where a snapshot knows of more than the journal."""
        with self._lock:
            self._bag.continue_after(number)

    def checkpoint(self, up_to: int) -> None:
        """Note that a snapshot holds all up to an entry: oldest files may go, metadata is renewed.

        Args:
            up_to: number of the last entry in the snapshot.
        """
        with self._lock:
            if self.max_bytes:
                self._guarded('shrink', lambda: self._bag.drop_oldest(self.max_bytes, up_to))
            self._guarded('update', self._bag.write_metadata)

    def close(self) -> None:
        """Bring the metadata up to date and close the bag."""
        with self._lock:
            self._guarded('close', self._bag.close)

    def _some_rows(self, after: int) -> list[Row]:
        # In parts, since a journal may be larger than the memory.
        return list(islice(self._bag.rows(after), _ROWS_AT_ONCE))

    def _guarded(self, what: str, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except (OSError, sqlite3.Error) as error:
            raise JournalError(
                f'cannot {what} the journal {self.folder}: {error}; check the disk for space and '
                'the folder for write permission') from error

    def _new_topics(self) -> list[StoredTopic]:
        prefix = self._node_name.rstrip('/')
        return [StoredTopic(f'{prefix}/{ending}', type_name, *definition_and_hash(type_name))
                for ending, type_name in zip(_TOPIC_ENDINGS, _TYPES, strict=True)]

    def _encode(self, statement: Statement) -> tuple[int, bytes]:
        if isinstance(statement, Annotation):
            index, message = 0, annotation_message(self._messages, statement)
        else:
            index, message = 1, event_message(self._messages, statement)
        return index, self._messages.serialize(message, _TYPES[index])

    def _decode(self, row: Row) -> JournalEntry:
        number, topic_number, _, data = row
        try:
            message = self._messages.deserialize(data, _TYPES[topic_number - 1])
            convert = annotation_of if topic_number == 1 else event_of
            return JournalEntry(number, convert(message))
        except Exception as error:  # Deserialisers raise what they like.
            raise JournalError(f'entry {number} of the journal {self.folder} cannot be read: '
                               f'{error!r}') from error


def _is_valid(row: Row) -> bool:
    """Tell whether a row from a damaged file is whole."""
    _, topic_number, timestamp, data = row
    if not (isinstance(data, bytes) and timestamp and topic_number in (1, 2)):
        return False
    return is_whole(data, _LAYOUTS[topic_number - 1])
