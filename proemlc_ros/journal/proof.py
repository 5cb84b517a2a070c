# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Proof that the entries of a journal are those that were written.

Each entry has a record beside it, in a table of its own that other readers of the bag ignore: a
digest of the entry, and a chain value over all digests so far. The digest proves the entry; the
chain shows entries that are missing, moved or replaced, and proves an entry whose digest is lost.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

Row = tuple[int, int, int, bytes]
"""Number, topic number, timestamp in nanoseconds, CDR bytes."""

# Number of an entry that no journal reaches: numbers above it are damaged, or made up.
LARGEST_NUMBER = 2**53
CHAIN_START = bytes(16)
LOST_REFERENCE = 'lost'
"""Stands for the reference of an entry whose record is lost."""

_HEAD = struct.Struct('<qqq')
# Nanoseconds since the epoch, in the year 2116.
_END_OF_TIME = 2**62


class EntryRecord(NamedTuple):
    """What is kept beside an entry.

    Args:
        number: of the entry.
        digest: of its content.
        chain: over the digests of this and all entries before.
        reference: what an event refers to outside itself; empty for most entries.
        damaged: whether the reference was changed.
    """

    number: int
    digest: bytes
    chain: bytes
    reference: str = ''
    damaged: bool = False

    @classmethod
    def read(cls, number: int, digest: bytes, chain: bytes, text: str) -> EntryRecord:
        """Return a record as it is stored; a reference that was changed counts as lost."""
        reference = text.rpartition('#')[0]
        if text == _sealed(number, reference):
            return cls(number, digest, chain, reference)
        return cls(number, digest, chain, LOST_REFERENCE, damaged=True)

    def stored(self) -> tuple[int, bytes, bytes, str]:
        """Return the record as it is stored."""
        return self.number, self.digest, self.chain, _sealed(self.number, self.reference)


def _sealed(number: int, reference: str) -> str:
    """Return a reference with a checksum of its own; entries can be proven without it."""
    if not reference:
        return ''
    return f'{reference}#{blake2b(f"{number} {reference}".encode(), digest_size=4).hexdigest()}'


Pair = tuple[Row, EntryRecord | None]
"""An entry with its proof, None where an earlier version wrote it."""


class Verdict(Enum):
    """What is known of an entry."""

    PROVEN = 'proven'
    UNPROVABLE = 'unprovable'
    """Whole, before the first record of the journal: written by an earlier version."""
    UNPROVEN = 'unproven'
    """Without a record, though earlier entries have one; refuted."""
    REFUTED = 'refuted'
    """Not what was written, or out of place."""
    MISSING = 'missing'
    """Its record is there, the entry is not."""


class JudgedEntry(NamedTuple):
    """An entry, or its place, with the verdict on it.

    Args:
        number: of the entry.
        row: the entry; None where it is missing.
        record: as it should be; None where there is none.
        verdict: what is known of the entry.
        healed: whether the record had to be corrected.
        linked: whether it follows the entry before it, as far as the chain tells.
    """

    number: int
    row: Row | None
    record: EntryRecord | None
    verdict: Verdict
    healed: bool = False
    linked: bool = True

    @property
    def usable(self) -> bool:
        """Whether the entry can be used."""
        return self.verdict in (Verdict.PROVEN, Verdict.UNPROVABLE)


def _has_time(row: Row) -> bool:
    """Tell whether a row has a time that others can follow; nothing else proves it."""
    time: object = row[2]
    return isinstance(time, int) and 0 <= time < _END_OF_TIME


def digest_of(row: Row) -> bytes:
    """Return the digest of an entry."""
    number, topic, timestamp, data = row
    digest = blake2b(_HEAD.pack(number, topic, timestamp), digest_size=16)
    digest.update(data)
    return digest.digest()


def chain_of(previous: bytes, digest: bytes) -> bytes:
    """Return the chain value of an entry from the one before it and its digest."""
    return blake2b(previous + digest, digest_size=16).digest()


def records_of(rows: Sequence[Row], references: Sequence[str],
               chain: bytes | None) -> list[EntryRecord]:
    """Return the records of new entries.

    Args:
        rows: the entries.
        references: one per entry.
        chain: of the entry before; None where there is none.
    """
    records = []
    previous = CHAIN_START if chain is None else chain
    for row, reference in zip(rows, references, strict=True):
        digest = digest_of(row)
        previous = chain_of(previous, digest)
        records.append(EntryRecord(row[0], digest, previous, reference))
    return records


def merged(rows: Iterable[Row],
           records: Iterable[EntryRecord]) -> Iterator[tuple[Row | None, EntryRecord | None]]:
    """Yield entries with their records by rising number; both must be sorted."""
    left, right = iter(rows), iter(records)
    row, record = next(left, None), next(right, None)
    while row is not None or record is not None:
        if record is None or (row is not None and row[0] < record.number):
            yield row, None
            row = next(left, None)
        elif row is None or record.number < row[0]:
            yield None, record
            record = next(right, None)
        else:
            yield row, record
            row, record = next(left, None), next(right, None)


class Judge:
    """Judges the entries of a journal in order, file by file.

    Args:
        is_valid: tells whether an entry without a record is whole.

    Attributes:
        chain: of the last entry, None where not known.
        last: number of the last entry that is, or was, there.
        proven: whether a record was seen; entries behind it must have one.
    """

    def __init__(self, is_valid: Callable[[Row], bool]) -> None:
        self.last = 0
        self.chain: bytes | None = CHAIN_START
        self.proven = False
        self._is_valid = is_valid
        # Rows without a record, until the next record tells about them.
        self._waiting: list[Row] = []
        # An entry whose chain value does not fit, until the next one tells which is wrong.
        self._doubtful: tuple[JudgedEntry, bytes] | None = None

    def judge(self, pairs: Iterable[tuple[Row | None, EntryRecord | None]],
              following: EntryRecord | None = None) -> Iterator[JudgedEntry]:
        """Yield the verdict on each entry of a file.

        Args:
            pairs: entries with their records.
            following: first record of the next file, which may prove the end of this one.
        """
        self._waiting = []
        for row, record in pairs:
            number = record.number if record is not None else row[0] if row is not None else 0
            if (number <= self.last or (self._waiting and number <= self._waiting[-1][0])
                    or number > LARGEST_NUMBER
                    or (record is None and row is not None and not _has_time(row))):
                yield JudgedEntry(number, row, None, Verdict.REFUTED)
            elif record is not None:
                yield from self._judge_recorded(row, record)
            elif row is not None:
                self._waiting.append(row)
        yield from self._judge_waiting(following)
        if following is not None:
            yield from self._settle_doubt(following, following.digest)
        yield from self._end_doubt()

    def links(self, record: EntryRecord) -> bool:
        """Tell whether a record may be the next one, as far as the chain is known."""
        return (record.number != self.last + 1 or self.chain is None
                or chain_of(self.chain, record.digest) == record.chain)

    def _judge_recorded(self, row: Row | None, record: EntryRecord) -> Iterator[JudgedEntry]:
        yield from self._judge_waiting(record)
        self.proven = True
        digest = record.digest if row is None else digest_of(row)
        yield from self._settle_doubt(record, digest)
        follows = self.last == record.number - 1
        chain = chain_of(self.chain, digest) if follows and self.chain is not None else None
        self.last, self.chain = record.number, record.chain
        if row is None:
            yield JudgedEntry(record.number, None, record, Verdict.MISSING)
        elif digest != record.digest and chain != record.chain:
            yield JudgedEntry(record.number, row, record, Verdict.REFUTED)
        else:
            entry = JudgedEntry(
                record.number, row, record._replace(digest=digest, damaged=False),
                Verdict.PROVEN, healed=digest != record.digest or record.damaged)
            if chain is None or chain == record.chain:
                yield entry
            else:
                self._doubtful = entry, chain

    def _settle_doubt(self, record: EntryRecord, digest: bytes) -> Iterator[JudgedEntry]:
        """Tell whether the entry before does not belong here, or only its chain value is wrong."""
        if self._doubtful is None:
            return
        entry, expected = self._doubtful
        if (self.last == record.number - 1 and entry.record is not None
                and chain_of(expected, digest) == record.chain):
            self.chain, self._doubtful = expected, None
            yield entry._replace(record=entry.record._replace(chain=expected), healed=True)
        else:
            yield from self._end_doubt()

    def _end_doubt(self) -> Iterator[JudgedEntry]:
        if self._doubtful is not None:
            entry, _ = self._doubtful
            self._doubtful = None
            yield entry._replace(linked=False)

    def _judge_waiting(self, record: EntryRecord | None) -> Iterator[JudgedEntry]:
        """Judge rows without records from the first record behind them."""
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        yield from self._end_doubt()
        records = records_of(rows, [LOST_REFERENCE] * len(rows), self.chain)
        complete = record is not None and (
            [row[0] for row in rows] == list(range(self.last + 1, record.number)))
        if (complete and record is not None
                and chain_of(records[-1].chain, record.digest) == record.chain):
            for row, proof in zip(rows, records, strict=True):
                yield JudgedEntry(row[0], row, proof, Verdict.PROVEN, healed=True)
            self.last, self.chain = rows[-1][0], records[-1].chain
        elif not self.proven:
            yield from map(self._judge_older, rows)
        else:
            yield from (JudgedEntry(row[0], row, None, Verdict.UNPROVEN) for row in rows)

    def _judge_older(self, row: Row) -> JudgedEntry:
        self.last = row[0]
        # The record behind it began the chain, or went on with what a later version knew.
        self.chain = None
        verdict = Verdict.UNPROVABLE if self._is_valid(row) else Verdict.REFUTED
        return JudgedEntry(row[0], row, None, verdict)
