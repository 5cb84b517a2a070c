# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Opens the storage files of a bag, also if metadata is missing or a file is damaged."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rosbags.rosbag2 import Reader

from proemlc_ros.bags.recovery import is_damaged, recover_copy
from proemlc_ros.errors import BagError

_METADATA = 'metadata.yaml'
_SUFFIXES = ('.db3', '.mcap')
# A recorder that is running, or was killed, has its newest messages in a log beside a .db3 file,
# which readers that open the file as immutable do not see.
_LOG_SUFFIXES = ('-wal', '-journal')


def open_readers(
    path: Path, best_effort: bool, notes: list[str], stack: ExitStack
) -> list[Reader]:
    """Open a bag: one reader for its folder, or one for each storage file.

    Args:
        path: rosbag2 folder or storage file; it is not changed.
        best_effort: use what is readable of a damaged bag.
        notes: gets a line for everything that is not as it should be.
        stack: closes the readers and removes temporary copies.

    Raises:
        BagError: there is no bag, or it is damaged and `best_effort` is false.
    """
    paths = _paths_to_open(path, best_effort, notes, stack)
    try:
        return [_open(one, stack) for one in paths]
    except BagError as error:
        if not best_effort or paths != [path] or not path.is_dir():
            raise
        notes.append(f'{_METADATA} cannot be used: {error.__cause__}')
        return [_open(file, stack) for file in _storage_files(path)]


def _open(path: Path, stack: ExitStack) -> Reader:
    try:
        reader = Reader(path)
        reader.open()
    except Exception as error:
        # rosbags checks files with assert and lets errors of sqlite, struct and the
        # decompressors through; whatever it is, the file is at fault.
        raise BagError(
            f'{path}: cannot be opened: {error or type(error).__name__}; it may be cut off: '
            'use --best-effort to take what is readable') from error
    stack.callback(reader.close)
    return reader


def _paths_to_open(
    path: Path, best_effort: bool, notes: list[str], stack: ExitStack
) -> list[Path]:
    if not path.exists():
        raise BagError(f'{path}: no such bag')
    files = _storage_files(path)
    has_metadata = path.is_dir() and (path / _METADATA).is_file()
    if path.is_dir() and not has_metadata:
        if not best_effort:
            raise BagError(
                f'{path}: {_METADATA} is missing; use --best-effort to read its storage files')
        notes.append(
            f'{_METADATA} is missing; topics and counts were taken from the storage files')
    sound = [_sound_file(file, best_effort, notes, stack) for file in files]
    return [path] if has_metadata and sound == files else sound


def _storage_files(path: Path) -> list[Path]:
    """Return the storage files of a bag in the order they were written in."""
    if path.is_file():
        if path.suffix not in _SUFFIXES:
            raise BagError(f'{path}: not a bag; expected a rosbag2 folder, .db3 or .mcap')
        return [path]
    files = [file for file in path.iterdir() if file.suffix in _SUFFIXES]
    if not files and not any(file.name.endswith('.zstd') for file in path.iterdir()):
        raise BagError(f'{path}: no bag in this folder (no .db3 or .mcap file)')
    return sorted(files, key=_natural)


def _natural(file: Path) -> list[object]:
    """Sort bag_10 behind bag_9."""
    parts = re.split(r'(\d+)', file.name)
    return [int(part) if part.isdigit() else part for part in parts]


def _sound_file(file: Path, best_effort: bool, notes: list[str], stack: ExitStack) -> Path:
    """Return the file itself, or a copy that holds all that can be read of it and its log."""
    if _has_pending_writes(file):
        try:
            file = _merged_copy(file, _temporary_folder(stack))
        except sqlite3.Error as error:
            text = f'the log beside it cannot be applied: {error}'
            if not best_effort:
                raise BagError(f'{file}: is damaged, and {text}; use --best-effort to take what '
                               'is readable') from error
            notes.append(f'{file.name}: {text}')
    if best_effort and is_damaged(file):
        return recover_copy(file, _temporary_folder(stack), notes)
    return file


def _temporary_folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(TemporaryDirectory(prefix='proemlc_bag_')))


def _has_pending_writes(file: Path) -> bool:
    return file.suffix == '.db3' and any(
        log.is_file() and log.stat().st_size for log in _logs(file))


def _merged_copy(file: Path, folder: Path) -> Path:
    """Copy a file with its log, and apply the log to the copy."""
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
