# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A bag that grows for years: appended durably, split into files, repaired on opening.

Messages are numbered from 1 on, through all files, in the order in which they were written; their
timestamps rise strictly, so that readers which sort by time see the same order.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from proemlc_ros.bags.metadata import BagTopic, FileSummary, write_metadata
from proemlc_ros.bags.recovery import recover_in_place
from proemlc_ros.bags.sqlite_file import Row, SqliteFile


class AppendableBag:
    """A bag that is open for appending; one process at a time, one thread at a time.

    Args:
        folder: folder of the bag; made where it does not exist.
        new_topics: returns the topics of a new bag.
        is_valid: tells whether a row recovered from a damaged file can be trusted.
        max_file_bytes: size above which a new file is begun.

    Attributes:
        repairs: what was repaired on opening, in words.

    Raises:
        OSError, sqlite3.Error: the folder cannot be written or read.
    """

    def __init__(self, folder: Path, new_topics: Callable[[], Sequence[BagTopic]],
                 is_valid: Callable[[Row], bool], max_file_bytes: int) -> None:
        self.folder = folder
        self.max_file_bytes = max_file_bytes
        self.repairs: list[str] = []
        self._is_valid = is_valid
        folder.mkdir(parents=True, exist_ok=True)
        paths = self._paths()
        self.topics = self._known_topics(paths) or list(new_topics())
        self._closed = [self._closed_summary(path) for path in paths[:-1]]
        path = paths[-1] if paths else self._path(0)
        self._file = self._open(path) if paths else SqliteFile.create(path, self.topics)
        self._live = self._file.summary()
        self._last_id = max([self._live.last_id, *(file.last_id for file in self._closed)])
        self._last_time = max([0, *(file.last_time or 0 for file in self.files)])
        self.write_metadata()

    @property
    def last_id(self) -> int:
        """Number of the last message; 0 without any."""
        return self._last_id

    @property
    def files(self) -> list[FileSummary]:
        """What each file holds, oldest first."""
        return [*self._closed, self._live]

    def append(self, messages: Sequence[tuple[int, bytes]], now: int) -> list[int]:
        """Write messages in one transaction; they are on the disk when this returns.

        Args:
            messages: index of the topic and CDR bytes of each.
            now: nanoseconds since the epoch.

        Returns:
            The messages' numbers.

        Raises:
            OSError, sqlite3.Error: nothing was written.
        """
        if not messages:
            return []
        if self._file.size() > self.max_file_bytes:
            self._begin_next_file()
        start = max(now, self._last_time + 1)
        rows: list[Row] = [(self._last_id + 1 + offset, index + 1, start + offset, data)
                           for offset, (index, data) in enumerate(messages)]
        self._file.append(rows)
        live = self._live
        live.first_time = start if live.first_time is None else live.first_time
        self._last_id, _, self._last_time, _ = rows[-1]
        live.last_id, live.last_time = self._last_id, self._last_time
        for index, _ in messages:
            name = self.topics[index].name
            live.counts[name] = live.counts.get(name, 0) + 1
        return [row[0] for row in rows]

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Yield the rows with a number above `after`, oldest first."""
        for summary in self._closed:
            if summary.last_id > after:
                file = SqliteFile(self.folder / summary.path)
                try:
                    yield from file.rows(after)
                finally:
                    file.close()
        yield from self._file.rows(after)

    def row(self, number: int) -> Row | None:
        """Return one row; None where it is gone."""
        for summary in self._closed:
            if summary.last_id >= number:
                file = SqliteFile(self.folder / summary.path)
                try:
                    return file.row(number)
                finally:
                    file.close()
        return self._file.row(number)

    def continue_after(self, number: int) -> None:
        """Number new messages above this."""
        self._last_id = max(self._last_id, number)

    def drop_oldest(self, max_bytes: int, up_to: int) -> int:
        """Delete the oldest files while the bag is larger than it may be.

        Args:
            max_bytes: size that the bag may have.
            up_to: number of the last message that may go.

        Returns:
            How many files were deleted.
        """
        dropped = 0
        total = sum((self.folder / file.path).stat().st_size for file in self.files)
        while self._closed and total > max_bytes and self._closed[0].last_id <= up_to:
            path = self.folder / self._closed.pop(0).path
            total -= path.stat().st_size
            # The list first: a bag may lack a file that it does not list.
            self.write_metadata()
            path.unlink()
            dropped += 1
        return dropped

    def write_metadata(self) -> None:
        """Bring metadata.yaml up to date."""
        write_metadata(self.folder, self.topics, self.files)

    def close(self) -> None:
        """Write the metadata and close the bag; no message depends on it."""
        try:
            self.write_metadata()
        finally:
            self._file.close()

    def _path(self, number: int) -> Path:
        return self.folder / f'{self.folder.name}_{number}.db3'

    def _paths(self) -> list[Path]:
        pattern = re.compile(re.escape(self.folder.name) + r'_(\d+)\.db3')
        numbered = [(int(found[1]), path) for path in self.folder.iterdir()
                    if (found := pattern.fullmatch(path.name))]
        return [path for _, path in sorted(numbered)]

    def _known_topics(self, paths: Sequence[Path]) -> list[BagTopic]:
        for path in reversed(paths):
            try:
                file = SqliteFile(path)
                try:
                    topics = file.topics()
                finally:
                    file.close()
            except sqlite3.DatabaseError:
                continue
            if topics:
                return topics
        return []

    def _open(self, path: Path) -> SqliteFile:
        try:
            file = SqliteFile(path)
            if file.is_sound():
                return file
            file.close()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise  # Locked, not readable, disk failing: not a matter of content.
        count = recover_in_place(path, self.topics, self._is_valid)
        self.repairs.append(f'{path.name} was damaged: {count} messages recovered, the damaged '
                            f'file is kept as {path.name}.damaged')
        return SqliteFile(path)

    def _closed_summary(self, path: Path) -> FileSummary:
        file = self._open(path)
        try:
            return file.summary(final=True)
        finally:
            file.close()

    def _begin_next_file(self) -> None:
        number = int(self._file.path.stem.rpartition('_')[2]) + 1
        following = SqliteFile.create(self._path(number), self.topics)
        self._file.store_summary(self._live)
        self._file.close()
        self._closed.append(self._live)
        self._file, self._live = following, FileSummary(following.path.name)
        self.write_metadata()
