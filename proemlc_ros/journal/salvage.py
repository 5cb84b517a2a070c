# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One file of the journal: examined entry by entry, and salvaged where it is damaged.

There is one policy: of a file that is not as it should be, every entry is taken that its record
proves, from whatever page it is on (https://www.sqlite.org/fileformat2.html).

SQLite applies every rollback journal and write-ahead log that it finds. One that was left behind
by a copy or a restored backup takes the file back to where it was. A rollback journal holds page 1
from before its transaction, with the change counter of that time: the file has the same counter,
or the next one. The files of this package never have a write-ahead log.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from proemlc_ros.journal.entries import (
    LOST_REFERENCE,
    EntryRecord,
    Judge,
    JudgedEntry,
    Pair,
    Row,
    Verdict,
    digest_of,
    merged,
    numbers_in_words,
)
from proemlc_ros.journal.metadata import BagTopic, FileSummary, are_whole
from proemlc_ros.journal.sqlite_file import SqliteFile, is_disk_error


@dataclass
class FileReport(FileSummary):
    """What was found in one file; its numbers, times and topics are those of usable entries.

    Args:
        problem: what is wrong with the file, in words; empty where nothing is.
        readable: whether its structure is whole.
        proven: number of entries that prove themselves.
        unprovable: number of entries without a record, of an earlier version.
        refuted: numbers of entries that are not what was written.
        unproven: numbers of entries without a record, though earlier ones have one.
        missing: numbers of entries of which only the record is there.
        unlinked: numbers of entries that do not follow the one before.
        healed: number of records that had to be corrected.
        unreferenced: numbers of entries of which it is lost what they refer to, if anything.
    """

    problem: str = ''
    readable: bool = True
    proven: int = 0
    unprovable: int = 0
    refuted: list[int] = field(default_factory=list)
    unproven: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    unlinked: list[int] = field(default_factory=list)
    healed: int = 0
    unreferenced: list[int] = field(default_factory=list)

    @property
    def needs_repair(self) -> bool:
        """Whether the file has to be written again."""
        return bool(self.problem or self.refuted or self.unproven or self.healed)

    @property
    def usable(self) -> int:
        """Number of entries that can be used."""
        return self.proven + self.unprovable

    def count(self, entry: JudgedEntry) -> None:
        """Take note of an entry."""
        if entry.verdict is Verdict.PROVEN:
            self.proven += 1
            self.healed += entry.healed
            if entry.healed and entry.record and entry.record.reference == LOST_REFERENCE:
                self.unreferenced.append(entry.number)
        elif entry.verdict is Verdict.UNPROVABLE:
            self.unprovable += 1
        else:
            {Verdict.REFUTED: self.refuted, Verdict.UNPROVEN: self.unproven,
             Verdict.MISSING: self.missing}[entry.verdict].append(entry.number)
            return
        if not entry.linked:
            self.unlinked.append(entry.number)
        if entry.row is not None:
            self.add(entry.row)

    def in_words(self) -> str:
        """Return what was salvaged of a damaged file."""
        lost = sorted({*self.refuted, *self.missing})
        gone = (f'entries {numbers_in_words(lost)} are lost' if lost
                else 'no entry is known to be lost')
        if self.unreferenced:
            gone += f', what entries {numbers_in_words(self.unreferenced)} refer to is lost'
        # What stood on pages that are gone altogether has left no trace.
        doubt = ('' if self.readable else '; it cannot be told whether more followed entry '
                 f'{max([0, self.last, *lost])}')
        return (f'{self.name} was damaged: {self.problem}; {self.usable} messages recovered, '
                f'{gone}{doubt}')


@dataclass
class Examined:
    """A file that was examined.

    Args:
        report: what was found.
        judge: as it stands behind the file.
        topics: of the file; empty where they are damaged.
        pairs: usable entries, where the file itself does not give them; otherwise None.
        lost: records of entries that are gone.
    """

    report: FileReport
    judge: Judge
    topics: list[BagTopic] = field(default_factory=list)
    pairs: list[Pair] | None = None
    lost: list[EntryRecord] = field(default_factory=list)


def examine(path: Path, before: Judge, following: EntryRecord | None = None,
            read_only: bool = False, thorough: bool = True,
            progress: Callable[[int], None] = lambda _: None) -> Examined:
    """Read all of a file, judge its entries, and salvage them where something is damaged.

    Args:
        path: the file; its content is not changed, except for a rollback that is due.
        before: knows the files before; it is not changed.
        following: first record of the next file.
        read_only: roll nothing back in the file.
        thorough: check its structure though all entries can be read; takes a longer lock.
        progress: called with 1 after each entry.

    Raises:
        sqlite3.Error, OSError: the disk fails, or somebody else holds the file.
    """
    with readable(path) if read_only else nullcontext(path) as source:
        found = Examined(FileReport(path.name), copy(before))
        if source.stat().st_size:
            _examine_rows(found, source, following, read_only, thorough, progress)
        else:  # SQLite takes it for a new database.
            found.report.problem, found.report.readable = 'it is empty', False
        if found.report.needs_repair:
            return _salvage(source, copy(before), following, found)
        if source != path:
            with closing(SqliteFile(source, read_only=True)) as file:
                found.pairs = list(file.pairs())
    return found


def _examine_rows(found: Examined, path: Path, following: EntryRecord | None, read_only: bool,
                  thorough: bool, progress: Callable[[int], None]) -> None:
    report = found.report
    try:
        with closing(SqliteFile(path, read_only)) as file:
            report.problem = file.problem() if thorough else ''
            if report.problem:
                report.readable = 'structure' not in report.problem
            topics = file.topics()
            if are_whole(topics):
                found.topics = topics
            elif not report.problem:
                report.problem = 'its topics or message definitions are damaged'
            for entry in found.judge.judge(file.entries(), following):
                report.count(entry)
                progress(1)
            if not report.problem and max(report.by_topic, default=0) > len(topics):
                report.problem, found.topics = 'its list of topics is damaged', []
            if not thorough and (report.missing or len(report.numbers) > 1):
                report.problem = file.problem()
    except Exception as error:  # Damaged content raises what it likes, UnicodeDecodeError too.
        if is_disk_error(error):
            raise
        report.problem, report.readable = f'it cannot be read ({error!r})', False


def _salvage(path: Path, judge: Judge, following: EntryRecord | None,
             found: Examined) -> Examined:
    rows, records = scan(path.read_bytes())
    report = FileReport(found.report.name, problem=found.report.problem
                        or 'entries in it are damaged', readable=found.report.readable)
    salvaged = Examined(report, judge, found.topics, [])
    for entry in judge.judge(_chosen(rows, records), following):
        report.count(entry)
        if entry.usable and entry.row is not None and salvaged.pairs is not None:
            salvaged.pairs.append((entry.row, entry.record))
        elif entry.record is not None:
            salvaged.lost.append(entry.record)
    return salvaged


def _chosen(rows: list[_ScannedRow], records: list[EntryRecord]
            ) -> Iterator[tuple[Row | None, EntryRecord | None]]:
    """Yield one entry and record per number: where pages have several, those that fit."""
    candidates: dict[int, list[_ScannedRow]] = {}
    for scanned in rows:
        candidates.setdefault(scanned.row[0], []).append(scanned)
    chosen_rows: dict[int, Row] = {}
    chosen: dict[int, EntryRecord] = {}
    for record in records:
        fitting = None if record.number in chosen_rows else next(
            (scanned.row for scanned in candidates.get(record.number, ())
             if digest_of(scanned.row) == record.digest), None)
        if fitting is not None:
            chosen_rows[record.number] = fitting
        if fitting is not None or record.number not in chosen:
            chosen[record.number] = record
    for number, found in candidates.items():
        certain = next((scanned.row for scanned in found if scanned.certain), None)
        if certain is not None:
            chosen_rows.setdefault(number, certain)
    return merged([chosen_rows[number] for number in sorted(chosen_rows)],
                  [chosen[number] for number in sorted(chosen)])


def rebuild(path: Path, topics: Sequence[BagTopic], salvaged: Examined) -> Path:
    """Replace a damaged file by one with all that was salvaged.

    Returns:
        Where the damaged file is kept.

    Raises:
        OSError, sqlite3.Error: the damaged file is still in its place.
    """
    rebuilt = path.with_name(f'{path.name}.rebuilt')
    rebuilt.unlink(missing_ok=True)
    pairs = salvaged.pairs or []
    with closing(SqliteFile.create(rebuilt, topics)) as target:
        records = [record for _, record in pairs if record is not None]
        target.append([row for row, _ in pairs], sorted([*records, *salvaged.lost]))
    kept = unused_name(path, '.damaged')
    try:
        os.link(path, kept)
    except OSError:  # A file system without links.
        shutil.copyfile(path, kept)
    # A rollback journal belongs to the damaged file and must not be applied to the new one.
    path.with_name(f'{path.name}-journal').unlink(missing_ok=True)
    rebuilt.replace(path)
    return kept


# ----- logs of SQLite beside a file -----

_JOURNAL_MAGIC = bytes.fromhex('d9d505f920a163d7')
# Records, nonce, pages of the file before, bytes per sector, bytes per page.
_JOURNAL_HEADER = struct.Struct('>IIIII')
_UNKNOWN_COUNT = (0, 0xffffffff)
_COUNTER = slice(24, 28)
_PAGES = slice(28, 32)
_FORMAT_VERSIONS = slice(18, 20)


def stale_logs(path: Path) -> list[Path]:
    """Return the logs beside a file that belong to another state of it."""
    return [log for log in (_stale_wal(path), _stale_rollback(path)) if log is not None]


def unused_name(path: Path, ending: str) -> Path:
    """Return a name beside a file that nothing has yet: what was kept is never overwritten."""
    kept, number = path.with_name(path.name + ending), 2
    while kept.exists():
        kept, number = path.with_name(f'{path.name}{ending}.{number}'), number + 1
    return kept


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """Yield a file that can be read without a change to the journal.

    That is the file itself. After a crash, a transaction that was cut off is rolled back in a
    copy; while the classifier runs, SQLite's locks tell that it is not cut off.
    """
    log = _log(path, '-journal')
    if not _stale_wal(path) and (log is None or _is_being_written(path)):
        yield path
        return
    with TemporaryDirectory(prefix='proemlc_journal_') as name:
        rolled_back = Path(name, path.name)
        shutil.copyfile(path, rolled_back)
        if log is not None and not _stale_rollback(path):
            shutil.copyfile(log, rolled_back.with_name(log.name))
            with closing(sqlite3.connect(rolled_back)) as database:
                try:
                    database.execute('SELECT count(*) FROM sqlite_master').fetchone()
                except sqlite3.DatabaseError:
                    pass  # Damaged as well, as the examination will tell.
        yield rolled_back


def _is_being_written(path: Path) -> bool:
    with closing(sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro', uri=True)) as database:
        try:
            database.execute('SELECT count(*) FROM sqlite_master').fetchone()
        except sqlite3.Error:
            return False  # A log that has to be applied, which reading alone must not.
    return True


def _log(path: Path, ending: str) -> Path | None:
    log = path.with_name(path.name + ending)
    return log if log.is_file() and log.stat().st_size else None


def _stale_wal(path: Path) -> Path | None:
    log = _log(path, '-wal')
    return log if log and _header(path)[_FORMAT_VERSIONS] != b'\2\2' else None


def _stale_rollback(path: Path) -> Path | None:
    log = _log(path, '-journal')
    header, data = _header(path), b'' if log is None else log.read_bytes()
    if len(header) < 100 or not data.startswith(_JOURNAL_MAGIC) or len(data) < 28:
        return None  # SQLite ignores such a log, or the file is nothing without it.
    first_page, pages_before = _rollback_content(data)
    if first_page is None:
        return log if pages_before != int.from_bytes(header[_PAGES], 'big') else None
    counter = int.from_bytes(header[_COUNTER], 'big')
    before = int.from_bytes(first_page[_COUNTER], 'big')
    return None if counter in (before, before + 1) else log


def _rollback_content(data: bytes) -> tuple[bytes | None, int]:
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


# ----- rows out of pages -----

_MAGIC = b'SQLite format 3\0'
_LEAF = 13
_COMMON_PAGE = 4096
_PAGE_SIZES = frozenset(2**power for power in range(9, 17))
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
Value = int | bytes | str | None


class _ScannedRow(NamedTuple):
    """An entry found in a page; certain: the page says that it is one of rows."""

    row: Row
    certain: bool


def scan(data: bytes) -> tuple[list[_ScannedRow], list[EntryRecord]]:
    """Return all entries and records in the bytes of a file, in no order."""
    rows: list[_ScannedRow] = []
    records: list[EntryRecord] = []
    for number, values, certain in _cells(data):
        if len(values) != 4 or values[0] is not None:
            continue
        _, second, third, fourth = values
        if isinstance(second, int) and isinstance(third, int) and isinstance(fourth, bytes):
            rows.append(_ScannedRow((number, second, third, fourth), certain))
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
