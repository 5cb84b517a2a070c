# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A bag that grows for years: appended durably, split into files, repaired on opening.

Messages are numbered from 1 on, through all files, in the order in which they were written; their
timestamps rise strictly, so that readers which sort by time see the same order. Each has a record
beside it that proves it, see entry_proof.py.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from proemlc_ros.journal.entries import Pair
from proemlc_ros.journal.entry_proof import Row, digest_of, records_of
from proemlc_ros.journal.file_opener import FileOpener, topics_in
from proemlc_ros.journal.metadata import BagTopic, FileSummary, write_metadata
from proemlc_ros.journal.sqlite_file import SqliteFile


class AppendableBag:
    """A bag that is open for appending; one process at a time, one thread at a time.

    Opening repairs what is damaged. Where the disk does not allow that, or any writing, the bag
    can be read as far as possible, and `problem` tells why nothing can be appended.

    Args:
        folder: folder of the bag; made where it does not exist.
        types: message types of the topics.
        new_topics: returns the topics of a new bag.
        is_current: tells whether a file with these topics takes the messages of this version.
        is_valid: tells whether a message without a record is whole.
        max_file_bytes: size above which a new file is begun.

    Attributes:
        problem: why nothing can be appended, in words; empty where it can.
        repairs: what was repaired on opening, in words.
        reports: what was found in each file on opening.
        gaps: numbers that no file had then, or has been dropped since.
    """

    def __init__(self, folder: Path, types: Sequence[str],
                 new_topics: Callable[[], Sequence[BagTopic]],
                 is_current: Callable[[Sequence[BagTopic]], bool],
                 is_valid: Callable[[Row], bool], max_file_bytes: int) -> None:
        self.folder = folder
        self.types = list(types)
        self.max_file_bytes = max_file_bytes
        self._new_topics = new_topics
        self._is_current = is_current
        # Whether the newest file has earlier definitions; whether files have different ones.
        self._outdated = self._mixed = False
        self._known_topics: list[BagTopic] = []
        self._closed: list[FileSummary] = []
        self._live: FileSummary | None = None
        self._file: SqliteFile | None = None
        opener = FileOpener(types, lambda: self.topics, is_valid)
        try:
            self._open(opener)
        except (OSError, sqlite3.Error) as error:
            opener.block(error)
        self.problem, self.repairs = opener.problem, opener.repairs
        self.reports, self.gaps = opener.reports, opener.gaps()
        self._salvaged = opener.salvaged
        self._last_id, self._last_time = opener.last_id, opener.last_time
        self._chain = opener.chain

    def _open(self, opener: FileOpener) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = self._paths()
        self._known_topics = topics_in(paths, self.types)
        self._outdated = bool(self._known_topics) and not self._is_current(self._known_topics)
        hashes = {topic.type_hash for topic in self._known_topics}
        self._mixed = any(topic.type_hash not in hashes
                          for topic in topics_in(paths[:1], self.types))
        for path in paths:
            if self._live is not None:
                self._closed.append(self._live)
            if self._file is not None:
                self._file.close()
            self._file, self._live = opener.open(path)
        if not paths:
            self._file = SqliteFile.create(self._path(0), self.topics)
            self._live = FileSummary(self._file.path.name)
        self.write_metadata()

    @property
    def topics(self) -> list[BagTopic]:
        """Topics of the bag."""
        if not self._known_topics:
            self._known_topics = list(self._new_topics())
        return self._known_topics

    @property
    def last_id(self) -> int:
        """Number of the last message; 0 without any."""
        return self._last_id

    def time_of(self, before_last: int) -> int:
        """Return the time of one of the messages that were appended together last."""
        return self._last_time - before_last

    @property
    def in_doubt(self) -> bool:
        """Whether it is not known what the last append has written."""
        return self._file is None

    @property
    def files(self) -> list[FileSummary]:
        """What each file holds, oldest first."""
        return [*self._closed, *([] if self._live is None else [self._live])]

    # ----- writing -----

    def append(self, messages: Sequence[tuple[int, bytes]], now: int,
               references: Sequence[str] | None = None) -> list[int]:
        """Write messages in one transaction, and return their numbers; they are on the disk then.

        Args:
            messages: number of the topic and CDR bytes of each.
            now: nanoseconds since the epoch.
            references: kept with the messages, one each; None: empty ones.

        Raises:
            OSError, sqlite3.Error: nothing was written, unless the bag is `in_doubt`: then
                what was written is withdrawn before the next message.
        """
        if not messages:
            return []
        file = self._file or self._reopen()
        if file.size() > self.max_file_bytes or self._outdated:
            file = self.begin_file()
        start = max(now, self._last_time + 1)
        rows: list[Row] = [(self._last_id + 1 + offset, topic, start + offset, data)
                           for offset, (topic, data) in enumerate(messages)]
        records = records_of(rows, references or [''] * len(rows), self._chain)
        try:
            file.append(rows, records)
        except (OSError, sqlite3.Error):
            # The error may have come behind the commit.
            file.close()
            self._file = None
            self._file = SqliteFile(file.path)
            if self._file.row(rows[-1][0]) != rows[-1]:
                raise
        self._note(rows)
        self._chain = records[-1].chain
        return [row[0] for row in rows]

    def begin_file(self) -> SqliteFile:
        """Begin the next file."""
        if self._file is None or self._live is None:
            raise FileNotFoundError(f'no file of {self.folder} is open')
        if self._outdated:
            self._renew_topics()
        number = int(self._file.path.stem.rpartition('_')[2]) + 1
        following = SqliteFile.create(self._path(number), self.topics)
        try:
            self._file.store_summary(self._live)
        except sqlite3.Error:
            pass  # For other readers, which can do without.
        self._file.close()
        self._closed.append(self._live)
        self._file, self._live = following, FileSummary(following.path.name)
        self.write_metadata()
        return following

    def _renew_topics(self) -> None:
        """Take the definitions of this version; the topics that there are keep their names."""
        names = {topic.type: topic.name for topic in self._known_topics}
        self._known_topics = [replace(topic, name=names.get(topic.type, topic.name))
                              for topic in self._new_topics()]
        self._outdated, self._mixed = False, True

    def continue_after(self, number: int) -> None:
        """Number new messages above this."""
        if number > self._last_id:
            self._last_id, self._chain = number, None

    def drop_oldest(self, max_bytes: int, up_to: int) -> int:
        """Delete the oldest files while the bag is larger than it may be; return how many.

        Args:
            max_bytes: size that the bag may have.
            up_to: number of the last message that may go.
        """
        dropped = 0
        total = sum((self.folder / file.path).stat().st_size for file in self.files)
        while self._closed and total > max_bytes and self._closed[0].last_id <= up_to:
            summary = self._closed.pop(0)
            path = self.folder / summary.path
            total -= path.stat().st_size
            self.gaps = [range(1, summary.last_id + 1),
                         *(gap for gap in self.gaps if gap.start > summary.last_id)]
            # The list first: a bag may lack a file that it does not list.
            self.write_metadata()
            path.unlink()
            dropped += 1
        return dropped

    def write_metadata(self) -> None:
        """Bring metadata.yaml up to date."""
        # Readers leave out files whose definitions have another hash than the metadata.
        topics = ([replace(topic, type_hash='') for topic in self.topics] if self._mixed
                  else self.topics)
        write_metadata(self.folder, topics, self.files)

    def close(self) -> None:
        """Write the metadata and close the bag; no message depends on it."""
        try:
            if not self.problem:
                self.write_metadata()
        finally:
            if self._file is not None:
                self._file.close()

    # ----- reading -----

    def entries(self, after: int = 0, topics: Sequence[int] = ()) -> Iterator[Pair]:
        """Yield the messages above `after` that prove themselves; of some topics, or of all."""
        for summary in self.files:
            if summary.last_id > after or summary is self._live:
                for pair in self._pairs(summary, after, topics):
                    row, record = pair
                    if record is None or digest_of(row) == record.digest:
                        yield pair

    def entry(self, number: int, topics: Sequence[int] = ()) -> Pair | None:
        """Return one message; None where it is gone, or of another topic."""
        pair = next(self.entries(number - 1, topics), None)
        return None if pair is None or pair[0][0] != number else pair

    def references(self, prefix: str, most: int) -> list[tuple[int, str]]:
        """Return number and reference of the newest messages whose reference begins so."""
        found: list[tuple[int, str]] = []
        for summary in reversed(self.files):
            if len(found) < most:
                found[:0] = self._references(summary, prefix, most - len(found))
        return found

    def _references(self, summary: FileSummary, prefix: str, most: int) -> list[tuple[int, str]]:
        if summary.path in self._salvaged:
            return [(row[0], record.reference) for row, record in self._salvaged[summary.path]
                    if record is not None and record.reference.startswith(prefix)][-most:]
        if summary is self._live:
            return [] if self._file is None else self._file.references(prefix, most)
        with closing(SqliteFile(self.folder / summary.path, read_only=True)) as file:
            return file.references(prefix, most)

    def _pairs(self, summary: FileSummary, after: int, topics: Sequence[int]) -> Iterator[Pair]:
        if summary.path in self._salvaged:
            yield from (pair for pair in self._salvaged[summary.path]
                        if pair[0][0] > after and (not topics or pair[0][1] in topics))
        elif summary is self._live:
            if self._file is not None:
                yield from _present(self._file, after, topics)
        else:
            with closing(SqliteFile(self.folder / summary.path, read_only=True)) as file:
                yield from _present(file, after, topics)

    # ----- inside -----

    def _note(self, rows: Sequence[Row]) -> None:
        live = self._live
        if live is None:
            return
        live.first_time = rows[0][2] if live.first_time is None else live.first_time
        self._last_id, _, self._last_time, _ = rows[-1]
        live.last_id, live.last_time = self._last_id, self._last_time
        for _, topic, _, _ in rows:
            name = self.topics[topic - 1].name
            live.counts[name] = live.counts.get(name, 0) + 1

    def _reopen(self) -> SqliteFile:
        """Open the file again of which it is not known what it holds, and withdraw the rest."""
        if self._live is None:
            raise FileNotFoundError(f'no file of {self.folder} is open')
        file = SqliteFile(self.folder / self._live.path)
        try:
            if next(file.rows(self._last_id), None) is not None:
                file.withdraw(self._last_id)
        except BaseException:
            file.close()
            raise
        self._file = file
        return file

    def _path(self, number: int) -> Path:
        return self.folder / f'{self.folder.name}_{number}.db3'

    def _paths(self) -> list[Path]:
        pattern = re.compile(re.escape(self.folder.name) + r'_(\d+)\.db3')
        numbered = [(int(found[1]), path) for path in self.folder.iterdir()
                    if (found := pattern.fullmatch(path.name))]
        return [path for _, path in sorted(numbered)]


def _present(file: SqliteFile, after: int, topics: Sequence[int]) -> Iterator[Pair]:
    return ((row, record) for row, record in file.entries(after, topics) if row is not None)
