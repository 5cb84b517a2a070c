# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The records of a recording in the order of their journal entries.

What a classifier publishes on two topics may reach a recorder in another order: an undo before the
annotation that it takes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from proemlc_ros.records import Annotation, Event, StampedVector

Record = StampedVector | Annotation | Event
# Nanoseconds that a record may come too late. Numbers that are smaller later on are of another
# journal, since the classifier has begun again.
WINDOW = 5_000_000_000


def entry_of(record: Record) -> int:
    """Return the number of a record's journal entry; 0 where it has none."""
    return 0 if isinstance(record, StampedVector) else record.entry


def in_entry_order(records: Iterable[tuple[int, Record]],
                   entries: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Record]]:
    """Yield records with their times, each behind those of smaller numbers that come too late.

    Args:
        records: with the times at which they were recorded, in that order.
        entries: time and number of those that have one, in the same order.

    """
    last_before = _last_before(entries)
    held: list[tuple[int, int, Record]] = []
    place = -1
    for time, record in records:
        entry = entry_of(record)
        if not entry:
            yield time, record
            continue
        place += 1
        heappush(held, (entry, place, record))
        while held and last_before[held[0][1]] <= place:
            yield time, heappop(held)[2]


def _last_before(entries: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each entry the place of the last one that belongs before it, or its own."""
    found = []
    for place, (time, entry) in enumerate(entries):
        last = place
        for other in range(place + 1, len(entries)):
            if entries[other][0] > time + WINDOW:
                break
            if entries[other][1] < entry:
                last = other
        found.append(last)
    return found
