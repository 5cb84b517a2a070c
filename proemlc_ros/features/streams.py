# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of stamped items: a limit on the rate of one, and several joined by nearest stamp."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from typing import Generic, NamedTuple, TypeVar

from proemlc_ros.stamps import NANOSECONDS

Item = TypeVar('Item')

# A stamp this much earlier than the last one is a clock that jumped back (a looping bag), not
# disorder on the network.
JUMP_BACK = NANOSECONDS
# Most items that wait where one stream is silent or floods.
MOST_WAITING = 1000


class Throttle:
    """Limits the mean rate of a stream, by stamp: 30 Hz limited to 20 gives 20, not 15."""

    def __init__(self, max_rate: float) -> None:
        """Take the limit in messages per second; 0 = no limit."""
        self._period = round(NANOSECONDS / max_rate) if max_rate > 0 else 0
        # Stamps jitter; a message a little early must not wait for the next one.
        self._allowance = self._period // 20
        self._due: int | None = None

    def allows(self, stamp: int) -> bool:
        """Return whether the message of this stamp (nanoseconds) may pass, and count it."""
        if self._period == 0:
            return True
        jumped_back = self._due is not None and stamp < self._due - self._period - JUMP_BACK
        if self._due is None or jumped_back:
            self._due = stamp
        if stamp < self._due - self._allowance:
            return False
        # What a pause missed is not made up for; messages are at least half a period apart.
        self._due = max(self._due + self._period, stamp + self._period // 2)
        return True


class Stamped(NamedTuple, Generic[Item]):
    """An item with its stamp in nanoseconds."""

    stamp: int
    item: Item


class StampJoiner(Generic[Item]):
    """Joins items of several streams by approximate stamp.

    The first stream leads. A leading item waits until every other stream has reached its stamp,
    because only then is the nearest item known, or until any stream is `patience` beyond it.
    The nearest items within `tolerance` join it; where one is missing it is dropped and counted.
    The result depends on stamps and order alone, so a bag gives the same as the live robot.
    """

    def __init__(self, streams: int, tolerance: int, patience: int) -> None:
        """Take the number of streams, and times in nanoseconds."""
        self._tolerance = tolerance
        self._patience = max(patience, tolerance)
        self._leading: deque[Stamped[Item]] = deque()
        # Followers carry the count of arrivals as second entry, so that items are not compared.
        self._following: list[list[tuple[int, int, Item]]] = [[] for _ in range(streams - 1)]
        self._newest: list[int | None] = [None] * streams
        self._arrivals = 0
        self.dropped = [0] * streams
        """For each stream, how many leading items were dropped for lack of a match in it."""

    def push(self, stream: int, stamp: int, item: Item) -> list[tuple[int, list[Item]]]:
        """Add an item; return what is complete now: the leading stamp, one item per stream."""
        newest = self._newest[stream]
        if newest is not None and stamp < newest - JUMP_BACK:
            self.clear()
        self._newest[stream] = max(stamp, self._newest[stream] or stamp)
        if stream == 0:
            self._leading.append(Stamped(stamp, item))
        else:
            self._arrivals += 1
            insort(self._following[stream - 1], (stamp, self._arrivals, item))
            del self._following[stream - 1][:-MOST_WAITING]
        return self._complete()

    def clear(self) -> None:
        """Drop everything that waits."""
        self._leading.clear()
        for followers in self._following:
            followers.clear()
        self._newest = [None] * len(self._newest)

    def _complete(self) -> list[tuple[int, list[Item]]]:
        joined = []
        while self._leading and self._decided(self._leading[0].stamp):
            leader = self._leading.popleft()
            followers = [self._nearest(stream, leader.stamp) for stream in self._following]
            self._drop_before(leader.stamp - self._tolerance)
            if None not in followers:
                joined.append((leader.stamp, [leader.item, *(
                    follower.item for follower in followers if follower is not None)]))
            for stream, follower in enumerate(followers, start=1):
                self.dropped[stream] += follower is None
        return joined

    def _decided(self, stamp: int) -> bool:
        if len(self._leading) > MOST_WAITING:
            return True
        followers = self._newest[1:]
        if all(newest is not None and newest >= stamp for newest in followers):
            return True
        return max(newest for newest in self._newest if newest is not None) > (
            stamp + self._patience)

    def _nearest(
        self, followers: list[tuple[int, int, Item]], stamp: int,
    ) -> Stamped[Item] | None:
        place = bisect_left(followers, (stamp,))
        near = followers[max(place - 1, 0):place + 1]
        best = min(near, key=lambda follower: abs(follower[0] - stamp), default=None)
        if best is None or abs(best[0] - stamp) > self._tolerance:
            return None
        return Stamped(best[0], best[2])

    def _drop_before(self, stamp: int) -> None:
        for followers in self._following:
            del followers[:bisect_left(followers, (stamp,))]
