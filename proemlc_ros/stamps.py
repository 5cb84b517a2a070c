# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Time stamps of messages in nanoseconds, and the buffer of what carries them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Container, Hashable, Iterator
from typing import Any, Generic, TypeVar

NANOSECONDS = 1_000_000_000
"""Per second."""
Item = TypeVar('Item')


def stamp_of(header: Any) -> int:
    """Return the stamp of a std_msgs/Header in nanoseconds; 0 where there is no stamp.

    Args:
        header: of rclpy or of the rosbags library; None for a message without a header.
    """
    stamp = getattr(header, 'stamp', None)
    return 0 if stamp is None else int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def seconds(stamp: int) -> str:
    """Write a stamp in nanoseconds as seconds, the way ROS tools print it."""
    return f'{stamp // NANOSECONDS}.{stamp % NANOSECONDS:09d}'


class StampBuffer(Generic[Item]):
    """The newest items by stamp, in bounded memory; the first to come are dropped first.

    Items of one stamp differ by a key, such as the regions of one picture, and are dropped
    together. Held items outlive the stream, which is what an operator who takes time needs.

    >>> buffer = StampBuffer(max_count=2, tolerance=10)
    >>> buffer.put(100, 'a'), buffer.put(200, 'b'), buffer.put(300, 'c')
    ([], [], [(100, 'a')])
    >>> buffer.find(205), buffer.find(250), buffer.hold(200), buffer.pop(300)
    ('b', None, True, 'c')

    Args:
        max_count: items kept, beside those held.
        max_bytes: of these items; 0: any number. One stamp is always kept.
        max_held: stamps held or awaited; the first held are dropped first.
        tolerance: nanoseconds by which a stamp asked for may differ from that of an item.
        max_together: items of one stamp that stay together although they exceed max_count.

    Attributes:
        bytes: of the items of the stream.
        duplicates: items that replaced one of the same stamp and key, since the beginning.
    """

    def __init__(self, max_count: int, max_bytes: int = 0, max_held: int = 0,
                 tolerance: int = 0, max_together: int = 0) -> None:
        self.max_count = max_count
        self.max_bytes = max_bytes
        self.max_held = max_held
        self.tolerance = tolerance
        self.max_together = max_together
        self.bytes = 0
        self.duplicates = 0
        self._count = 0
        # Items and their sizes by stamp and key, in the order of arrival; the stamps in theirs.
        self._stream: OrderedDict[int, dict[Hashable, tuple[Item, int]]] = OrderedDict()
        self._stamps: list[int] = []
        self._held: OrderedDict[int, dict[Hashable, tuple[Item, int]]] = OrderedDict()
        self._awaited: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        """Yield the items of the stream, in the order of arrival."""
        return iter([item for known in self._stream.values() for item, _ in known.values()])

    @property
    def span(self) -> tuple[int, int]:
        """The earliest and the latest stamp of the stream; there must be one."""
        return self._stamps[0], self._stamps[-1]

    def put(self, stamp: int, item: Item, nbytes: int = 0,
            key: Hashable = None) -> list[tuple[int, Item]]:
        """Keep an item; one with the same stamp and key is replaced.

        Args:
            stamp: nanoseconds.
            item: anything but None.
            nbytes: its size.
            key: tells it from others of the stamp.

        Returns:
            Stamp and item of what was dropped for it.
        """
        known = self._stream.get(stamp)
        if known is None:
            known = self._stream[stamp] = {}
            if not self._stamps or stamp > self._stamps[-1]:
                self._stamps.append(stamp)
            else:
                insort(self._stamps, stamp)
        else:
            self._stream.move_to_end(stamp)
            if key in known:
                self.duplicates += 1
                self._count -= 1
                self.bytes -= known.pop(key)[1]
        known[key] = item, nbytes
        self._count += 1
        self.bytes += nbytes
        if stamp in self._held:
            self._held[stamp] = known
        elif stamp in self._awaited:
            self.hold(stamp)
        return self._shrink() if self._exceeded() else []

    def find(self, stamp: int, key: Hashable = None) -> Item | None:
        """Return the item of a stamp, or of the nearest within the tolerance; None: none."""
        found = self.at(stamp).get(key)
        return None if found is None else found[0]

    def at(self, stamp: int) -> dict[Hashable, tuple[Item, int]]:
        """Return the items of a stamp, or of the nearest within the tolerance, with sizes."""
        known = self._held.get(stamp) or self._stream.get(stamp)
        if known is None and self.tolerance:
            near = self.nearest(stamp, self.tolerance)
            known = None if near is None else self._stream[near]
        return known or {}

    def nearest(self, stamp: int, tolerance: int) -> int | None:
        """Return the stamp of the stream that is nearest, where it is within a tolerance."""
        index = bisect_left(self._stamps, stamp)
        near = min(self._stamps[max(index - 1, 0):index + 1],
                   key=lambda other: abs(other - stamp), default=None)
        return near if near is not None and abs(near - stamp) <= tolerance else None

    def newest_among(self, stamps: Container[int]) -> Item | None:
        """Return the item that came last of those with one of the stamps, or None."""
        return next((item for stamp, known in reversed(self._stream.items()) if stamp in stamps
                     for item, _ in known.values()), None)

    def pop(self, stamp: int) -> Item | None:
        """Remove the items of a stamp, or of the nearest within the tolerance.

        Returns:
            The last of them; None where there was none.
        """
        near = stamp if stamp in self._stream else self.nearest(stamp, self.tolerance)
        if near is None:
            return None
        return self._drop(near)[-1][1]

    def hold(self, stamp: int, item: Item | None = None) -> bool:
        """Keep the items of a stamp beyond the bounds, now or when they come.

        Args:
            stamp: nanoseconds.
            item: the item itself, where the caller has it.

        Returns:
            Whether there is one.
        """
        known = self._held.get(stamp) or self._stream.get(stamp)
        if item is not None:
            known = {None: (item, 0)}
        if known is None:
            _keep(self._awaited, stamp, None, self.max_held)
            return False
        self._awaited.pop(stamp, None)
        _keep(self._held, stamp, known, self.max_held)
        return True

    def clear(self) -> None:
        """Forget all, also what is held."""
        for kept in (self._stream, self._held, self._awaited):
            kept.clear()
        self._stamps.clear()
        self._count = self.bytes = 0

    def _exceeded(self) -> bool:
        return self._count > self.max_count or (
            0 < self.max_bytes < self.bytes and self._count > 1)

    def _shrink(self) -> list[tuple[int, Item]]:
        dropped: list[tuple[int, Item]] = []
        while self._exceeded():
            stamp = next(iter(self._stream))
            if len(self._stream) > 1:
                dropped += self._drop(stamp)
            elif self._count > self.max_together or 0 < self.max_bytes < self.bytes:
                known = self._stream[stamp]
                item, nbytes = known.pop(next(iter(known)))
                self._count -= 1
                self.bytes -= nbytes
                dropped.append((stamp, item))
            else:
                break  # All of one stamp: they stay together.
        return dropped

    def _drop(self, stamp: int) -> list[tuple[int, Item]]:
        known = self._stream.pop(stamp)
        del self._stamps[bisect_left(self._stamps, stamp)]
        self._count -= len(known)
        self.bytes -= sum(nbytes for _, nbytes in known.values())
        return [(stamp, item) for item, _ in known.values()]


def _keep(kept: OrderedDict[int, Any], stamp: int, value: Any, most: int) -> None:
    kept[stamp] = value
    kept.move_to_end(stamp)
    while len(kept) > most:
        kept.popitem(last=False)
