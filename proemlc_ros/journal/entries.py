# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of the journal, as messages of the bag and back, and the proof that they were written.

A picture that is there in time is the entry just before its annotation, in the same transaction:
so the last entry of a journal is never one that a snapshot does not know. One that comes late is
written when it comes, and names its annotation.

Each entry has a record beside it, in a table of its own that other readers of the bag ignore: a
digest of the entry, and a chain value over all digests so far. The digest proves the entry; the
chain shows entries that are missing, moved or replaced, and proves an entry whose digest is lost.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

from proemlc_ros.cdr import (
    ANNOTATION_TYPE,
    EVENT_TYPE,
    PICTURE_TYPE,
    annotation_bytes,
    event_bytes,
    is_whole,
    picture_bytes,
    read_annotation,
    read_event,
)
from proemlc_ros.records import (
    REQUEST_PREFIX,
    Annotation,
    ClientRequest,
    Event,
    EventKind,
    Picture,
)

JournalRecord = Annotation | Event
ENTRY_TYPES = (ANNOTATION_TYPE, EVENT_TYPE, PICTURE_TYPE)
"""Message types of the entries, in the order of their topics."""

# Numbers of the topics.
_ANNOTATION_TOPIC, EVENT_TOPIC, PICTURE_TOPIC = 1, 2, 3
RECORD_TOPICS = (_ANNOTATION_TOPIC, EVENT_TOPIC)

PICTURE_PREFIX = 'picture'
"""How the references of pictures begin; what follows is the number of the annotation."""


class JournalEntry(NamedTuple):
    """One entry of the journal.

    Args:
        number: position, from 1 on.
        record: the annotation or event; None where it cannot be read.
        reference: what an event refers to outside the journal; empty for most entries.
        error: why it cannot be read, in words.
        time: nanoseconds since the epoch, when it was written.
    """

    number: int
    record: JournalRecord | None
    reference: str = ''
    error: str = ''
    time: int = 0


def encode(record: JournalRecord | Picture) -> tuple[int, bytes]:
    """Return the number of the topic of a record, and its bytes."""
    if isinstance(record, Annotation):
        return _ANNOTATION_TOPIC, annotation_bytes(record)
    if isinstance(record, Event):
        return EVENT_TOPIC, event_bytes(record)
    return PICTURE_TOPIC, picture_bytes(record)


def decode(pair: Pair) -> JournalEntry:
    """Return an annotation or event; a record that cannot be read is None, with the reason."""
    (number, topic, time, data), proof = pair
    record: JournalRecord | None = (read_annotation if topic == _ANNOTATION_TOPIC
                                    else read_event)(data)
    error = '' if record is not None else 'it cannot be read: it is of a later version, or damaged'
    return JournalEntry(number, record, '' if proof is None else proof.reference, error, time)


def is_valid_entry(row: Row) -> bool:
    """Tell whether an entry without a record is whole."""
    _, topic, timestamp, data = row
    return (timestamp > 0 and 1 <= topic <= len(ENTRY_TYPES)
            and is_whole(data, ENTRY_TYPES[topic - 1]))


# ----- steps -----

# Requests of clients that record many samples as one step.
_BURST = re.compile(r'(burst:[0-9a-f]{12}):\d{1,9}')
# References of corrections that were made as one step.
_TOGETHER = re.compile(r'together:[0-9a-f]{12}')
# How the undo of the last annotation refers to it.
LAST_REFERENCE = re.compile(r'entry:(\d{1,19})')
REJECTED_REFERENCE = 'rejected'
"""Reference of the undo of an annotation that the learner could not take."""


class ModelStep(NamedTuple):
    """A change of the model that can be undone.

    Args:
        number: of its journal entry.
        time: nanoseconds since the epoch, when it was written.
        record: the annotation without features, or the event.
        group: of steps that are undone together, such as a burst; empty: none.
    """

    number: int
    time: int
    record: Annotation | Event
    group: str = ''

    @property
    def kind(self) -> EventKind | None:
        """Kind of the event; None for an annotation."""
        return self.record.kind if isinstance(self.record, Event) else None

    @property
    def annotator(self) -> str:
        """Who did it; empty where not stated."""
        return self.record.annotator

    @property
    def sample(self) -> int:
        """The sample concerned; 0 where none is."""
        if isinstance(self.record, Annotation):
            return self.number
        return 0 if self.record.kind is EventKind.LOAD else self.record.sample


def last_reference(number: int) -> str:
    """Return how the undo of the last annotation refers to it."""
    return f'entry:{number}'


def together_reference(token: str) -> str:
    """Return how corrections refer to each other that are one step; token: 12 hex digits."""
    return f'together:{token}'


def group_of(reference: str) -> str:
    """Return the group of the step with this reference; empty where it has none."""
    if not reference.startswith(REQUEST_PREFIX):
        return reference if _TOGETHER.fullmatch(reference) else ''
    request = ClientRequest.from_reference(reference)
    found = _BURST.fullmatch(request.id) if request is not None else None
    return found[1] if found else ''


# ----- pictures -----


def late_reference(number: int) -> str:
    """Return how a picture refers to an annotation that was written before."""
    return f'{PICTURE_PREFIX}:{number}'


def with_pictures(records: Sequence[JournalRecord], references: Sequence[str] | None,
                  pictures: Sequence[Picture | None] | None
                  ) -> tuple[list[JournalRecord | Picture], list[str], Sequence[int]]:
    """Put pictures before the annotations that they belong to.

    Args:
        records: annotations and events.
        references: one per record; None: empty ones.
        pictures: one per record; None: none.

    Returns:
        All that is to be written, the references, and where among them the records are.
    """
    everything: list[JournalRecord | Picture] = []
    notes: list[str] = []
    places = []
    for place, record in enumerate(records):
        picture = pictures[place] if pictures is not None else None
        if picture is not None:
            everything.append(picture)
            notes.append(PICTURE_PREFIX)
        places.append(len(everything))
        everything.append(record)
        notes.append(references[place] if references is not None else '')
    return everything, notes, places


def pictures_of(references: Iterable[tuple[int, str]]) -> dict[int, int]:
    """Return the entry of the picture of each annotation.

    Args:
        references: number and reference of the pictures' entries.
    """
    found = {}
    for number, reference in references:
        owner = reference.removeprefix(PICTURE_PREFIX).removeprefix(':')
        if not owner:
            found[number + 1] = number
        elif owner.isdecimal():
            found[int(owner)] = number
    return found


# ----- numbers -----


def numbers_in_words(numbers: Iterable[int | range], most: int = 20) -> str:
    """Return rising numbers, or stretches of them, for people, with what follows joined.

    >>> numbers_in_words([3, 5, 6, range(7, 9), 11])
    '3, 5 to 8, 11'
    """
    parts: list[range] = []
    for number in numbers:
        # Stretches as they are: one number read wrong can make one of any length.
        part = number if isinstance(number, range) else range(number, number + 1)
        if parts and parts[-1].stop == part.start:
            parts[-1] = range(parts[-1].start, part.stop)
        else:
            parts.append(part)
    words = [str(part.start) if len(part) == 1 else f'{part.start} to {part[-1]}'
             for part in parts[:most]]
    more = len(parts) - most
    return ', '.join(words) + (f' and {more} more' if more > 0 else '')


# ----- proof -----


Row = tuple[int, int, int, bytes]
"""Number, topic number, timestamp in nanoseconds, CDR bytes."""

# Number of an entry that no journal reaches: numbers above it are damaged, or made up.
LARGEST_NUMBER = 2**53
_CHAIN_START = bytes(16)
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
    previous = _CHAIN_START if chain is None else chain
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
        self.chain: bytes | None = _CHAIN_START
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
