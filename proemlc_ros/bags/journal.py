# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The journal: all annotations and events of a model, in order, as an ordinary rosbag2.

Annotations carry their features, so that a new classifier that replays the journal learns the
same, and the journal can be evaluated like any bag.
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
from proemlc_ros.bags.cdr import is_whole
from proemlc_ros.bags.metadata import BagTopic
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

JournalRecord = Annotation | Event
Result = TypeVar('Result')

_TYPES = (ANNOTATION_TYPE, EVENT_TYPE)
_ROWS_AT_ONCE = 1000
_TOPIC_ENDINGS = ('annotations', 'events')


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One entry of the journal.

    Args:
        number: position, from 1 on.
        record: the annotation or event.
    """

    number: int
    record: JournalRecord


class Journal:
    """A journal that is open for appending; safe to use from several threads.

    Args:
        folder: folder of the bag; made where it does not exist.
        messages: makes and serializes messages.
        node_name: fully qualified; the topics are named after it.
        max_file_bytes: size of a file above which the next one is begun.
        max_bytes: size of the whole journal above which the oldest files go, 0 for no limit; what
            no snapshot holds yet is never deleted.
        clock: returns nanoseconds since the epoch.

    Attributes:
        last_write: time of the last write in nanoseconds; None: none since the opening.

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
        """What was repaired on opening, in words."""
        return self._bag.repairs

    @property
    def size(self) -> int:
        """Bytes of all files; a file that was deleted meanwhile counts nothing."""
        paths = (self.folder / file.path for file in self._bag.files)
        return sum(path.stat().st_size for path in paths if path.exists())

    def append(self, records: Sequence[JournalRecord]) -> list[int]:
        """Write records in one transaction; they are on the disk when this returns.

        Args:
            records: annotations, with their features, and events.

        Returns:
            The numbers of the entries.

        Raises:
            JournalError: nothing was written, for instance because the disk is full.
        """
        rows = [self._encode(record) for record in records]
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
        """Return one entry; None where it is gone."""
        with self._lock:
            row = self._guarded('read', lambda: self._bag.row(number))
        return None if row is None else self._decode(row)

    def continue_after(self, number: int) -> None:
        """Number new entries above this, where a snapshot knows of more than the journal."""
        with self._lock:
            self._bag.continue_after(number)

    def checkpoint(self, up_to: int) -> None:
        """Take note of a snapshot: delete oldest files above the limit, renew the metadata.

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

    def _new_topics(self) -> list[BagTopic]:
        # Imported late: the library rosbags is needed for new journals alone, and takes its time.
        from proemlc_ros.bags.message_types import definition_and_hash
        prefix = self._node_name.rstrip('/')
        topics = []
        for ending, type_name in zip(_TOPIC_ENDINGS, _TYPES, strict=True):
            definition, type_hash = definition_and_hash(type_name)
            topics.append(BagTopic(f'{prefix}/{ending}', type_name, definition=definition,
                                   type_hash=type_hash))
        return topics

    def _encode(self, record: JournalRecord) -> tuple[int, bytes]:
        if isinstance(record, Annotation):
            index, message = 0, annotation_message(self._messages, record)
        else:
            index, message = 1, event_message(self._messages, record)
        return index, self._messages.serialize(message, _TYPES[index])

    def _decode(self, row: Row) -> JournalEntry:
        number, topic_number, _, data = row
        try:
            message = self._messages.deserialize(data, _TYPES[topic_number - 1])
            convert = annotation_of if topic_number == 1 else event_of
            return JournalEntry(number, convert(message))
        except Exception as error:  # Deserializers raise what they like.
            raise JournalError(f'entry {number} of the journal {self.folder} cannot be read: '
                               f'{error!r}') from error


def _is_valid(row: Row) -> bool:
    """Tell whether a row recovered from a damaged file is a whole entry."""
    _, topic_number, timestamp, data = row
    return (timestamp > 0 and topic_number in (1, 2)
            and is_whole(data, _TYPES[topic_number - 1]))
