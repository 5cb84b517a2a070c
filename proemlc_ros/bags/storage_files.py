# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Opens the storage files of a bag, also if metadata is missing or a file is damaged."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rosbags.rosbag2 import Reader

from proemlc_ros.bags.decompression import bound_rosbags, check_chunks, unpacking_budget
from proemlc_ros.bags.recovery import is_damaged, recover_copy
from proemlc_ros.errors import BagError

bound_rosbags()

_METADATA = 'metadata.yaml'
# A bag of 10,000 files has 2 MB.
_MAX_METADATA = 4_000_000
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
        notes.append(f'{_METADATA} cannot be used: {_words(Exception(error.__cause__))}')
        return [_open(file, stack) for file in _storage_files(path)]


def _open(path: Path, stack: ExitStack) -> Reader:
    try:
        _check_metadata_size(path)
        reader = Reader(path)
        with unpacking_budget(_size_of(path)):
            reader.open()
        stack.callback(reader.close)
        check_reader(reader)
    except Exception as error:
        # rosbags checks files with assert and lets errors of sqlite, struct and the
        # decompressors through; whatever it is, the file is at fault.
        raise BagError(
            f'{path}: cannot be opened: {_words(error)}; it may be cut off: '
            'use --best-effort to take what is readable') from error
    return reader


def _size_of(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _check_metadata_size(path: Path) -> None:
    metadata = path / _METADATA
    if path.is_dir() and metadata.stat().st_size > _MAX_METADATA:
        raise BagError(f'{_METADATA} has {metadata.stat().st_size} bytes, more than the limit of '
                       f'{_MAX_METADATA}')


def _words(error: Exception) -> str:
    # Parsers quote what they do not understand, which may be the whole file.
    return str(error)[:300] or type(error).__name__


def check_reader(reader: Reader) -> None:
    """Check what rosbags found in a bag: names are texts, numbers are numbers.

    Columns of a .db3 file and values of metadata.yaml may be of any type.

    Raises:
        BagError: something is not.
    """
    storages: Sequence[Any] = getattr(reader.storage, 'storages', (reader.storage,))
    for owner in (reader, *storages):
        for connection in owner.connections:
            texts = connection.topic, connection.msgtype, connection.msgdef.data
            if not all(isinstance(text, str) for text in texts) or (
                    type(connection.msgcount) is not int or connection.msgcount < 0):
                raise BagError(f'the topic {str(connection.topic)[:100]!r} is not described by '
                               'texts and a count')
    for storage in storages:
        numbers = storage.metadata[:4]
        if not all(type(number) is int and abs(number) < 2**65 for number in numbers):
            raise BagError(f'{storage.path}: a time or a count is not a number')
        if chunks := getattr(storage, 'chunks', None):
            check_chunks(chunks, storage.path.stat().st_size)


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
    if not path.is_dir():
        if not path.is_file() or path.suffix not in _SUFFIXES:
            raise BagError(f'{path}: not a bag; expected a rosbag2 folder, .db3 or .mcap')
        return [path]
    files = [file for file in path.iterdir() if file.suffix in _SUFFIXES and file.is_file()]
    if not files and not any(file.name.endswith('.zstd') for file in path.iterdir()):
        raise BagError(f'{path}: no bag in this folder (no .db3 or .mcap file)')
    return sorted(files, key=_natural)


def _natural(file: Path) -> list[object]:
    """Sort bag_10 behind bag_9."""
    parts = re.split(r'(\d+)', file.name)
    return [int(part) if part.isdecimal() else part for part in parts]


def _sound_file(file: Path, best_effort: bool, notes: list[str], stack: ExitStack) -> Path:
    """Return the file itself, or a copy that holds all that can be read of it and its log."""
    try:
        return _recovered(file, best_effort, notes, stack)
    except BagError:
        raise
    except Exception as error:
        # What sqlite3 finds in a damaged file raises errors of many kinds.
        raise BagError(f'{file}: cannot be read: {_words(error)}') from error


def _recovered(file: Path, best_effort: bool, notes: list[str], stack: ExitStack) -> Path:
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
