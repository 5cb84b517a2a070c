# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recovery of MCAP files that were cut off: their whole records (https://mcap.dev/spec)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from proemlc_ros.errors import BagError

_MAGIC = b'\x89MCAP0\r\n'
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = range(1, 7)
_DATA_END = 0x0F
# Schemas, channels and messages, bare or in chunks, are the content; the rest is an index to it.
_CONTENT = (_HEADER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK)
_CHUNK_START = struct.Struct('<QQQII')
_LARGEST_RECORD = 1 << 30


def mcap_is_damaged(file: Path) -> bool:
    """Tell whether the file does not begin and end as the format says."""
    with file.open('rb') as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            return True
        if stream.seek(0, 2) < 2 * len(_MAGIC):
            return True
        stream.seek(-len(_MAGIC), 2)
        return stream.read() != _MAGIC


def recover_mcap(file: Path, copy: Path) -> int:
    """Write the whole records of a file to a new one without an index.

    Args:
        file: the damaged file.
        copy: the file to write.

    Returns:
        Number of chunks and bare messages written.

    Raises:
        BagError: it is not an MCAP file at all.
    """
    written = 0
    with file.open('rb') as source, copy.open('wb') as target:
        if source.read(len(_MAGIC)) != _MAGIC:
            raise BagError(f'{file}: not an MCAP file')
        target.write(_MAGIC)
        for kind, content in _records(source):
            _write(target, kind, content)
            written += kind in (_MESSAGE, _CHUNK)
        _write(target, _DATA_END, bytes(4))
        # No summary: readers then scan the data.
        _write(target, _FOOTER, bytes(20))
        target.write(_MAGIC)
    return written


def _records(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield whole content records; of a cut chunk without compression, those inside it."""
    while True:
        head = source.read(9)
        if len(head) < 9 or head[0] == _DATA_END:
            return
        kind, length = head[0], int.from_bytes(head[1:], 'little')
        # The length of a damaged record may be anything; read() makes room for all of it first.
        left = os.fstat(source.fileno()).st_size - source.tell()
        content = source.read(min(length, left, _LARGEST_RECORD))
        if len(content) == length:
            if kind in _CONTENT:
                yield kind, content
        else:
            if kind == _CHUNK:
                yield from _inside_chunk(content)
            return


def _inside_chunk(content: bytes) -> Iterator[tuple[int, bytes]]:
    if len(content) < _CHUNK_START.size:
        return
    compression_length = _CHUNK_START.unpack_from(content)[-1]
    if compression_length:
        return  # A compressed chunk is readable as a whole or not at all.
    position = _CHUNK_START.size + 8
    while position + 9 <= len(content):
        kind = content[position]
        length = int.from_bytes(content[position + 1:position + 9], 'little')
        record = content[position + 9:position + 9 + length]
        if len(record) < length:
            return
        yield kind, record
        position += 9 + length


def _write(target: BinaryIO, kind: int, content: bytes) -> None:
    target.write(bytes((kind,)) + len(content).to_bytes(8, 'little') + content)
