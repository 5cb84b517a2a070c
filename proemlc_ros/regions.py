# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Regions of pictures: boxes by centre and size, as in vision_msgs/BoundingBox2D."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

# Overlap from which on two boxes are the same one, drawn or rounded by two programs.
SAME = 0.9


class Region(NamedTuple):
    """A box in a picture, in pixels; of no size: the whole picture.

    Args:
        id: of the track or the detection; empty: none.
        center_x: of the box.
        center_y: of the box.
        size_x: width.
        size_y: height.

    >>> Region('', 50, 40, 20, 10).edges
    (40.0, 35.0, 60.0, 45.0)
    """

    id: str = ''
    center_x: float = 0.0
    center_y: float = 0.0
    size_x: float = 0.0
    size_y: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether it stands for the whole picture."""
        return self.size_x == 0 and self.size_y == 0

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Centre and size, without the id."""
        return self[1:]

    @property
    def edges(self) -> tuple[float, float, float, float]:
        """The left, upper, right and lower edge."""
        half_x, half_y = self.size_x / 2, self.size_y / 2
        return (self.center_x - half_x, self.center_y - half_y,
                self.center_x + half_x, self.center_y + half_y)

    @classmethod
    def of_edges(cls, left: float, top: float, right: float, bottom: float) -> Region:
        """Return the box between four edges."""
        return cls('', (left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


WHOLE = Region()
# Drawn on a picture, it asks the feature node for boxes of its own: detector, or proposals.
OWN_BOXES = Region('auto')


def overlap(one: Region, other: Region) -> float:
    """Return the intersection of two boxes over their union, 0 to 1.

    >>> overlap(Region('', 5, 5, 10, 10), Region('', 10, 5, 10, 10))
    0.3333333333333333
    """
    total = sum(one.box) + sum(other.box)
    if not math.isfinite(total):
        return 0.0
    left, top, right, bottom = one.edges
    other_left, other_top, other_right, other_bottom = other.edges
    width = min(right, other_right) - max(left, other_left)
    height = min(bottom, other_bottom) - max(top, other_top)
    if not (width > 0 and height > 0):
        return 0.0
    both = width * height
    union = one.size_x * one.size_y + other.size_x * other.size_y - both
    return both / union


def pixels_in(image: Any, region: Region) -> Any:
    """Return the pixels of an array whose centres are in a box; at least one."""
    height, width = image.shape[:2]
    left, top, right, bottom = region.edges
    return image[_span(top, bottom, height), _span(left, right, width)]


def _span(low: float, high: float, length: int) -> slice:
    first = min(max(math.ceil(low - 0.5), 0), length - 1)
    return slice(first, max(first + 1, min(math.ceil(high - 0.5), length)))
