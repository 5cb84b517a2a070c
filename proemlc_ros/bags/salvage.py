# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What can be saved of a storage file that was cut off or overwritten, as a whole file again."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from proemlc_ros.errors import BagError

from .repair import readable_rows, stated_size
from .salvage_mcap import mcap_is_damaged, salvage_mcap

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
    padded = copy.with_suffix('.padded')
    shutil.copyfile(file, padded)
    # SQLite refuses a file that lacks pages, but reads around empty ones.
    os.truncate(padded, max(stated_size(file), file.stat().st_size))
    with closing(_read_only(padded)) as source, closing(sqlite3.connect(copy)) as target:
        for name, statement in source.execute('SELECT name, sql FROM sqlite_master').fetchall():
            if statement and name in (*_TABLES, 'messages'):
                target.execute(statement)
                _copy_table(source, target, name)
        rows = readable_rows(padded)
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
