# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept for answers that come late: recent feature vectors, and open queries."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeVar

from proemlc_ros.records import Query, StampedVector

Item = TypeVar('Item')


class RecentVectors:
    """Feature vectors by stamp: the newest of them, and those that somebody holds.

    An operator who freezes a prediction holds its vector. The vector then outlives the stream of
    new ones, so that typing may take longer than the classifier's own buffer lasts. A vector may
    arrive after its prediction, and be held before it is here.

    Args:
        max_count: vectors of the stream that are kept.
        max_bytes: of their values, for very wide vectors.
        max_held: vectors held or awaited at once by all operators; the oldest is dropped first.
    """

    def __init__(self, max_count: int = 600, max_bytes: int = 64_000_000,
                 max_held: int = 200) -> None:
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._max_held = max_held
        self._stream: OrderedDict[int, StampedVector] = OrderedDict()
        self._held: OrderedDict[int, StampedVector] = OrderedDict()
        self._awaited: OrderedDict[int, None] = OrderedDict()
        self._bytes = 0

    def add(self, vector: StampedVector) -> None:
        """Add a vector; a second one with the same stamp replaces the first."""
        old = self._stream.pop(vector.stamp, None)
        if old is not None:
            self._bytes -= old.data.nbytes
        self._stream[vector.stamp] = vector
        self._bytes += vector.data.nbytes
        while len(self._stream) > self._max_count or self._bytes > self._max_bytes:
            _, dropped = self._stream.popitem(last=False)
            self._bytes -= dropped.data.nbytes
        if vector.stamp in self._awaited:
            self.hold(vector.stamp, vector)

    def hold(self, stamp: int, vector: StampedVector | None = None) -> bool:
        """Keep a vector for an answer, now or when it arrives; return whether it is known.

        Args:
            stamp: of the vector, in nanoseconds.
            vector: the vector itself where the caller has it, such as from a query.
        """
        found = vector or self.find(stamp)
        if found is None:
            self._keep(self._awaited, stamp, None)
            return False
        self._awaited.pop(stamp, None)
        self._keep(self._held, stamp, found)
        return True

    def find(self, stamp: int) -> StampedVector | None:
        """Return the vector of a stamp, or None where it is no longer kept."""
        return self._held.get(stamp) or self._stream.get(stamp)

    def _keep(self, kept: OrderedDict[int, Item], stamp: int, item: Item) -> None:
        kept.pop(stamp, None)
        kept[stamp] = item
        if len(kept) > self._max_held:
            kept.popitem(last=False)


class QueryQueue:
    """The classifier's open queries by stamp, oldest first.

    Args:
        max_count: queries kept; the oldest are dropped first.
    """

    def __init__(self, max_count: int = 50) -> None:
        self._max_count = max_count
        self._queries: OrderedDict[int, Query] = OrderedDict()
        self._times: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._queries)

    def __iter__(self) -> Iterator[Query]:
        return iter(list(self._queries.values()))

    def add(self, query: Query, asked_at: float | None = None) -> None:
        """Put a query at the end; `asked_at` in seconds since 1970, None: now."""
        self._queries[query.vector.stamp] = query
        self._times[query.vector.stamp] = time.time() if asked_at is None else asked_at
        while len(self._queries) > self._max_count:
            self._times.pop(self._queries.popitem(last=False)[0], None)

    def asked_at(self, stamp: int) -> float:
        """Return when an open query came, in seconds since 1970."""
        return self._times[stamp]

    def find(self, stamp: int) -> Query | None:
        """Return the query about a stamp, or None."""
        return self._queries.get(stamp)

    def settle(self, stamp: int) -> bool:
        """Remove the query about a stamp, answered or skipped; return whether it was open."""
        self._times.pop(stamp, None)
        return self._queries.pop(stamp, None) is not None
