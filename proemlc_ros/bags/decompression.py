# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Limits on what compressed bags may unpack to.

The library rosbags unpacks chunks, messages and files to whatever size they say or have; 200 kB
of zstd can be 6 GB of zeros. bound_rosbags() replaces its functions by ones that stop at a limit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any, BinaryIO

from rosbags.rosbag2 import reader as rosbags_reader
from rosbags.rosbag2 import storage_mcap

from proemlc_ros.errors import BagError

# The libraries that rosbags brings with it; zstd is that of Python itself, or a backport.
lz4: Any = import_module('lz4.frame')
zstd: Any = getattr(storage_mcap, 'zstd', None)

MEGABYTE = 1 << 20
# Unpacked bytes that are in memory at the same time: always allowed, per packed byte, at most.
ALWAYS, RATIO, MOST = 64 * MEGABYTE, 10, 1024 * MEGABYTE
# Unpacked bytes of a whole bag: always allowed, and per packed byte.
ALWAYS_IN_ALL, RATIO_IN_ALL = 2048 * MEGABYTE, 200

_budget = threading.local()


def limit_of(packed: int) -> int:
    """Return how many bytes a number of packed bytes may become in memory."""
    return min(MOST, max(ALWAYS, RATIO * packed))


def unpack(decompressor: Any, data: bytes, limit: int) -> bytes:
    """Return unpacked data.

    Args:
        decompressor: of the library for its format.
        data: packed, one frame.
        limit: bytes.

    Raises:
        BagError: it becomes more than the limit.
    """
    unpacked: bytes = decompressor.decompress(data, max_length=limit + 1)
    if len(unpacked) > limit:
        raise BagError(f'{len(data)} packed bytes unpack to more than the limit of {limit} bytes')
    if not decompressor.eof:
        raise BagError('packed data is cut off')
    return unpacked


@contextmanager
def unpacking_budget(packed: int) -> Iterator[None]:
    """Limit what all chunks together may unpack to while a bag is opened in this thread.

    Args:
        packed: bytes of the files.
    """
    _budget.left = _most_in_all(packed)
    try:
        yield
    finally:
        _budget.left = None


def check_chunks(chunks: Iterable[Any], packed: int) -> None:
    """Check the sizes that the index of an MCAP file states, before a chunk is unpacked.

    Chunks whose times overlap are in memory together.

    Args:
        chunks: ChunkInfo of rosbags.
        packed: bytes of the file.

    Raises:
        BagError: a limit is exceeded; names it.
    """
    events = []
    for chunk in chunks:
        size = chunk.compressed_size
        events.append((chunk.message_start_time, 0, chunk.uncompressed_size, size))
        events.append((chunk.message_end_time, 1, -chunk.uncompressed_size, -size))
    total = sum(unpacked for _, end, unpacked, _ in events if not end)
    if total > _most_in_all(packed):
        raise BagError(f'its chunks unpack to {total} bytes, more than {RATIO_IN_ALL} times the '
                       f'{packed} bytes of the file')
    unpacked = held = 0
    for _, end, more, size in sorted(events):
        unpacked, held = unpacked + more, held + size
        if not end and unpacked > limit_of(held):
            raise BagError(f'chunks of the same time unpack to {unpacked} bytes, more than the '
                           f'limit of {limit_of(held)} bytes')


class BoundedFile(AbstractContextManager['BoundedFile']):
    """A packed file that is read as its unpacked content, up to a limit.

    Args:
        packed: the open file.
    """

    def __init__(self, packed: BinaryIO) -> None:
        size = os.fstat(packed.fileno()).st_size
        self._left = self._limit = _most_in_all(size)
        self._stream = zstd.open(packed, 'rb')

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int = -1) -> bytes:
        """Return the next unpacked bytes.

        Raises:
            BagError: there are more than the limit.
        """
        data: bytes = self._stream.read(MEGABYTE if size < 0 else size)
        self._left -= len(data)
        if self._left < 0:
            raise BagError(f'a packed file unpacks to more than the limit of {self._limit} bytes')
        return data


def bound_rosbags() -> None:
    """Make rosbags unpack within limits, in this process."""
    storage_mcap.DECOMPRESSORS['lz4'] = lambda data, stated: unpack(
        lz4.LZ4FrameDecompressor(), data, _chunk_limit(data, stated))
    if zstd is not None:  # Else it is a version of rosbags from before 0.11.
        storage_mcap.DECOMPRESSORS['zstd'] = lambda data, stated: unpack(
            zstd.ZstdDecompressor(), data, _chunk_limit(data, stated))
        vars(rosbags_reader)['zstd'] = SimpleNamespace(
            decompress=lambda data: unpack(zstd.ZstdDecompressor(), data, limit_of(len(data))),
            open=lambda packed, _mode: BoundedFile(packed))


def _chunk_limit(data: bytes, stated: int) -> int:
    limit = limit_of(len(data))
    if stated > limit:
        raise BagError(f'a chunk of {len(data)} packed bytes states {stated} unpacked bytes, '
                       f'more than the limit of {limit}')
    left = getattr(_budget, 'left', None)
    if left is not None:
        _budget.left = left - stated
        if _budget.left < 0:
            raise BagError(f'its chunks unpack to more than {RATIO_IN_ALL} times the size of the '
                           'file')
    return stated


def _most_in_all(packed: int) -> int:
    return max(ALWAYS_IN_ALL, RATIO_IN_ALL * packed)
