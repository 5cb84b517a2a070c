# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sqlite recordings that are being written, or whose writer was killed.

Such a file has its newest messages in a write-ahead log beside it, which readers that open the
file as immutable do not see.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

_LOG_SUFFIXES = ('-wal', '-journal')


def has_pending_writes(file: Path) -> bool:
    """Whether part of the content is still in a log beside the file."""
    return file.suffix == '.db3' and any(
        log.is_file() and log.stat().st_size for log in _logs(file)
    )


def merged_copy(file: Path, folder: Path) -> Path:
    """Copy a storage file and its log, and merge the copies; the original stays as it is.

    Args:
        file: The .db3 file.
        folder: Where to put the copy.

    Returns:
        The merged copy.

    """
    copy = folder / file.name
    shutil.copyfile(file, copy)
    for log in _logs(file):
        if log.is_file():
            shutil.copyfile(log, folder / log.name)
    with closing(sqlite3.connect(copy)) as database:
        # Reading rolls a hot journal back; the pragma brings a write-ahead log in.
        database.execute('SELECT count(*) FROM sqlite_master').fetchone()
        database.execute('PRAGMA journal_mode=DELETE').fetchone()
    return copy


def _logs(file: Path) -> list[Path]:
    return [file.with_name(file.name + suffix) for suffix in _LOG_SUFFIXES]
