# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The most recent feature vectors, by their stamps."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

from proemlc_ros.classifier.records import StampedVector
from proemlc_ros.stamps import NANOSECONDS


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
        self.by_stamp: dict[int, StampedVector] = {}  # for looking up; change it by methods only
        self._stamps: list[int] = []

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def span(self) -> tuple[int, int]:
        """The oldest and the newest stamp; there must be one."""
        return self._stamps[0], self._stamps[-1]

    def add(self, vector: StampedVector) -> None:
        """Keep a vector; a jump back of the stamps removes all others first.

        A vector without time is only ever the newest, and one with a known stamp replaces the
        other.
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

    def find(self, stamp: int, final: bool = False) -> StampedVector | None:
        """Return the vector of a stamp, or the nearest within the tolerance.

        An exact match is in `by_stamp`, without a call.

        Args:
            stamp: nanoseconds.
            final: do not wait for a newer vector that might be nearer.
        """
        exact = self.by_stamp.get(stamp)
        if exact is not None or not self._stamps:
            return exact
        if stamp > self._stamps[-1] and not final:
            return None
        index = bisect_left(self._stamps, stamp)
        nearest = min(self._stamps[max(index - 1, 0):index + 1], key=lambda s: abs(s - stamp))
        if abs(nearest - stamp) <= round(self.rules.tolerance * NANOSECONDS):
            return self.by_stamp[nearest]
        return None

    def clear(self) -> None:
        """Forget all vectors."""
        self.by_stamp.clear()
        self._stamps.clear()
        self.bytes = 0
        self.newest = None

    def _keep(self, vector: StampedVector) -> None:
        known = self.by_stamp.get(vector.stamp)
        if known is not None:
            self.duplicates += 1
            self.bytes -= known.data.nbytes
        elif not self._stamps or vector.stamp > self._stamps[-1]:
            self._stamps.append(vector.stamp)
        else:
            insort(self._stamps, vector.stamp)
        self.by_stamp[vector.stamp] = vector
        self.bytes += vector.data.nbytes
        while len(self._stamps) > self.rules.capacity or (
                self.bytes > self.rules.max_bytes and len(self._stamps) > 1):
            self.bytes -= self.by_stamp.pop(self._stamps.pop(0)).data.nbytes
