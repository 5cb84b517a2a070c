# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The most recent feature vectors, by their stamps and regions."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

from proemlc_ros.records import StampedVector
from proemlc_ros.regions import SAME, WHOLE, Region, overlap
from proemlc_ros.stamps import NANOSECONDS

Box = tuple[float, float, float, float]
# Regions of one picture that are kept beyond the capacity, so that they stay together.
MOST_REGIONS = 1000


@dataclass(slots=True)
class MatchingRules:
    """How annotations find their feature vectors; may be changed while running.

    Args:
        tolerance: seconds that a vector's stamp may differ from the annotation's.
        hold: seconds that an annotation waits for a vector that is late.
        reorder: seconds by which vectors may arrive out of order; a larger step back is a jump of
            the clock (a looping bag, a restarted simulation) and clears the buffer.
        capacity: vectors kept.
        max_bytes: bytes of vectors kept.
        max_held: annotations waiting at a time.
    """

    tolerance: float = 0.0
    hold: float = 1.0
    reorder: float = 1.0
    capacity: int = 1000
    max_bytes: int = 64 * 1024 * 1024
    max_held: int = 100


class VectorBuffer:
    """A bounded buffer of feature vectors in the order of their stamps.

    Args:
        rules: bounds; may be changed while running.
    """

    def __init__(self, rules: MatchingRules) -> None:
        self.rules = rules
        self.jumps = 0
        self.duplicates = 0
        self.bytes = 0
        self.newest: StampedVector | None = None
        # Of whole pictures, for looking up; change it by methods only.
        self.by_stamp: dict[int, StampedVector] = {}
        self._by_region: dict[int, dict[Box, StampedVector]] = {}
        self._stamps: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def span(self) -> tuple[int, int]:
        """The oldest and the newest stamp; there must be one."""
        return self._stamps[0], self._stamps[-1]

    def add(self, vector: StampedVector) -> None:
        """Keep a vector; a jump back of the stamps removes all others first.

        A vector without time is only ever the newest, and one with a known stamp and region
        replaces the other.
        """
        if vector.stamp and self.is_long_past(vector.stamp):
            self.jumps += 1
            self.clear()
        self.newest = vector
        if vector.stamp:
            self._keep(vector)

    def is_long_past(self, stamp: int) -> bool:
        """Tell whether a stamp is too old for a vector that is merely out of order."""
        if not self._stamps or stamp >= self._stamps[-1]:
            return False
        return stamp < self._stamps[-1] - round(self.rules.reorder * NANOSECONDS)

    def find(self, stamp: int, final: bool = False,
             region: Region = WHOLE) -> StampedVector | None:
        """Return the vector of a stamp and region, or the nearest in time within the tolerance.

        An exact match of a whole picture is in `by_stamp`, without a call.

        Args:
            stamp: nanoseconds.
            final: do not wait for a newer vector that might be nearer.
            region: that the vector is of; a box that two programs round differently is the same.
        """
        exact = self._at(stamp, region)
        if exact is not None or not self._stamps:
            return exact
        if stamp > self._stamps[-1] and not final:
            return None
        index = bisect_left(self._stamps, stamp)
        nearest = min(self._stamps[max(index - 1, 0):index + 1], key=lambda s: abs(s - stamp))
        if abs(nearest - stamp) <= round(self.rules.tolerance * NANOSECONDS):
            return self._at(nearest, region)
        return None

    def regions_at(self, stamp: int) -> list[Region]:
        """Return the regions of a picture that have vectors."""
        return [vector.region for vector in self._by_region.get(stamp, {}).values()]

    def clear(self) -> None:
        """Forget all vectors."""
        self.by_stamp.clear()
        self._by_region.clear()
        self._stamps.clear()
        self._count = self.bytes = 0
        self.newest = None

    def _at(self, stamp: int, region: Region) -> StampedVector | None:
        if not region.size_x:
            found = self.by_stamp.get(stamp)
            if found is not None or stamp not in self._by_region:
                return found
            # A picture of one region: no other can be meant.
            only = next(iter(self._by_region[stamp].values()))
            return only if only.region_count == 1 else None
        known = self._by_region.get(stamp)
        if known is None:
            return None
        exact = known.get(region.box)
        if exact is not None:
            return exact
        best = max(known.values(), key=lambda vector: overlap(vector.region, region))
        return best if overlap(best.region, region) >= SAME else None

    def _keep(self, vector: StampedVector) -> None:
        known = self._replace(vector)
        if known is not None:
            self.duplicates += 1
            self.bytes -= known.data.nbytes
        else:
            self._count += 1
        self.bytes += vector.data.nbytes
        while self._count > self.rules.capacity or (
                self.bytes > self.rules.max_bytes and self._count > 1):
            if len(self._stamps) > 1:
                self._drop(self._stamps.pop(0))
            elif self._count > MOST_REGIONS or self.bytes > self.rules.max_bytes:
                self._drop_region(self._stamps[0])
            else:
                break  # All of one picture: they stay together.

    def _replace(self, vector: StampedVector) -> StampedVector | None:
        """Put a vector in its place; return the one that was there."""
        stamp = vector.stamp
        if stamp not in self.by_stamp and stamp not in self._by_region:
            if not self._stamps or stamp > self._stamps[-1]:
                self._stamps.append(stamp)
            else:
                insort(self._stamps, stamp)
        if not vector.region.size_x:
            known = self.by_stamp.get(stamp)
            self.by_stamp[stamp] = vector
            return known
        regions = self._by_region.setdefault(stamp, {})
        known = regions.get(vector.region.box)
        regions[vector.region.box] = vector
        return known

    def _drop_region(self, stamp: int) -> None:
        """Forget the oldest region of a picture, or the whole picture where it has none."""
        regions = self._by_region.get(stamp)
        dropped = regions.pop(next(iter(regions))) if regions else self.by_stamp.pop(stamp)
        if not regions:
            self._by_region.pop(stamp, None)
        self.bytes -= dropped.data.nbytes
        self._count -= 1

    def _drop(self, stamp: int) -> None:
        whole = self.by_stamp.pop(stamp, None)
        for vector in (*(() if whole is None else (whole,)),
                       *self._by_region.pop(stamp, {}).values()):
            self.bytes -= vector.data.nbytes
            self._count -= 1
