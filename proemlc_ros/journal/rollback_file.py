# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Logs of SQLite beside a file that belong to an earlier state of it, and must not be applied.

SQLite applies every rollback journal and write-ahead log that it finds. One that was left behind
by a copy or a restored backup takes the file back to where it was. A rollback journal holds page 1
from before its transaction, with the change counter of that time: the file has the same counter,
or the next one. The files of this package never have a write-ahead log.
"""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

_JOURNAL_MAGIC = bytes.fromhex('d9d505f920a163d7')
# Records, nonce, pages of the file before, bytes per sector, bytes per page.
_JOURNAL_HEADER = struct.Struct('>IIIII')
_UNKNOWN_COUNT = (0, 0xffffffff)
_COUNTER = slice(24, 28)
_PAGES = slice(28, 32)
_FORMAT_VERSIONS = slice(18, 20)


def set_stale_logs_aside(path: Path) -> list[str]:
    """Move logs away that do not belong to a file of this package.

    Returns:
        What was done, in words.

    Raises:
        OSError: a log cannot be moved.
    """
    notes = []
    for suffix, is_stale in (('-journal', _rollback_is_stale), ('-wal', _wal_is_stale)):
        log = path.with_name(path.name + suffix)
        if log.is_file() and log.stat().st_size and is_stale(path, log):
            kept = unused_name(log, '.unused')
            log.rename(kept)
            notes.append(f'{log.name} belongs to another state of {path.name}; it was not applied '
                         f'and is kept as {kept.name}')
    return notes


def has_stale_rollback(path: Path) -> bool:
    """Tell whether a rollback journal lies beside a file that it does not belong to."""
    log = path.with_name(f'{path.name}-journal')
    return log.is_file() and log.stat().st_size > 0 and _rollback_is_stale(path, log)


def unused_name(path: Path, ending: str) -> Path:
    """Return a name beside a file that nothing has yet: with the ending, and a number if need be.

    What was kept aside earlier is never overwritten.
    """
    kept = path.with_name(path.name + ending)
    number = 2
    while kept.exists():
        kept = path.with_name(f'{path.name}{ending}.{number}')
        number += 1
    return kept


def keep_aside(path: Path, ending: str) -> Path:
    """Keep the content of a file under a second name, before the file is replaced."""
    kept = unused_name(path, ending)
    try:
        os.link(path, kept)
    except OSError:  # A file system without links.
        shutil.copyfile(path, kept)
    return kept


def _wal_is_stale(path: Path, _log: Path) -> bool:
    return _header(path)[_FORMAT_VERSIONS] != b'\2\2'


def _rollback_is_stale(path: Path, log: Path) -> bool:
    header = _header(path)
    data = log.read_bytes()
    if len(header) < 100 or not data.startswith(_JOURNAL_MAGIC) or len(data) < 28:
        return False  # SQLite ignores such a log, or the file is nothing without it.
    first_page, pages_before = _content(data)
    if first_page is None:
        return pages_before != int.from_bytes(header[_PAGES], 'big')
    counter = int.from_bytes(header[_COUNTER], 'big')
    before = int.from_bytes(first_page[_COUNTER], 'big')
    return counter not in (before, before + 1)


def _content(data: bytes) -> tuple[bytes | None, int]:
    """Return page 1 as a rollback journal has it, and the pages of the file before."""
    place, pages_before = 0, 0
    while data[place:place + 8] == _JOURNAL_MAGIC and place + 28 <= len(data):
        count, _, pages, sector, page = _JOURNAL_HEADER.unpack_from(data, place + 8)
        pages_before = pages if place == 0 else pages_before
        if not sector or not page:
            break
        place += sector
        left = (len(data) - place) // (page + 8)
        for _ in range(left if count in _UNKNOWN_COUNT else min(count, left)):
            if data[place:place + 4] == b'\0\0\0\1':
                return data[place + 4:place + 4 + page], pages_before
            place += page + 8
        place = -(-place // sector) * sector
    return None, pages_before


def _header(path: Path) -> bytes:
    with path.open('rb') as stream:
        return stream.read(100)
