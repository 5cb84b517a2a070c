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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from proemlc_ros.cdr import read_picture
from proemlc_ros.errors import JournalError
from proemlc_ros.files import write_problem
from proemlc_ros.journal.appendable_bag import AppendableBag
from proemlc_ros.journal.attachments import Attachments, names_content
from proemlc_ros.journal.entries import (
    ENTRY_TYPES,
    EVENT_TOPIC,
    PICTURE_PREFIX,
    PICTURE_TOPIC,
    RECORD_TOPICS,
    JournalEntry,
    JournalRecord,
    Pair,
    are_current,
    decode,
    encode,
    is_valid_entry,
    late_reference,
    new_topics,
    pictures_of,
    with_pictures,
)
from proemlc_ros.journal.journal_file import FileReport
from proemlc_ros.records import Picture

Result = TypeVar('Result')

_ROWS_AT_ONCE = 1000
_ALL = 2**40
_FEW = 32


class Journal:
    """A journal that is open for appending; safe to use from several threads.

    Opening never fails for what is in the folder: entries that do not prove themselves are left
    out and named in `repairs`. Where the disk allows no writing, the journal can be read, and
    `append` raises until it does.

    Args:
        folder: folder of the bag; made where it does not exist.
        node_name: fully qualified; the topics are named after it.
        max_file_bytes: size of a file above which the next one is begun.
        max_bytes: size of the whole journal above which the oldest files go, 0 for no limit; what
            no snapshot holds yet is never deleted.
        clock: returns nanoseconds since the epoch.

    Attributes:
        last_write: time of the last write in nanoseconds; None: none since the opening.
        problem: why nothing can be written, in words; empty where it can.
    """

    def __init__(self, folder: Path, node_name: str = '/proemlc',
                 max_file_bytes: int = 64 * 1024 * 1024, max_bytes: int = 0,
                 clock: Callable[[], int] = time.time_ns) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.last_write: int | None = None
        self.problem = ''
        self._node_name = node_name
        self._clock = clock
        self._lock = threading.Lock()
        # Several files, so that the oldest can go.
        self._max_file_bytes = min(max_file_bytes, max_bytes // 4 or max_file_bytes)
        self._bag = self._open()
        self.attachments = Attachments(folder / 'attachments')

    def _open(self) -> AppendableBag:
        bag = self._new_bag()
        error = bag.problem or write_problem(self.folder)
        self.problem = self._in_words('write', error) if error else ''
        return bag

    def _new_bag(self) -> AppendableBag:
        return AppendableBag(self.folder, ENTRY_TYPES, lambda: new_topics(self._node_name),
                             are_current, is_valid_entry, self._max_file_bytes)

    @property
    def last_number(self) -> int:
        """Number of the last entry; 0 without any."""
        return self._bag.last_id

    @property
    def repairs(self) -> list[str]:
        """What was repaired on opening, in words."""
        return self._bag.repairs

    @property
    def reports(self) -> list[FileReport]:
        """What was found in each file on opening."""
        return self._bag.reports

    @property
    def unprovable(self) -> int:
        """Number of entries without a proof, of an earlier version, on opening."""
        return sum(report.unprovable for report in self._bag.reports)

    @property
    def size(self) -> int:
        """Bytes of all files; a file that was deleted meanwhile counts nothing."""
        paths = (self.folder / file.path for file in self._bag.files)
        return sum(path.stat().st_size for path in paths if path.exists())

    @property
    def over_limit(self) -> bool:
        """Whether the journal is larger than it may be."""
        return 0 < self.max_bytes < self.size

    def missing(self, after: int = 0) -> list[range]:
        """Return the numbers above `after` that had no entry when the journal was opened."""
        return [range(max(gap.start, after + 1), gap.stop) for gap in self._bag.gaps
                if gap.stop > after + 1]

    def append(self, records: Sequence[JournalRecord], references: Sequence[str] | None = None,
               pictures: Sequence[Picture | None] | None = None) -> list[int]:
        """Write records in one transaction; they are on the disk when this returns.

        Args:
            records: annotations, with their features, and events.
            references: what events refer to outside the journal, one per record; None: nothing.
            pictures: of what the annotations are about, one per record; None: none.

        Returns:
            The numbers of the entries.

        Raises:
            JournalError: nothing was written, for instance because the disk is full; or it
                cannot be told, and what was written is withdrawn before the next record.
        """
        return [entry.number for entry in self.write(records, references, pictures)]

    def write(self, records: Sequence[JournalRecord], references: Sequence[str] | None = None,
              pictures: Sequence[Picture | None] | None = None) -> list[JournalEntry]:
        """Do the same; return the entries as they would be read."""
        everything, notes, places = with_pictures(records, references, pictures)
        written = self._write(everything, notes)
        return [JournalEntry(written[place], record, notes[place], time=self._bag.time_of(
            len(written) - 1 - place)) for record, place in zip(records, places, strict=True)]

    def append_late_picture(self, number: int, picture: Picture) -> int:
        """Write the picture of an annotation that is there already; return its entry's number."""
        written, = self._write([picture], [late_reference(number)])
        return written

    def pictures(self) -> dict[int, int]:
        """Return the entry of the picture of each annotation that has one."""
        return pictures_of(self.references(PICTURE_PREFIX, _ALL))

    def picture(self, entry: int) -> Picture | None:
        """Return the picture of an entry; None where it is gone."""
        with self._lock:
            pair = self._guarded('read', lambda: self._bag.entry(entry, [PICTURE_TOPIC]))
        return None if pair is None else read_picture(pair[0][3])

    def _write(self, records: Sequence[JournalRecord | Picture],
               references: Sequence[str]) -> list[int]:
        rows = [*map(encode, records)]
        with self._lock:
            self._make_writable()
            now = self._clock()
            try:
                numbers = self._bag.append(rows, now, references)
            except (OSError, sqlite3.Error) as error:
                self.problem = self._in_words('write', error)
                doubt = ('; it cannot be told whether it was written, and it is withdrawn as '
                         'soon as the disk answers') if self._bag.in_doubt else ''
                raise JournalError(self.problem + doubt) from error
            self.problem = ''
            self.last_write = now
        return numbers

    def retry(self) -> None:
        """Look whether a disk that could not be written can be by now."""
        if not self.problem:
            return
        with self._lock:
            try:
                self._make_writable()
            except JournalError as error:
                self.problem = str(error)
            else:
                error_text = write_problem(self.folder)
                self.problem = self._in_words('write', error_text) if error_text else ''

    def entries(self, after: int = 0) -> Iterator[JournalEntry]:
        """Yield the entries with a number above `after`, in order; pictures are not among them."""
        while True:
            with self._lock:
                # In parts, since a journal may be larger than the memory.
                some = islice(self._bag.entries(after, RECORD_TOPICS), _ROWS_AT_ONCE)
                pairs: list[Pair] = self._guarded('read', partial(list, some))
            if not pairs:
                return
            yield from map(decode, pairs)
            after = pairs[-1][0][0]

    def events(self, after: int = 0) -> Iterator[JournalEntry]:
        """Yield the entries above `after` that are events; annotations are not decoded."""
        with self._lock:
            pairs = self._guarded('read', lambda: [
                *self._bag.entries(after, [EVENT_TOPIC])])
        return map(decode, pairs)

    def select(self, numbers: Iterable[int]) -> Iterator[JournalEntry]:
        """Yield the annotations and events with some numbers, in order; those gone are left out.

        Of many, all between the first and the last are read.
        """
        wanted = sorted({*numbers})
        if len(wanted) <= _FEW:
            yield from (entry for entry in map(self.entry, wanted) if entry is not None)
            return
        chosen = {*wanted}
        for entry in self.entries(wanted[0] - 1):
            if entry.number in chosen:
                yield entry
            if entry.number >= wanted[-1]:
                return

    def chain(self, number: int) -> bytes | None:
        """Return the value of the digest chain behind an entry; None where it is not known."""
        with self._lock:
            pair = self._guarded('read', lambda: self._bag.entry(number))
        return None if pair is None or pair[1] is None else pair[1].chain

    def entry(self, number: int) -> JournalEntry | None:
        """Return one entry; None where it is gone."""
        with self._lock:
            pair = self._guarded('read', lambda: self._bag.entry(
                number, RECORD_TOPICS))
        return None if pair is None else decode(pair)

    def references(self, prefix: str, most: int) -> list[tuple[int, str]]:
        """Return number and reference of the newest entries with such references, oldest first."""
        with self._lock:
            return self._guarded('read', lambda: self._bag.references(prefix, most))

    def continue_after(self, number: int) -> None:
        """Number new entries above this, where a snapshot knows of more than the journal."""
        with self._lock:
            self._bag.continue_after(number)

    def checkpoint(self, up_to: int) -> None:
        """Take note of snapshots: delete oldest files above the limit, renew the metadata.

        Args:
            up_to: number of the last entry that every snapshot holds.
        """
        with self._lock:
            if self._bag.problem:
                return
            if self.max_bytes:
                self._guarded('shrink', lambda: self._drop(self.max_bytes, up_to))
            self._guarded('update', self._bag.write_metadata)

    def compact(self, up_to: int) -> None:
        """Delete all files that hold nothing else than what every snapshot holds.

        Args:
            up_to: number of the last entry that every snapshot holds.

        Raises:
            JournalError: the disk fails; nothing is gone that is not in the snapshots.
        """
        with self._lock:
            self._make_writable()
            if self._bag.files[-1].counts:
                self._guarded('compact', self._bag.begin_file)
            self._guarded('compact', lambda: self._drop(0, up_to))

    def _drop(self, max_bytes: int, up_to: int) -> None:
        if self._bag.drop_oldest(max_bytes, up_to) and len(self.attachments):
            self.attachments.keep_only(
                record.reference for _, record in self._bag.entries(0, [EVENT_TOPIC])
                if record is not None and names_content(record.reference))

    def close(self) -> None:
        """Bring the metadata up to date and close the bag."""
        with self._lock:
            self._guarded('close', self._bag.close)

    def _make_writable(self) -> None:
        """Open the bag again where it could not be repaired or made on this disk before.

        Raises:
            JournalError: it still cannot.
        """
        if not self._bag.problem:
            return
        if error := write_problem(self.folder):
            raise JournalError(self._in_words('write', error))
        last = self._bag.last_id
        self._bag = self._new_bag()
        self._bag.continue_after(last)
        if self._bag.problem:
            raise JournalError(self._in_words('write', self._bag.problem))

    def _guarded(self, what: str, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except (OSError, sqlite3.Error) as error:
            raise JournalError(self._in_words(what, error)) from error

    def _in_words(self, what: str, error: object) -> str:
        return (f'cannot {what} the journal {self.folder}: {error}; check the disk for space and '
                'the folder for write permission')
