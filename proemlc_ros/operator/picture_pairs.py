# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the picture that a prediction is about, whichever of the two comes first."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

# Pictures that wait for their predictions: two seconds of a camera.
MAX_PICTURES = 60
# Bytes of them.
MAX_BYTES = 64_000_000
# Predictions that wait for their pictures.
MAX_STAMPS = 60


@dataclass(slots=True)
class PicturePairs:
    """The newest pictures and the stamps of the newest predictions, in bounded memory.

    A pair has one stamp, unless a tolerance is set for predictions about another sensor.

    Args:
        tolerance: nanoseconds that a picture may be older or newer than a prediction.

    >>> pairs = PicturePairs()
    >>> pairs.add_picture(5, 'five', 100), pairs.add_stamp(5)
    (None, 'five')
    >>> pairs.add_stamp(6), pairs.add_picture(6, 'six', 100)
    (None, 6)
    """

    tolerance: int = 0
    _pictures: OrderedDict[int, tuple[Any, int]] = field(default_factory=OrderedDict)
    _stamps: OrderedDict[int, None] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def add_picture(self, stamp: int, picture: Any, size: int) -> int | None:
        """Keep a picture; return the stamp of the prediction that waited for it, or None."""
        self._bytes += size - self._pictures.pop(stamp, (None, 0))[1]
        self._pictures[stamp] = picture, size
        while len(self._pictures) > 1 and (
                len(self._pictures) > MAX_PICTURES or self._bytes > MAX_BYTES):
            self._bytes -= self._pictures.popitem(last=False)[1][1]
        waited = self._near(stamp, self._stamps)
        if waited is not None:
            del self._stamps[waited]
        return waited

    def add_stamp(self, stamp: int) -> Any:
        """Return the picture for a prediction, or None; it is then waited for."""
        found = self.find(stamp)
        if found is None:
            self._stamps[stamp] = None
            if len(self._stamps) > MAX_STAMPS:
                self._stamps.popitem(last=False)
        return found

    def find(self, stamp: int) -> Any:
        """Return the picture for a prediction, or None."""
        near = self._near(stamp, self._pictures)
        return None if near is None else self._pictures[near][0]

    def clear(self) -> None:
        """Forget all: another camera."""
        self._pictures.clear()
        self._stamps.clear()
        self._bytes = 0

    def _near(self, stamp: int, stamps: OrderedDict[int, Any]) -> int | None:
        if stamp in stamps:
            return stamp
        if not self.tolerance:
            return None
        near = min(stamps, key=lambda other: abs(other - stamp), default=None)
        return near if near is not None and abs(near - stamp) <= self.tolerance else None
