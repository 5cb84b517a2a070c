# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals: boxes around what may be an object, of any class, without weights of a network.

After Selective Search (Uijlings et al., IJCV 2013): the boxes of a hierarchy of segments, here of
one colour space and ranked by size and contrast. `benchmarks/regions.py` says how good it is.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.features.regions.segments import SegmentHierarchy, segment
from proemlc_ros.regions import Region

# Shares of the picture that a box may cover: below is noise, above is the picture itself.
LEAST_AREA, MOST_AREA = 0.002, 0.95
# Two boxes that overlap more than this are one proposal.
MOST_OVERLAP = 0.6
LEAST_SIDE = 8
# Of the rank of the contrast beside the side of the box: size alone prefers the background.
CONTRAST_WEIGHT = 2.0


def propose(image: NDArray[Any], count: int = 10) -> list[Region]:
    """Return boxes around what may be objects, the most likely first.

    Args:
        image: (rows, columns) or RGB (rows, columns, 3), uint8 or uint16.
        count: boxes at most.

    """
    height, width = image.shape[:2]
    if min(height, width) < LEAST_SIDE:
        return []
    parts = segment(as_rgb8(image))
    hierarchy = SegmentHierarchy(parts)
    rows, columns = parts.numbers.shape
    edges = np.array([one.edges for one in hierarchy.segments], float)
    edges *= np.array([width / columns, height / rows] * 2)
    area = (edges[:, 2] - edges[:, 0]) * (edges[:, 3] - edges[:, 1]) / (width * height)
    # By rank: contrast has another range in every picture.
    contrast = np.argsort(np.argsort(hierarchy.contrast)) / len(area)
    score = np.where((area >= LEAST_AREA) & (area <= MOST_AREA),
                     np.sqrt(area) + CONTRAST_WEIGHT * contrast, -np.inf)
    return [Region.of_edges(*edges[place].tolist()) for place in distinct(edges, score, count)]


def distinct(edges: NDArray[np.float64], score: NDArray[np.float64], count: int) -> list[int]:
    """Return the best boxes, without those that nearly repeat a better one."""
    chosen: list[int] = []
    open_ = np.isfinite(score)
    for place in np.argsort(-score, kind='stable').tolist():
        if len(chosen) >= count or not np.isfinite(score[place]):
            break
        if open_[place]:
            chosen.append(place)
            open_ &= overlaps(edges[place], edges) <= MOST_OVERLAP
    return chosen


def overlaps(one: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the intersection over union of one box with each of the others, by edges."""
    sides = np.minimum(one[2:], others[:, 2:]) - np.maximum(one[:2], others[:, :2])
    both: NDArray[np.float64] = np.prod(np.maximum(sides, 0), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    share: NDArray[np.float64] = both / (np.prod(one[2:] - one[:2]) + areas - both)
    return share


def as_rgb8(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a picture with three channels of eight bits."""
    if image.dtype != np.uint8:
        image = cv2.normalize(image, np.empty_like(image), 0, 255, cv2.NORM_MINMAX).astype(
            np.uint8)
    return np.repeat(image[..., np.newaxis], 3, axis=2) if image.ndim == 2 else image
