# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recovery of damaged storage files: takes each message whose bytes are all there, and no other.

The journal and bags of any origin go by this one policy. A .db3 file that was cut off lacks pages
which its header counts, and SQLite rejects it. The count is lowered to the pages that are there.
The other cure, zeros for the missing pages, invents content: a message whose end lay in a missing
page comes back in its full length with zeros for values, and nothing tells it from a sound one.
With the lower count SQLite reports each message that needs a missing page, and it is left out.
Of an MCAP file (https://mcap.dev/spec) the whole records are taken.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from proemlc_ros.errors import BagError
from proemlc_ros.journal.entries import Row
from proemlc_ros.journal.sqlite_file import is_sound

MCAP_MAGIC = b'\x89MCAP0\r\n'
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, CHUNK = range(1, 7)
_DATA_END = 0x0F
# Schemas, channels and messages, bare or in chunks, are the content; the rest is an index to it.
_CONTENT = (_HEADER, _SCHEMA, _CHANNEL, _MESSAGE, CHUNK)
CHUNK_START = struct.Struct('<QQQII')
_LARGEST_RECORD = 1 << 30


def _mcap_is_damaged(file: Path) -> bool:
    """Tell whether the file does not begin and end as the format says."""
    with file.open('rb') as stream:
        if stream.read(len(MCAP_MAGIC)) != MCAP_MAGIC:
            return True
        if stream.seek(0, 2) < 2 * len(MCAP_MAGIC):
            return True
        stream.seek(-len(MCAP_MAGIC), 2)
        return stream.read() != MCAP_MAGIC


def _recover_mcap(file: Path, copy: Path) -> int:
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
        if source.read(len(MCAP_MAGIC)) != MCAP_MAGIC:
            raise BagError(f'{file}: not an MCAP file')
        target.write(MCAP_MAGIC)
        for kind, content in _records(source):
            _write(target, kind, content)
            written += kind in (_MESSAGE, CHUNK)
        _write(target, _DATA_END, bytes(4))
        # No summary: readers then scan the data.
        _write(target, _FOOTER, bytes(20))
        target.write(MCAP_MAGIC)
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
            if kind == CHUNK:
                yield from _inside_chunk(content)
            return


def _inside_chunk(content: bytes) -> Iterator[tuple[int, bytes]]:
    if len(content) < CHUNK_START.size:
        return
    compression_length = CHUNK_START.unpack_from(content)[-1]
    if compression_length:
        return  # A compressed chunk is readable as a whole or not at all.
    position = CHUNK_START.size + 8
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


# With which a packed message begins.
ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
_SQLITE_MAGIC = b'SQLite format 3\0'
# In the header of a .db3 file, big-endian: bytes per page (1 means 65536), and number of pages.
_PAGE_SIZE = slice(16, 18)
_PAGE_COUNT = slice(28, 32)
# Consecutive numbers without a readable row after which the rest is given up.
_LARGEST_GAP = 2**20
_SELECT = ('SELECT id, topic_id, timestamp, data FROM messages NOT INDEXED '
           'WHERE id >= ? ORDER BY id')
_TABLES = ('schema', 'metadata', 'topics', 'message_definitions')


def is_damaged(file: Path) -> bool:
    """Tell whether a storage file is damaged; reads all of a .db3 file."""
    if file.suffix == '.mcap':
        return _mcap_is_damaged(file)
    try:
        with closing(_read_only(file)) as database:
            return not is_sound(database)
    except sqlite3.Error:
        return True


def recover_copy(file: Path, folder: Path, notes: list[str]) -> Path:
    """Write the readable messages of a storage file to a new one.

    Args:
        file: the damaged file; it is not changed.
        folder: where to put the new one.
        notes: gets a line with the number of messages.

    Returns:
        The new file.

    Raises:
        BagError: no message is readable.
    """
    target = folder / f'recovered_{file.name}'
    if file.suffix == '.mcap':
        count = _recover_mcap(file, target)
    else:
        try:
            count = _recover_sqlite(file, target)
        except sqlite3.Error as error:
            raise BagError(f'{file}: nothing in it is readable: {error}') from error
    if not count:
        raise BagError(f'{file}: no message in it is readable; record again')
    notes.append(f'{file.name} is damaged; {count} messages in it are readable')
    return target


def _readable_rows(database: sqlite3.Connection) -> Iterator[Row]:
    """Yield the rows that can be read, in order of their number, around damaged pages."""
    start: int | None = 0
    while start is not None:
        try:
            for row in database.execute(_SELECT, (start,)):
                if row[0] < start:
                    raise sqlite3.DatabaseError('rows out of order')
                yield row
                start = row[0] + 1
            return
        except sqlite3.DatabaseError:
            start = _behind_gap(database, start)


def _is_message(row: Row) -> bool:
    """Tell whether a row has the form of a message: numbers, and bytes with the mark of CDR.

    Packed messages have that of zstd.
    """
    _, topic, time, data = row
    return (isinstance(topic, int) and isinstance(time, int) and isinstance(data, bytes)
            and (data[:2] in (b'\x00\x00', b'\x00\x01') or data[:4] == ZSTD_MAGIC))


def _behind_gap(database: sqlite3.Connection, start: int) -> int | None:
    """Return the first number from which rows can be read again; None: no more can."""
    step = 1
    while not _reads_from(database, start + step):
        step *= 2
        if step > _LARGEST_GAP:
            return None
    low, high = start + step // 2, start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _reads_from(database, middle) else (middle, high)
    return high


def _reads_from(database: sqlite3.Connection, number: int) -> bool:
    try:
        row = database.execute(f'{_SELECT} LIMIT 1', (number,)).fetchone()
    except sqlite3.DatabaseError:
        return False
    return row is None or row[0] >= number


def _recover_sqlite(file: Path, target: Path) -> int:
    with closing(_open_readable(file, target.with_suffix('.trimmed'))) as source, closing(
            sqlite3.connect(target)) as copy:
        for name, definition in source.execute('SELECT name, sql FROM sqlite_master').fetchall():
            if definition and name in (*_TABLES, 'messages'):
                copy.execute(definition)
                if name != 'messages':
                    _copy_table(source, copy, name)
        rows = (row for row in _readable_rows(source) if _is_message(row))
        copy.executemany('INSERT INTO messages VALUES (?, ?, ?, ?)', rows)
        copy.execute('CREATE INDEX timestamp_idx ON messages (timestamp ASC)')
        copy.commit()
        return int(copy.execute('SELECT count(*) FROM messages').fetchone()[0])


def _copy_table(source: sqlite3.Connection, copy: sqlite3.Connection, table: str) -> None:
    try:
        for row in source.execute(f'SELECT * FROM {table}'):
            marks = ', '.join('?' * len(row))
            copy.execute(f'INSERT INTO {table} VALUES ({marks})', row)
    except sqlite3.Error:
        if table == 'topics':
            raise  # Without topics no message can be understood.


def _open_readable(file: Path, trimmed: Path) -> sqlite3.Connection:
    """Open a file; of a cut one, a copy that ends with its last whole page and says so."""
    with file.open('rb') as stream:
        header = stream.read(100)
    page = int.from_bytes(header[_PAGE_SIZE], 'big')
    page = 65536 if page == 1 else page
    pages = file.stat().st_size // page if page else 0
    if not header.startswith(_SQLITE_MAGIC) or pages >= int.from_bytes(header[_PAGE_COUNT], 'big'):
        return _read_only(file)
    shutil.copyfile(file, trimmed)
    with trimmed.open('r+b') as stream:
        stream.seek(_PAGE_COUNT.start)
        stream.write(pages.to_bytes(4, 'big'))
        stream.truncate(pages * page)
    return _read_only(trimmed)


def _read_only(file: Path) -> sqlite3.Connection:
    # Immutable: a log beside the file was applied before, or cannot be.
    return sqlite3.connect(f'{file.resolve().as_uri()}?immutable=1', uri=True)
