# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What can be saved of a storage file that was cut off or overwritten, as a whole file again."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from proemlc_ros.bags.repair import readable_rows, stated_size
from proemlc_ros.bags.salvage_mcap import mcap_is_damaged, salvage_mcap
from proemlc_ros.bags.sqlite_file import Row
from proemlc_ros.errors import BagError

# Where the header of a sqlite file states the number of pages: four bytes, big-endian.
_COUNT_PLACE = 28
_TABLES = ('schema', 'metadata', 'topics', 'message_definitions')


def is_damaged(file: Path) -> bool:
    """Whether a storage file is not whole; reads all of a sqlite file."""
    if file.suffix == '.mcap':
        return mcap_is_damaged(file)
    try:
        with closing(_read_only(file)) as database:
            return database.execute('PRAGMA quick_check(1)').fetchone() != ('ok',)
    except sqlite3.Error:
        return True


def salvaged(file: Path, folder: Path, notes: list[str]) -> Path:
    """Write what is readable of a storage file to a new one.

    Args:
        file: The damaged file; it is not changed.
        folder: Where to put the new one.
        notes: Gets a line that says how much was saved.

    Returns:
        The new file.

    Raises:
        BagError: Nothing is readable.

    """
    copy = folder / file.name
    if file.suffix == '.mcap':
        count = salvage_mcap(file, copy)
    else:
        try:
            count = _salvage_sqlite(file, copy)
        except sqlite3.Error as error:
            raise BagError(f'{file}: nothing in it is readable: {error}') from error
    if not count:
        raise BagError(f'{file}: no message in it is readable; record again')
    notes.append(f'{file.name} is damaged; {count} messages in it are readable')
    return copy


def _read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f'{file.resolve().as_uri()}?immutable=1', uri=True)


def _salvage_sqlite(file: Path, copy: Path) -> int:
    trimmed = copy.with_suffix('.trimmed')
    shutil.copyfile(file, trimmed)
    _trim(trimmed)
    with closing(_read_only(trimmed)) as source, closing(sqlite3.connect(copy)) as target:
        for name, statement in source.execute('SELECT name, sql FROM sqlite_master').fetchall():
            if statement and name in (*_TABLES, 'messages'):
                target.execute(statement)
                _copy_table(source, target, name)
        rows = (row for row in readable_rows(trimmed) if _is_message(row))
        target.executemany('INSERT INTO messages VALUES (?, ?, ?, ?)', rows)
        target.execute('CREATE INDEX timestamp_idx ON messages (timestamp ASC)')
        target.commit()
        return int(target.execute('SELECT count(*) FROM messages').fetchone()[0])


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    if table == 'messages':
        return
    try:
        for row in source.execute(f'SELECT * FROM {table}'):
            marks = ', '.join('?' * len(row))
            target.execute(f'INSERT INTO {table} VALUES ({marks})', row)
    except sqlite3.Error:
        if table == 'topics':
            raise  # without topics no message can be understood


def _trim(file: Path) -> None:
    """Make a cut file end with a whole page and say so in its header.

    SQLite refuses a file that lacks pages which its header counts. Were they filled with zeros, a
    message with its end in one of them would be read with zeros for values.
    """
    size, stated = file.stat().st_size, stated_size(file)
    if size >= stated:
        return
    with file.open('r+b') as stream:
        header = stream.read(_COUNT_PLACE + 4)
        pages = size * int.from_bytes(header[_COUNT_PLACE:], 'big') // stated
        stream.seek(_COUNT_PLACE)
        stream.write(pages.to_bytes(4, 'big'))
        stream.truncate(stated // int.from_bytes(header[_COUNT_PLACE:], 'big') * pages)


def _is_message(row: Row) -> bool:
    _, topic, time, data = row
    known = isinstance(topic, int) and isinstance(time, int) and isinstance(data, bytes)
    # Every serialized message begins with the mark of CDR.
    return known and data[:2] in (b'\x00\x00', b'\x00\x01')
