# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One .db3 file of a rosbag2 folder: sqlite3 storage, schema 4, every commit durable.

The rollback journal of SQLite is used, not its write-ahead log: bag readers open the file as
immutable and look at nothing beside it, so all that is committed must be in the file itself.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from proemlc_ros.bags.metadata import VERSION, BagTopic, FileSummary
from proemlc_ros.files import sync_folder

Row = tuple[int, int, int, bytes]
"""Number, topic number, timestamp in nanoseconds, CDR bytes."""

# Zeros kept behind the last page (sparse, so free). SQLite ignores them; a file whose last bytes
# are lost, as cheap flash does on power failure, then loses none of its content.
GUARD_BYTES = 64 * 1024

_SCHEMA = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(
    id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
    serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
    type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(
    id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
    encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE messages(
    id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
    data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
INSERT INTO schema(schema_version, ros_distro) VALUES (4, 'jazzy');
"""


class SqliteFile:
    """An open file of a bag.

    Args:
        path: the file, which must exist; see `create`.

    Raises:
        sqlite3.Error: the file is not a database, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = _connect(path)
        self._room = path.stat().st_size

    @classmethod
    def create(cls, path: Path, topics: Sequence[BagTopic]) -> SqliteFile:
        """Make a new file; it appears under its name only when complete.

        Args:
            path: where, must not exist.
            topics: what will be written to it; numbered from 1.
        """
        temporary = path.with_name(f'.{path.name}.tmp')
        temporary.unlink(missing_ok=True)
        database = _connect(temporary)
        try:
            with database:
                database.executescript(f'BEGIN;{_SCHEMA}')
                for number, topic in enumerate(topics, 1):
                    database.execute(
                        'INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?)',
                        (number, topic.name, topic.type, 'cdr', '', topic.type_hash))
                    database.execute(
                        'INSERT INTO message_definitions VALUES (?, ?, ?, ?, ?)',
                        (number, topic.type, 'ros2msg', topic.definition, topic.type_hash))
        finally:
            _close(database)
        temporary.replace(path)
        sync_folder(path.parent)
        return cls(path)

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows in one transaction; they are on the disk when this returns.

        Raises:
            sqlite3.Error: nothing was written, for instance because the disk is full.
        """
        with self._database:
            self._database.execute('BEGIN IMMEDIATE')
            self._database.executemany('INSERT INTO messages VALUES (?, ?, ?, ?)', rows)
        self._keep_guard()

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Yield the rows with a number above `after`, in order."""
        yield from self._database.execute(
            'SELECT id, topic_id, timestamp, data FROM messages WHERE id > ? ORDER BY id',
            (after,))

    def row(self, number: int) -> Row | None:
        """Return the row of that number, or None."""
        row: Row | None = self._database.execute(
            'SELECT id, topic_id, timestamp, data FROM messages WHERE id = ?',
            (number,)).fetchone()
        return row

    def topics(self) -> list[BagTopic]:
        """Return the topics of the file, with their definitions."""
        return [
            BagTopic(name, kind, definition=definition, type_hash=type_hash)
            for name, kind, definition, type_hash in self._database.execute(
                'SELECT name, type, encoded_message_definition, topics.type_description_hash '
                'FROM topics LEFT JOIN message_definitions ON type = topic_type '
                'ORDER BY topics.id')]

    def size(self) -> int:
        """Return the bytes that the content takes."""
        (pages,), = self._database.execute('PRAGMA page_count')
        (page,), = self._database.execute('PRAGMA page_size')
        return int(pages * page)

    def is_sound(self) -> bool:
        """Tell whether the structure of the whole file is as it should be."""
        return is_sound(self._database)

    def summary(self, final: bool = False) -> FileSummary:
        """Return what the file holds.

        Args:
            final: the file takes no more messages, so an earlier summary stored in it holds.
        """
        if final:
            stored = self._database.execute('SELECT metadata FROM metadata').fetchone()
            if stored is not None:
                return FileSummary.from_text(stored[0])
        first, last, number = self._database.execute(
            'SELECT min(timestamp), max(timestamp), max(id) FROM messages').fetchone()
        counts = dict(self._database.execute(
            'SELECT name, count(*) FROM messages JOIN topics ON topic_id = topics.id '
            'GROUP BY topic_id'))
        return FileSummary(self.path.name, first, last, counts, number or 0)

    def store_summary(self, summary: FileSummary) -> None:
        """Keep a summary in the file, so that it need not be counted again."""
        with self._database:
            self._database.execute(
                'INSERT OR REPLACE INTO metadata VALUES (1, ?, ?)', (VERSION, summary.to_text()))

    def close(self) -> None:
        """Close the file; nothing is lost without."""
        _close(self._database)

    def _keep_guard(self) -> None:
        size = self.size()
        if self._room < size + GUARD_BYTES // 2:
            self._room = size + GUARD_BYTES
            # By path: closing a second descriptor would drop SQLite's locks on the file.
            os.truncate(self.path, self._room)


def is_sound(database: sqlite3.Connection) -> bool:
    """Tell whether a database passes SQLite's own check, which reads all of it."""
    try:
        return bool(database.execute('PRAGMA quick_check(1)').fetchone() == ('ok',))
    except sqlite3.DatabaseError:
        return False


def _connect(path: Path) -> sqlite3.Connection:
    # Autocommit: transactions are begun by hand. Used under the owner's lock by several threads.
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        database.execute('PRAGMA journal_mode = TRUNCATE')
        database.execute('PRAGMA synchronous = FULL')
    except BaseException:
        database.close()
        raise
    return database


def _close(database: sqlite3.Connection) -> None:
    try:
        # Removes the emptied rollback journal.
        database.execute('PRAGMA journal_mode = DELETE')
    except sqlite3.Error:
        pass  # It is harmless beside the file, and on a full or vanished disk it has to stay.
    finally:
        database.close()
