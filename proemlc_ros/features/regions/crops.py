# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Regions to crops: only boxes that mean a part of this picture; the others by cause."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from proemlc_ros.regions import Region

# Share of a box that must lie in the picture. Detectors round and pad, so a box may reach over
# the edge; one that is mostly outside shows something else than what was meant.
LEAST_INSIDE = 0.5
# A corner of a pixel shows nothing.
LEAST_SIDE = 2.0
# Radians; a detector that states its angle as a float may mean zero.
LEAST_ROTATION = 1e-6
LONGEST_ID = 100


class Crop(NamedTuple):
    """A region and the pixels in it (a view of the picture)."""

    region: Region
    pixels: NDArray[Any]


class BoxedRegions(NamedTuple):
    """Regions of one picture as they arrived, and those that were dropped before, by cause."""

    regions: Sequence[Region]
    rejects: Counter[str]


def crops_of(image: NDArray[Any], regions: Iterable[Region], most: int,
             rejects: Counter[str], margin: float = 0.0) -> list[Crop]:
    """Return the crops of regions, in their order.

    Args:
        image: (rows, columns) or (rows, columns, 3).
        regions: in pixels of the image.
        most: crops at most; the regions behind are dropped.
        rejects: gets the dropped regions, counted by cause.
        margin: of the surroundings, as a share of the region's size.
    """
    height, width = image.shape[:2]
    crops: list[Crop] = []
    seen: set[tuple[float, ...]] = set()
    for region in regions:
        cause = unusable(region, width, height)
        if not cause and region.box in seen:
            cause = 'repeated_region'
        if not cause and len(crops) >= most:
            cause = 'too_many_regions'
        if cause:
            rejects[cause] += 1
            continue
        seen.add(region.box)
        crops.append(Crop(region, pixels_in(image, widened(region, margin))))
    return crops


def unusable(region: Region, width: int, height: int) -> str:
    """Return why a region means no part of a picture of this size; empty where it does."""
    if not all(map(math.isfinite, region.box)):
        return 'region_not_finite'
    if len(region.id) > LONGEST_ID or not region.id.isprintable():
        return 'bad_region_id'
    if region.size_x < LEAST_SIDE or region.size_y < LEAST_SIDE:
        return 'region_without_size'
    left, top, right, bottom = region.edges
    inside_x = min(right, width) - max(left, 0)
    inside_y = min(bottom, height) - max(top, 0)
    if inside_x < 1 or inside_y < 1 or (
            inside_x * inside_y < LEAST_INSIDE * region.size_x * region.size_y):
        return 'region_outside'
    return ''


def pixels_in(image: NDArray[Any], region: Region) -> NDArray[Any]:
    """Return the pixels whose centres are in the box; at least one."""
    height, width = image.shape[:2]
    left, top, right, bottom = region.edges
    return image[_span(top, bottom, height), _span(left, right, width)]


def widened(region: Region, margin: float) -> Region:
    """Return a region with a share of its size more, half of it on each side."""
    return region._replace(size_x=region.size_x * (1.0 + margin),
                           size_y=region.size_y * (1.0 + margin)) if margin else region


def _span(low: float, high: float, length: int) -> slice:
    first = min(max(math.ceil(low - 0.5), 0), length - 1)
    return slice(first, max(first + 1, min(math.ceil(high - 0.5), length)))


def regions_of(message: Any) -> BoxedRegions:
    """Return the regions of a RegionArray, or of a vision_msgs/Detection2DArray.

    Rotated boxes are dropped: the crop of the upright box would show something else.
    """
    rejects: Counter[str] = Counter()
    if hasattr(message, 'regions'):
        return BoxedRegions([Region(str(one.id), float(one.center_x), float(one.center_y),
                                    float(one.size_x), float(one.size_y))
                             for one in message.regions], rejects)
    regions = []
    for found in message.detections:
        box = found.bbox
        if not abs(box.center.theta) <= LEAST_ROTATION:
            rejects['region_rotated' if math.isfinite(box.center.theta)
                    else 'region_not_finite'] += 1
            continue
        regions.append(Region(
            str(found.id), float(box.center.position.x), float(box.center.position.y),
            float(box.size_x), float(box.size_y)))
    return BoxedRegions(regions, rejects)
