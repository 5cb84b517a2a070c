# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads rows out of the pages of a damaged .db3 file, whatever leads to the pages is broken.

Only what stands in the pages is taken (https://www.sqlite.org/fileformat2.html); whether a row is
what was written is for its record to prove.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from proemlc_ros.journal.entry_proof import EntryRecord, Row

_MAGIC = b'SQLite format 3\0'
_LEAF = 13
_COMMON_PAGE = 4096
_PAGE_SIZES = frozenset(2**power for power in range(9, 17))
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
Value = int | bytes | str | None


class ScannedRow(NamedTuple):
    """An entry found in a page; certain: the page says that it is one of rows."""

    row: Row
    certain: bool


def scan(data: bytes) -> tuple[list[ScannedRow], list[EntryRecord]]:
    """Return all entries and records in the bytes of a file, in no order."""
    rows: list[ScannedRow] = []
    records: list[EntryRecord] = []
    for number, values, certain in _cells(data):
        if len(values) != 4 or values[0] is not None:
            continue
        _, second, third, fourth = values
        if isinstance(second, int) and isinstance(third, int) and isinstance(fourth, bytes):
            rows.append(ScannedRow((number, second, third, fourth), certain))
        elif isinstance(second, bytes) and isinstance(third, bytes) and isinstance(fourth, str):
            if certain and len(second) == len(third) == 16:
                records.append(EntryRecord.read(number, second, third, fourth))
    return rows, records


def _page_size(data: bytes) -> int:
    size = int.from_bytes(data[16:18], 'big')
    size = 65536 if size == 1 else size
    return size if data.startswith(_MAGIC) and size in _PAGE_SIZES else _COMMON_PAGE


def _cells(data: bytes) -> Iterator[tuple[int, list[Value], bool]]:
    """Yield row number, values, and whether the page is marked as one of table rows."""
    size = _page_size(data)
    for start in range(0, len(data) - size + 1, size):
        begin = start + (100 if start == 0 else 0)
        count = int.from_bytes(data[begin + 3:begin + 5], 'big')
        if not 0 < count <= size // 4:
            continue
        for place in struct.unpack_from(f'>{count}H', data, begin + 8):
            try:
                number, values = _cell(data, start, start + place, size)
            except (IndexError, ValueError, struct.error):
                continue
            yield number, values, data[begin] == _LEAF


def _cell(data: bytes, page: int, place: int, size: int) -> tuple[int, list[Value]]:
    length, place = _varint(data, place)
    number, place = _varint(data, place)
    payload = _payload(data, place, page + size, length, size)
    return number, _values(payload)


def _payload(data: bytes, place: int, page_end: int, length: int, size: int) -> bytes:
    """Return the bytes of a cell, with those on its overflow pages."""
    if length > len(data):
        raise ValueError('longer than the file')
    local = length
    if length > size - 35:
        least = (size - 12) * 32 // 255 - 23
        local = least + (length - least) % (size - 4)
        local = local if local <= size - 35 else least
    if place + local > page_end:
        raise ValueError('beyond the page')
    parts, left = [data[place:place + local]], length - local
    following = data[place + local:place + local + 4] if left else b''
    while left > 0:
        start = (int.from_bytes(following, 'big') - 1) * size
        if start < 0 or start + size > len(data):
            raise ValueError('a page is not there')
        part = data[start + 4:start + 4 + min(left, size - 4)]
        following = data[start:start + 4]
        parts.append(part)
        left -= len(part)
    return b''.join(parts)


def _values(payload: bytes) -> list[Value]:
    end, place = _varint(payload, 0)
    kinds = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    values: list[Value] = []
    place = end
    for kind in kinds:
        length = _INTEGERS.get(kind, 0) if kind < 12 else (kind - 12) // 2
        raw = payload[place:place + length]
        if len(raw) < length:
            raise ValueError('cut off')
        values.append(_value(kind, raw))
        place += length
    return values


def _value(kind: int, raw: bytes) -> Value:
    if kind in _INTEGERS:
        return int.from_bytes(raw, 'big', signed=True)
    if kind in (8, 9):
        return kind - 8
    if kind >= 12:
        return raw.decode() if kind % 2 else raw
    return None


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for count in range(9):
        byte = data[place]
        place += 1
        if count == 8:
            value = value << 8 | byte
            break
        value = value << 7 | byte & 0x7f
        if byte < 0x80:
            break
    return value - 2**64 if value >= 2**63 else value, place
