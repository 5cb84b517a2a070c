# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Saves what can be read of a damaged .db3 file."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from proemlc_ros.bags.bag_metadata import StoredTopic
from proemlc_ros.bags.sqlite_file import Row, SqliteFile

_MAGIC = b'SQLite format 3\0'
_PAGE_SIZE_OFFSET = 16
_PAGE_COUNT_OFFSET = 28
_LARGEST_GAP = 2**20


def salvage(path: Path, topics: Sequence[StoredTopic], is_valid: Callable[[Row], bool]) -> int:
    """Replace a damaged file by one with all rows that can still be read.

    The damaged file stays beside it with the ending `.damaged`.

    Args:
        path: the damaged file.
        topics: of the bag.
        is_valid: tells whether a row's content can be trusted.

    Returns:
        How many rows were saved.
    """
    damaged = path.with_name(f'{path.name}.damaged')
    shutil.copyfile(path, damaged)
    stated = stated_size(path)
    if path.stat().st_size < stated:
        # SQLite refuses a file that lacks pages, but reads around empty ones.
        os.truncate(path, stated)
    rebuilt = path.with_name(f'{path.name}.rebuilt')
    rebuilt.unlink(missing_ok=True)
    target = SqliteFile.create(rebuilt, topics)
    try:
        rows = [row for row in readable_rows(path) if is_valid(row)]
        target.append(rows)
    finally:
        target.close()
    # A rollback journal belongs to the damaged file and must not be applied to the new one.
    path.with_name(f'{path.name}-journal').unlink(missing_ok=True)
    rebuilt.replace(path)
    return len(rows)


def readable_rows(path: Path) -> Iterator[Row]:
    """Yield the messages that can be read, in order of their number, around damaged pages."""
    database = sqlite3.connect(path)
    try:
        last, gap = 0, 1
        while gap <= _LARGEST_GAP:
            try:
                for row in database.execute(
                        'SELECT id, topic_id, timestamp, data FROM messages NOT INDEXED '
                        'WHERE id >= ? ORDER BY id', (last + gap,)):
                    if row[0] <= last:
                        raise sqlite3.DatabaseError('an empty page where rows should be')
                    yield row
                    last, gap = row[0], 1
                return
            except sqlite3.DatabaseError:
                gap *= 2  # Step over the unreadable page.
    finally:
        database.close()


def stated_size(path: Path) -> int:
    """Return the size in bytes that the header of the file states."""
    with path.open('rb') as stream:
        header = stream.read(100)
    if not header.startswith(_MAGIC):
        return 0
    page = int.from_bytes(header[_PAGE_SIZE_OFFSET:_PAGE_SIZE_OFFSET + 2], 'big')
    count = int.from_bytes(header[_PAGE_COUNT_OFFSET:_PAGE_COUNT_OFFSET + 4], 'big')
    return (65536 if page == 1 else page) * count
