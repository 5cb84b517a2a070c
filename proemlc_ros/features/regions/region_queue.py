# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures and the regions about them, which arrive in any order, joined by their stamps."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any, NamedTuple

from proemlc_ros.features.regions.crops import BoxedRegions
from proemlc_ros.stamps import NANOSECONDS

MAX_BYTES = 64 * 1024 * 1024
MAX_PICTURES = 300
MAX_HELD = 8
MAX_WAITING = 100


class KeptPicture(NamedTuple):
    """A message with a picture, and whether the stream wants vectors of it."""

    message: Any
    wanted: bool = True


class RegionQueue:
    """Recent pictures by stamp, and regions whose pictures have not come yet.

    Regions belong to the picture with exactly their stamp: the crop of another one would show
    something else.

    Args:
        patience: seconds, by stamp, that regions wait for their picture.
        max_bytes: of the pictures kept, beside those held.

    Attributes:
        rejects: regions that found no picture, by cause.

    """

    def __init__(self, patience: float = 1.0, max_bytes: int = MAX_BYTES) -> None:
        """Start empty."""
        self.rejects: Counter[str] = Counter()
        self._patience = round(patience * NANOSECONDS)
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pictures: OrderedDict[int, KeptPicture] = OrderedDict()
        self._held: OrderedDict[int, KeptPicture] = OrderedDict()
        self._waiting: OrderedDict[int, BoxedRegions] = OrderedDict()

    def add_picture(self, stamp: int, picture: KeptPicture) -> BoxedRegions | None:
        """Keep a picture; return the regions that waited for it."""
        self._drop(stamp)
        self._pictures[stamp] = picture
        self._bytes += len(picture.message.data)
        while len(self._pictures) > MAX_PICTURES or (
                self._bytes > self._max_bytes and len(self._pictures) > 1):
            self._drop(next(iter(self._pictures)))
        found = self._waiting.pop(stamp, None)
        for other in [other for other in self._waiting if other < stamp - self._patience]:
            self._reject(self._waiting.pop(other))
        return found

    def add_regions(self, stamp: int, boxed: BoxedRegions) -> KeptPicture | None:
        """Return the picture that regions are about; None: it has yet to come, or is unknown."""
        picture = self._pictures.get(stamp)
        if picture is not None:
            return picture
        if not stamp:
            self._reject(boxed, 'region_without_stamp')
        elif self._pictures and stamp < max(self._pictures) - self._patience:
            self._reject(boxed)
        else:
            self._waiting[stamp] = boxed
            if len(self._waiting) > MAX_WAITING:
                self._reject(self._waiting.popitem(last=False)[1])
        return None

    def hold(self, stamp: int, boxed: BoxedRegions) -> KeptPicture | None:
        """Return the picture that somebody draws on, and keep it; None: it is not here."""
        picture = self._held.pop(stamp, None) or self._pictures.get(stamp)
        if picture is None:
            self._reject(boxed)
            return None
        self._held[stamp] = picture
        if len(self._held) > MAX_HELD:
            self._held.popitem(last=False)
        return picture

    def _drop(self, stamp: int) -> None:
        picture = self._pictures.pop(stamp, None)
        if picture is not None:
            self._bytes -= len(picture.message.data)

    def _reject(self, boxed: BoxedRegions, cause: str = 'region_of_other_stamp') -> None:
        # An array without regions is worth a count as well: its sender has a wrong clock.
        self.rejects[cause] += max(len(boxed.regions), 1)
