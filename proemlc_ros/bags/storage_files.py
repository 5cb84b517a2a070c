# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Opens the files of a bag: a rosbag2 folder, or single storage files.

A bag whose recorder was killed may lack metadata.yaml, have pending writes in a log beside a .db3
file, or be cut off. What is compressed is held to limits: 200 kB of zstd can be 6 GB of zeros.
Packed messages and files are unpacked here; chunks of MCAP files are unpacked by rosbags (0.11.7
and 0.11.9 were tried), after the sizes that their frames can have were added up.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from importlib import import_module
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rosbags.rosbag2 import Reader

from proemlc_ros.bags.recovery import (
    CHUNK,
    CHUNK_START,
    MCAP_MAGIC,
    ZSTD_MAGIC,
    is_damaged,
    recover_copy,
)
from proemlc_ros.errors import BagError
from proemlc_ros.files import natural_key

# The library that rosbags uses: that of Python itself, or a backport; None: an older rosbags.
zstd: Any = None
with suppress(ImportError):
    zstd = import_module('compression.zstd' if sys.version_info >= (3, 14) else 'backports.zstd')

MEGABYTE = 1 << 20
_TOO_OLD = 'this rosbags brings no zstd of its own for packed bags: pip install -U rosbags'
# Unpacked bytes that are in memory at the same time: always allowed, per packed byte, at most.
_ALWAYS, _RATIO, _MOST = 64 * MEGABYTE, 10, 1024 * MEGABYTE
# Unpacked bytes of a whole bag: always allowed, and per packed byte.
ALWAYS_IN_ALL, _RATIO_IN_ALL = 2048 * MEGABYTE, 200
# What the blocks of a frame may hold, compared with what a chunk states: they are seldom full.
_SLACK = 8
_LZ4, _ZSTD_BLOCK = b'\x04\x22\x4d\x18', 1 << 17
# Of MCAP files: bytes of the footer, and the kind of records that index chunks.
_FOOTER, _CHUNK_INDEX = 29, 8

_METADATA = 'metadata.yaml'
# A bag of 10,000 files has 2 MB.
_MAX_METADATA = 4_000_000
_SUFFIXES = ('.db3', '.mcap')
# In metadata.yaml: messages or files are packed.
_COMPRESSED = re.compile(rb'(?im)^\s*compression_mode:\s*"?(message|file)')
# A recorder that is running, or was killed, has its newest messages in a log beside a .db3 file,
# which readers that open the file as immutable do not see.
_LOG_SUFFIXES = ('-wal', '-journal')


def open_readers(
    path: Path, best_effort: bool, notes: list[str], stack: ExitStack
) -> list[Reader]:
    """Open a bag: one reader for its folder, or one for each storage file.

    Args:
        path: rosbag2 folder or storage file; it is not changed.
        best_effort: read the intact part of a damaged bag.
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
        for file in _storage_files(path):
            if file.suffix == '.mcap':
                _check_mcap(file)
        reader.open()
        stack.callback(reader.close)
        _check_reader(reader)
    except Exception as error:
        # rosbags checks files with assert and lets errors of sqlite, struct and the
        # decompressors through; whatever it is, the file is at fault.
        raise BagError(
            f'{path}: cannot be opened: {_words(error)}; it may be cut off: '
            'use --best-effort to read the intact part') from error
    return reader


def _check_metadata_size(path: Path) -> None:
    metadata = path / _METADATA
    if path.is_dir() and metadata.stat().st_size > _MAX_METADATA:
        raise BagError(f'{_METADATA} has {metadata.stat().st_size} bytes, more than the limit of '
                       f'{_MAX_METADATA}')


def _words(error: Exception) -> str:
    # Parsers quote what they do not understand, which may be the whole file.
    return str(error)[:300] or type(error).__name__


def _check_reader(reader: Reader) -> None:
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
    if has_metadata and _COMPRESSED.search((path / _METADATA).read_bytes()[:_MAX_METADATA]):
        _check_whole(path, best_effort, notes)
        return sound
    return [path] if has_metadata and sound == files else sound


def _check_whole(path: Path, best_effort: bool, notes: list[str]) -> None:
    """Check that a compressed bag, whose files are opened one by one, has all of them."""
    text = (path / _METADATA).read_text('utf-8', 'replace')
    named = re.findall(r'^\s*-\s*"?([^"\s]+\.(?:db3|mcap)(?:\.zstd)?)"?\s*$', text, re.MULTILINE)
    missing = [name for name in dict.fromkeys(named) if not (path / Path(name).name).is_file()]
    if missing and not best_effort:
        raise BagError(f'{path}: the file {missing[0]} is missing; use --best-effort to '
                       'read the others')
    notes += [f'the file {name} is missing' for name in missing]


def _storage_files(path: Path) -> list[Path]:
    """Return the storage files of a bag in the order they were written in."""
    if not path.is_dir():
        if path.is_file() and (path.suffix == '.bag' or _starts_as_ros_1(path)):
            raise BagError(f'{path}: a ROS 1 bag; convert it to ROS 2: '
                           f'rosbags-convert --src {path} --dst {path.with_suffix("")}')
        if not path.is_file() or not _is_storage(path):
            raise BagError(f'{path}: not a bag; expected a rosbag2 folder, .db3 or .mcap')
        return [path]
    files = [file for file in path.iterdir() if file.is_file() and _is_storage(file)]
    if not files:
        if old := next(path.glob('*.bag'), None):
            return _storage_files(old)
        raise BagError(f'{path}: no bag in this folder (no .db3 or .mcap file)')
    return sorted(files, key=natural_key)


def _is_storage(file: Path) -> bool:
    return file.suffix in _SUFFIXES or (
        file.suffix == '.zstd' and Path(file.stem).suffix in _SUFFIXES)


def _starts_as_ros_1(file: Path) -> bool:
    with file.open('rb') as stream:
        return stream.read(7) == b'#ROSBAG'


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
    if file.suffix == '.zstd':
        file = _unpacked_file(file, _temporary_folder(stack))
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


def _limit_of(packed: int) -> int:
    """Return how many bytes a number of packed bytes may become in memory."""
    return min(_MOST, max(_ALWAYS, _RATIO * packed))


def unpack_message(data: bytes) -> bytes:
    """Return a message that was packed with zstd; one that was not, as it is.

    Serialized messages begin with a zero, which no frame does.

    Raises:
        BagError: it becomes more than the limit, or is cut off.
    """
    if data[:4] != ZSTD_MAGIC:
        return data
    if zstd is None:
        raise BagError(_TOO_OLD)
    decompressor, limit = zstd.ZstdDecompressor(), _limit_of(len(data))
    unpacked: bytes = decompressor.decompress(data, max_length=limit + 1)
    if len(unpacked) > limit:
        raise BagError(f'{len(data)} packed bytes unpack to more than the limit of {limit} bytes')
    if not decompressor.eof:
        raise BagError('packed data is cut off')
    return unpacked


def _unpacked_file(file: Path, folder: Path) -> Path:
    """Unpack a file of a bag into a folder; return the new one.

    Raises:
        BagError: it becomes more than the limit.
    """
    if zstd is None:
        raise BagError(_TOO_OLD)
    target = folder / file.stem
    left = limit = max(ALWAYS_IN_ALL, _RATIO_IN_ALL * file.stat().st_size)
    with file.open('rb') as packed, zstd.open(packed, 'rb') as stream, target.open('wb') as copy:
        while data := stream.read(MEGABYTE):
            left -= len(data)
            if left < 0:
                raise BagError(f'{file.name} unpacks to more than the limit of {limit} bytes')
            copy.write(data)
    return target


class _Chunk(NamedTuple):
    """A chunk of an MCAP file: the times of its messages, and its sizes."""

    start: int
    end: int
    unpacked: int
    packed: int


def _check_mcap(file: Path) -> None:
    """Check what the chunks of an MCAP file can unpack to, before rosbags unpacks them.

    Raises:
        BagError: a limit is exceeded, or the index leads elsewhere than to chunks; names it.
    """
    if file.stat().st_size < 2 * len(MCAP_MAGIC) + _FOOTER:
        return  # rosbags says that it is no such file.
    with file.open('rb') as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
        chunks: dict[int, _Chunk] = {}
        indexed: list[int] = []
        footer = len(data) - len(MCAP_MAGIC) - _FOOTER
        summary = int.from_bytes(data[footer + 9:footer + 17], 'little')
        begins, place = not summary, len(MCAP_MAGIC)
        while place < footer:
            kind, length = data[place], int.from_bytes(data[place + 1:place + 9], 'little')
            begins = begins or place == summary
            if kind == CHUNK:
                chunks[place] = _chunk(data, place + 9, place + 9 + length)
            elif kind == _CHUNK_INDEX:
                indexed.append(int.from_bytes(data[place + 25:place + 33], 'little'))
            place += 9 + length
        if place == footer and (not begins or not chunks.keys() >= set(indexed)):
            raise BagError('its index leads elsewhere than to its chunks')
        _check_chunks(chunks.values(), len(data))


def _chunk(data: Any, start: int, end: int) -> _Chunk:
    """Return the chunk between two places of a file.

    Raises:
        BagError: it can become more than the limit, or than it states.
    """
    first, last, stated, _, length = CHUNK_START.unpack_from(data, start)
    start += CHUNK_START.size
    packing, start = bytes(data[start:start + length]), start + length + 8
    packed = max(0, min(end, len(data)) - start)
    if packing:
        limit = _limit_of(packed)
        if stated > limit:
            raise BagError(f'a chunk of {packed} packed bytes states {stated} unpacked bytes, '
                           f'more than the limit of {limit}')
        most = (_most_of_zstd if packing == b'zstd' else _most_of_lz4)(data, start, start + packed)
        if most > _SLACK * (stated + MEGABYTE):
            raise BagError(f'a chunk that states {stated} unpacked bytes may unpack to more than '
                           f'the limit: {most} bytes')
    return _Chunk(first, last, stated, packed)


def _most_of_zstd(data: Any, place: int, end: int) -> int:
    """Return at most how many bytes frames of zstd become: by the sizes of their blocks."""
    most = 0
    while place < end and data[place:place + 4] == ZSTD_MAGIC:
        flags = data[place + 4]
        single = flags >> 5 & 1
        place += 6 - single + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
        last = 0
        while place < end and not last:
            header = int.from_bytes(data[place:place + 3], 'little')
            last, kind, size = header & 1, header >> 1 & 3, header >> 3
            most += size if kind < 2 else _ZSTD_BLOCK
            place += 3 + (1 if kind == 1 else size)
        place += 4 * (flags >> 2 & 1)
    return most


def _most_of_lz4(data: Any, place: int, end: int) -> int:
    """Return the same of frames of LZ4."""
    most = 0
    while place < end and data[place:place + 4] == _LZ4:
        flags, block = data[place + 4], 1 << (8 + 2 * (data[place + 5] >> 4 & 7))
        place += 7 + 8 * (flags >> 3 & 1) + 4 * (flags & 1)
        while place < end:
            size = int.from_bytes(data[place:place + 4], 'little')
            place += 4
            if not size:
                break
            most += block
            place += (size & 0x7FFFFFFF) + 4 * (flags >> 4 & 1)
        place += 4 * (flags >> 2 & 1)
    return most


def _check_chunks(chunks: Iterable[_Chunk], size: int) -> None:
    """Check the sum of all chunks, and of those whose times overlap: they are in memory together.

    Raises:
        BagError: a limit is exceeded; names it.
    """
    events = []
    for chunk in chunks:
        events.append((chunk.start, 0, chunk.unpacked, chunk.packed))
        events.append((chunk.end, 1, -chunk.unpacked, -chunk.packed))
    total = sum(unpacked for _, end, unpacked, _ in events if not end)
    if total > max(ALWAYS_IN_ALL, _RATIO_IN_ALL * size):
        raise BagError(f'its chunks unpack to {total} bytes, more than {_RATIO_IN_ALL} times the '
                       f'{size} bytes of the file')
    unpacked = held = 0
    for _, end, more, packed in sorted(events):
        unpacked, held = unpacked + more, held + packed
        if not end and unpacked > _limit_of(held):
            raise BagError(f'chunks of the same time unpack to {unpacked} bytes, more than the '
                           f'limit of {_limit_of(held)} bytes')
