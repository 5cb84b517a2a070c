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
from itertools import starmap
from pathlib import Path
from typing import Any

from proemlc_ros.files import sync_folder
from proemlc_ros.journal.entries import LARGEST_NUMBER, EntryRecord, Pair, Row, merged
from proemlc_ros.journal.metadata import BagTopic

# Zeros kept behind the last page (sparse, so free). SQLite ignores them; a file whose last bytes
# are lost, as cheap flash does on power failure, then loses none of its content.
_GUARD_BYTES = 64 * 1024

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
# Not of rosbag2, whose readers select from their own tables and ignore others.
_RECORDS = """
CREATE TABLE IF NOT EXISTS proemlc_entries(
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL, chain BLOB NOT NULL, reference TEXT NOT NULL);
"""
_NAMES = frozenset({'schema', 'metadata', 'topics', 'message_definitions', 'messages',
                    'timestamp_idx'})
AT_ONCE = 200
"""Entries that are read under one lock of a file."""
# Numbers begin with 1; others are damaged, and must be seen to be said.
_BELOW_ALL, _ABOVE_ALL = -2**63, 2**63 - 1
_ROWS = 'SELECT id, topic_id, timestamp, data FROM messages WHERE id > ? ORDER BY id'
# Primary result codes of SQLite that tell of the disk or of other users, not of the content:
# PERM, BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN.
_DISK_CODES = frozenset({3, 5, 6, 7, 8, 10, 13, 14})
_DISK_WORDS = ('locked', 'readonly', 'disk I/O', 'is full', 'unable to open', 'out of memory')


class SqliteFile:
    """An open file of a bag.

    Args:
        path: the file, which must exist; see `create`.
        read_only: change nothing, not even a transaction that was cut off.

    Attributes:
        has_records: whether its entries have records, which only those of a journal have.
        size: bytes that the content takes, after the last append.

    Raises:
        sqlite3.Error: the file is not a database, or damaged.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self._database = _connect_to_read(path) if read_only else _connect(path)
        try:
            self._room = path.stat().st_size
            self.size = self._content_size()
            found = self._database.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'proemlc_entries'").fetchone()
            self.has_records = found is not None
        except BaseException:
            self._database.close()
            raise

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
                database.executescript(f'BEGIN;{_SCHEMA}{_RECORDS}')
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

    def append(self, rows: Iterable[Row], records: Iterable[EntryRecord] = ()) -> None:
        """Write entries and their records in one transaction.

        They are on the disk when this returns.

        Raises:
            sqlite3.Error: the file must be opened again to know what was written.
        """
        with self._database:
            self._database.execute('BEGIN IMMEDIATE')
            self._database.executemany('INSERT INTO messages VALUES (?, ?, ?, ?)', rows)
            if not self.has_records:
                self._database.execute(_RECORDS)
            self._database.executemany('INSERT INTO proemlc_entries VALUES (?, ?, ?, ?)',
                                       (record.stored() for record in records))
        self.has_records = True
        self._keep_guard()

    def withdraw(self, after: int) -> None:
        """Delete the entries with a number above `after`, which nobody was promised."""
        with self._database:
            self._database.execute('BEGIN IMMEDIATE')
            self._database.execute('DELETE FROM messages WHERE id > ?', (after,))
            if self.has_records:
                self._database.execute('DELETE FROM proemlc_entries WHERE id > ?', (after,))

    def record(self, number: int) -> EntryRecord | None:
        """Return the record of an entry, or None."""
        return next(self.records(number - 1, number), None)

    def records(self, after: int = 0, up_to: int = 2**63 - 1) -> Iterator[EntryRecord]:
        """Yield the records with a number above `after`, in order."""
        if self.has_records:
            yield from starmap(EntryRecord.read, self._database.execute(
                'SELECT id, digest, chain, reference FROM proemlc_entries WHERE id > ? '
                'AND id <= ? ORDER BY id', (after, up_to)).fetchall())

    def references(self, prefix: str, most: int) -> list[tuple[int, str]]:
        """Return number and reference of the last entries whose reference begins so, in order."""
        if not self.has_records:
            return []
        found = [EntryRecord.read(*stored) for stored in self._database.execute(
            'SELECT id, digest, chain, reference FROM proemlc_entries '
            'WHERE substr(reference, 1, ?) = ? AND id IN (SELECT id FROM messages) '
            'ORDER BY id DESC LIMIT ?', (len(prefix), prefix, most))]
        return [(record.number, record.reference) for record in reversed(found)
                if record.reference.startswith(prefix)]

    def entries(self) -> Iterator[tuple[Row | None, EntryRecord | None]]:
        """Yield all rows with their records, in order; either may be missing.

        A lock is held for a few of them at a time, for which a writer waits.
        """
        after, end = _BELOW_ALL, 0
        while end < _ABOVE_ALL:
            with self._database:
                self._database.execute('BEGIN')
                rows = self._database.execute(f'{_ROWS} LIMIT {AT_ONCE}', (after,)).fetchall()
                end = rows[-1][0] if len(rows) == AT_ONCE else _ABOVE_ALL
                records = list(self.records(after, end))
            yield from merged(rows, records)
            after = end

    def pairs(self, after: int = 0, topics: Sequence[int] = (),
              at_once: int = AT_ONCE) -> Iterator[Pair]:
        """Yield rows above a number, of some topics or all, with their records; see `entries`."""
        among = f'AND topic_id IN ({",".join(map(str, topics))}) ' if topics else ''
        records = 'proemlc_entries' if self.has_records else (
            '(SELECT NULL AS id, NULL AS digest, NULL AS chain, NULL AS reference)')
        found: list[tuple[Any, ...]] = []
        while not found or len(found) == at_once:
            found = self._database.execute(
                'SELECT messages.id, topic_id, timestamp, data, digest, chain, reference '
                f'FROM messages LEFT JOIN {records} AS proof ON proof.id = messages.id '
                f'WHERE messages.id > ? {among}ORDER BY messages.id LIMIT {at_once}',
                (after,)).fetchall()
            for number, topic, time, data, *proof in found:
                yield (number, topic, time, data), (
                    None if proof[0] is None else EntryRecord.read(number, *proof))
            if not found:
                return
            after = found[-1][0]

    def row(self, number: int) -> Row | None:
        """Return the row of that number, or None."""
        row: Row | None = self._database.execute(f'{_ROWS} LIMIT 1', (number - 1,)).fetchone()
        return row if row is not None and row[0] == number else None

    def first_number(self) -> int:
        """Return the number of the first entry, 0 without any; one damaged number is no matter."""
        tables = ['messages', *(['proemlc_entries'] if self.has_records else [])]
        found = [self._database.execute(
            f'SELECT min(id) FROM {table} WHERE id BETWEEN 1 AND {LARGEST_NUMBER}').fetchone()[0]
            for table in tables]
        return max(number or 0 for number in found)

    def first_time(self) -> int | None:
        """Return the time of the first row in nanoseconds; None without any."""
        found = self._database.execute(
            'SELECT timestamp FROM messages WHERE id > 0 ORDER BY id LIMIT 1').fetchone()
        return None if found is None else found[0]

    def topics(self) -> list[BagTopic]:
        """Return the topics of the file, with their definitions; damaged ones as they are."""
        return [
            BagTopic(name, kind, definition=definition, type_hash=type_hash)
            for name, kind, definition, type_hash in self._database.execute(
                'SELECT name, type, encoded_message_definition, topics.type_description_hash '
                'FROM topics LEFT JOIN message_definitions ON type = topic_type '
                'ORDER BY topics.id')]

    def is_journal(self, types: Sequence[str]) -> bool:
        """Tell whether it is a file of a journal, by its records or, of the first version, topics.

        Args:
            types: of the topics; the first version had two. Recorded topics have QoS profiles.
        """
        if self.has_records:
            return True
        try:
            found = self._database.execute(
                'SELECT type, offered_qos_profiles FROM topics ORDER BY id').fetchall()
        except sqlite3.OperationalError as error:  # Another database, without such a table.
            if is_disk_error(error):
                raise
            return False
        return len(found) > 1 and found == [(name, '') for name in types[:len(found)]]

    def _content_size(self) -> int:
        (pages,), = self._database.execute('PRAGMA page_count')
        (page,), = self._database.execute('PRAGMA page_size')
        return int(pages * page)

    def problem(self) -> str:
        """Return what is wrong with structure, tables and index, in words; reads all of it."""
        if not is_sound(self._database, 'integrity_check'):
            return 'its structure is damaged'
        names = {name for name, in self._database.execute('SELECT name FROM sqlite_master')}
        if lacking := sorted(_NAMES - names):
            return f'it has no {lacking[0]}'
        if self._database.execute('SELECT schema_version FROM schema').fetchall() != [(4,)]:
            return 'its schema version is damaged'
        self._database.execute('SELECT metadata_version, metadata FROM metadata').fetchall()
        formats = self._database.execute(
            'SELECT id, serialization_format, offered_qos_profiles FROM topics').fetchall()
        if formats != [(number, 'cdr', '') for number in range(1, len(formats) + 1)]:
            return 'its list of topics is damaged'
        return ''

    def close(self) -> None:
        """Close the file; nothing is lost without."""
        _close(self._database)

    def _keep_guard(self) -> None:
        try:
            self.size = self._content_size()
            if self._room < self.size + _GUARD_BYTES // 2:
                # By path: closing a second descriptor would drop SQLite's locks on the file.
                os.truncate(self.path, self.size + _GUARD_BYTES)
                self._room = self.size + _GUARD_BYTES
        except (OSError, sqlite3.Error):
            pass  # The entries are on the disk; the guard is made with the next ones.


def is_disk_error(error: BaseException) -> bool:
    """Tell whether an error is one of the disk, or of another user of the file, not of content."""
    if not isinstance(error, sqlite3.OperationalError):
        return isinstance(error, (OSError, MemoryError))
    code = getattr(error, 'sqlite_errorcode', None)  # From Python 3.11 on.
    if code is None:
        return any(words in str(error) for words in _DISK_WORDS)
    return code & 0xff in _DISK_CODES


def is_sound(database: sqlite3.Connection, check: str = 'quick_check') -> bool:
    """Tell whether a database passes a check of SQLite's own, which reads all of it."""
    try:
        return bool(database.execute(f'PRAGMA {check}(1)').fetchone() == ('ok',))
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


def _connect_to_read(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro', uri=True, isolation_level=None,
                           check_same_thread=False)


def _close(database: sqlite3.Connection) -> None:
    try:
        # Removes the emptied rollback journal; does nothing to a file that is only read.
        database.execute('PRAGMA journal_mode = DELETE')
    except sqlite3.Error:
        pass  # It is harmless beside the file, and on a full or vanished disk it has to stay.
    finally:
        database.close()
