# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tracks, lightly: a box that overlaps one of the picture before keeps its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proemlc_ros.regions import Region, overlap
from proemlc_ros.stamps import NANOSECONDS

# Overlap from which on two boxes of following pictures are the same object.
LEAST_OVERLAP = 0.3
# Seconds that an object may be out of sight, or hidden by a proposal that was not made.
PATIENCE = 1.0


@dataclass(slots=True)
class _TrackedBox:
    region: Region
    seen: int


class TrackTable:
    """Gives ids to boxes that have none.

    Pairs of a box and a track are taken by overlap, the largest first. Depends on stamps and
    order alone, so a bag gives the same as the live robot.

    >>> table = TrackTable()
    >>> [one.id for one in table.named(0, [Region('', 50, 50, 20, 20)])]
    ['1']
    >>> boxes = [Region('', 90, 50, 20, 20), Region('', 52, 50, 20, 20)]
    >>> [one.id for one in table.named(1, boxes)]
    ['2', '1']
    """

    def __init__(self, least_overlap: float = LEAST_OVERLAP, patience: float = PATIENCE) -> None:
        """Take the overlap from which on, and the seconds for which, a track goes on."""
        self._least = least_overlap
        self._patience = round(patience * NANOSECONDS)
        self._tracks: dict[str, _TrackedBox] = {}
        self._count = 0

    def named(self, stamp: int, regions: Sequence[Region]) -> list[Region]:
        """Return the regions of a picture with ids; those that have one keep it.

        Args:
            stamp: of the picture in nanoseconds. One that is older than the last (a looping bag,
                a picture that the operator held) finds no track and begins none.
            regions: of that picture.

        """
        tracks = self._living(stamp)
        if tracks is None:
            return list(regions)
        ids = [region.id for region in regions]
        pairs = sorted(
            ((overlap(region, track.region), place, name) for name, track in tracks.items()
             for place, region in enumerate(regions) if not ids[place]),
            key=lambda pair: -pair[0])
        for covered, place, name in pairs:
            if covered >= self._least and not ids[place] and name not in ids:
                ids[place] = name
        named = [region._replace(id=name or self._next(ids)) for region, name
                 in zip(regions, ids, strict=True)]
        tracks.update((region.id, _TrackedBox(region, stamp)) for region in named)
        return named

    def _living(self, stamp: int) -> dict[str, _TrackedBox] | None:
        newest = max((track.seen for track in self._tracks.values()), default=stamp)
        if stamp < newest - self._patience:
            if newest - stamp < 600 * NANOSECONDS:
                return None
            self._tracks.clear()  # The clock was set back.
        self._tracks = {name: track for name, track in self._tracks.items()
                        if stamp - track.seen <= self._patience}
        return self._tracks

    def _next(self, taken: Sequence[str]) -> str:
        while True:
            self._count += 1
            name = str(self._count)
            if name not in taken and name not in self._tracks:
                return name
