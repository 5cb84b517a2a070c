# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals: boxes around what may be an object, of any class, without weights of a network.

After Selective Search (Uijlings et al., IJCV 2013): the boxes of a hierarchy of segments, here of
one colour space and ranked by size and contrast. `benchmarks/regions.py` says how good it is.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.regions import Region

# Longest side of the picture that is segmented; smaller objects than a few of its pixels are lost.
_SIDE = 128
_SEGMENTS = 200
_BLUR = 0.7
# A merge costs the difference of the mean colours plus the edge between the segments. Small
# segments go first, or one large one would swallow its neighbours one by one.
_EDGE_WEIGHT = 1.0
_SIZE_WEIGHT = 75.0
# Shares of the picture that a box may cover: below is noise, above is the picture itself.
_LEAST_AREA, _MOST_AREA = 0.002, 0.95
# Two boxes that overlap more than this are one proposal.
_MOST_OVERLAP = 0.6
_LEAST_SIDE = 8
# Of the rank of the contrast beside the side of the box: size alone prefers the background.
_CONTRAST_WEIGHT = 2.0


class _Segment(NamedTuple):
    """A segment: its pixels, mean colour, and left, upper, right and lower edge."""

    pixels: float
    colour: tuple[float, float, float]
    edges: tuple[int, int, int, int]


class _Segmentation(NamedTuple):
    """The number of each pixel's segment, the colours (CIE Lab), and the strength of the edges."""

    numbers: NDArray[np.int32]
    colours: NDArray[np.float32]
    gradient: NDArray[np.float32]


def _segment(image: NDArray[np.uint8]) -> _Segmentation:
    """Return the segments of an RGB picture: the basins of its gradient, by watershed."""
    height, width = image.shape[:2]
    scale = min(1.0, _SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    colours = cv2.cvtColor(small, cv2.COLOR_RGB2Lab)
    smooth = cv2.GaussianBlur(colours, (0, 0), _BLUR).astype(np.float32)
    across, down = cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)
    gradient = np.sqrt((across ** 2 + down ** 2).sum(axis=2))
    side = max(3, int(np.sqrt(gradient.size / _SEGMENTS))) | 1
    minima = (gradient == cv2.erode(gradient, np.ones((side, side)))).astype(np.uint8)
    _, markers = cv2.connectedComponents(minima)
    # The strongest edges of 8-bit pictures are near 1000; beyond 255 their order matters little.
    levels = np.clip(gradient / 4, 0, 255).astype(np.uint8)
    basins = cv2.watershed(cv2.merge([levels] * 3), markers.astype(np.int32))
    basins = np.maximum(basins, 0).astype(np.float32)
    # The lines between basins belong to one of them.
    filled = np.where(basins < 1, cv2.dilate(basins, np.ones((3, 3))), basins)
    numbers = np.unique(filled, return_inverse=True)[1].reshape(filled.shape).astype(np.int32)
    return _Segmentation(numbers, colours.astype(np.float32), gradient)


class _SegmentHierarchy:
    """Merges neighbouring segments, the most similar first, until one is left.

    Attributes:
        segments: all that ever were, in the order of their making.
        contrast: for each, what it costs to merge it with its most similar neighbour.
    """

    def __init__(self, parts: _Segmentation) -> None:
        """Merge."""
        self.segments = _first_segments(parts)
        self._all = float(parts.numbers.size)
        # For each segment the pixels along the border to each neighbour, and their gradient.
        self._borders = _borders_of(parts, len(self.segments))
        self.contrast: list[float] = []
        self._heap: list[tuple[float, int, int]] = []
        for one in range(len(self.segments)):
            self._enter(one)
        self._merge_all()

    def _enter(self, one: int) -> None:
        costs = [(self._cost(one, other), one, other) for other in self._borders[one]]
        self.contrast.append(min(costs)[0] if costs else 0.0)
        for cost in costs:
            heapq.heappush(self._heap, cost)

    def _cost(self, one: int, other: int) -> float:
        length, gradient = self._borders[one][other]
        first, second = self.segments[one], self.segments[other]
        difference = sum(abs(a - b) for a, b in zip(first.colour, second.colour, strict=True))
        size = min(first.pixels, second.pixels) / self._all
        return difference + _EDGE_WEIGHT * gradient / length + _SIZE_WEIGHT * size

    def _merge_all(self) -> None:
        alive = set(range(len(self.segments)))
        while self._heap:
            _, one, other = heapq.heappop(self._heap)
            if one in alive and other in alive:
                alive -= {one, other}
                alive.add(len(self.segments))
                self._merge(one, other)

    def _merge(self, one: int, other: int) -> None:
        merged = len(self.segments)
        self.segments.append(_union(self.segments[one], self.segments[other]))
        borders: dict[int, tuple[float, float]] = {}
        for part in (one, other):
            for neighbour, (length, gradient) in self._borders[part].items():
                if neighbour not in (one, other):
                    before = borders.get(neighbour, (0.0, 0.0))
                    borders[neighbour] = before[0] + length, before[1] + gradient
                    del self._borders[neighbour][part]
        for neighbour, border in borders.items():
            self._borders[neighbour][merged] = border
        self._borders.append(borders)
        self._enter(merged)


def _first_segments(parts: _Segmentation) -> list[_Segment]:
    """Return the segments before any are merged."""
    numbers = parts.numbers.ravel()
    height, width = parts.numbers.shape
    count = int(numbers.max()) + 1
    pixels = np.bincount(numbers, minlength=count)
    colours = np.stack([np.bincount(numbers, parts.colours[..., channel].ravel(), count) / pixels
                        for channel in range(3)], axis=1)
    rows, columns = np.divmod(np.arange(numbers.size), width)
    low = np.full((2, count), max(height, width))
    high = np.zeros((2, count), int)
    for axis, places in enumerate((columns, rows)):
        np.minimum.at(low[axis], numbers, places)
        np.maximum.at(high[axis], numbers, places + 1)
    edges = np.stack([low[0], low[1], high[0], high[1]], axis=1).tolist()
    return [_Segment(float(number), tuple(colour), tuple(edge)) for number, colour, edge
            in zip(pixels.tolist(), colours.tolist(), edges, strict=True)]


def _borders_of(parts: _Segmentation, count: int) -> list[dict[int, tuple[float, float]]]:
    """Return for each segment its neighbours: pixels of the common border, their gradient."""
    numbers, gradient = parts.numbers.astype(np.int64), parts.gradient
    borders: list[dict[int, tuple[float, float]]] = [{} for _ in range(count)]
    pairs: list[Any] = []
    strengths = []
    for one, other, first, second in (
            (numbers[:, :-1], numbers[:, 1:], gradient[:, :-1], gradient[:, 1:]),
            (numbers[:-1], numbers[1:], gradient[:-1], gradient[1:])):
        apart = one != other
        low, high = np.minimum(one, other)[apart], np.maximum(one, other)[apart]
        pairs.append(low * count + high)
        strengths.append(np.maximum(first, second)[apart])
    keys, places = np.unique(np.concatenate(pairs), return_inverse=True)
    lengths = np.bincount(places, minlength=len(keys))
    sums = np.bincount(places, np.concatenate(strengths), len(keys))
    for key, length, total in zip(keys.tolist(), lengths.tolist(), sums.tolist(), strict=True):
        one, other = divmod(key, count)
        borders[one][other] = borders[other][one] = float(length), total
    return borders


def _union(one: _Segment, other: _Segment) -> _Segment:
    """Return two segments as one."""
    pixels = one.pixels + other.pixels
    red, green, blue = ((a * one.pixels + b * other.pixels) / pixels
                        for a, b in zip(one.colour, other.colour, strict=True))
    (left, top, right, bottom), (left2, top2, right2, bottom2) = one.edges, other.edges
    return _Segment(pixels, (red, green, blue), (
        min(left, left2), min(top, top2), max(right, right2), max(bottom, bottom2)))


def propose(image: NDArray[Any], count: int = 10) -> list[Region]:
    """Return boxes around what may be objects, the most likely first.

    Args:
        image: (rows, columns) or RGB (rows, columns, 3), uint8 or uint16.
        count: boxes at most.
    """
    height, width = image.shape[:2]
    if min(height, width) < _LEAST_SIDE:
        return []
    parts = _segment(as_rgb8(image))
    hierarchy = _SegmentHierarchy(parts)
    rows, columns = parts.numbers.shape
    edges = np.array([one.edges for one in hierarchy.segments], float)
    edges *= np.array([width / columns, height / rows] * 2)
    area = (edges[:, 2] - edges[:, 0]) * (edges[:, 3] - edges[:, 1]) / (width * height)
    # By rank: contrast has another range in every picture.
    contrast = np.argsort(np.argsort(hierarchy.contrast)) / len(area)
    score = np.where((area >= _LEAST_AREA) & (area <= _MOST_AREA),
                     np.sqrt(area) + _CONTRAST_WEIGHT * contrast, -np.inf)
    return [Region.of_edges(*edges[place].tolist())
            for place in distinct_boxes(edges, score, count)]


def distinct_boxes(edges: NDArray[np.float64], score: NDArray[np.float64],
                   count: int) -> list[int]:
    """Return the places of the best boxes, without those that nearly repeat a better one.

    Args:
        edges: left, upper, right and lower edge of each box.
        score: of each; boxes with -inf are left out.
        count: boxes at most.
    """
    chosen: list[int] = []
    open_ = np.isfinite(score)
    for place in np.argsort(-score, kind='stable').tolist():
        if len(chosen) >= count or not np.isfinite(score[place]):
            break
        if open_[place]:
            chosen.append(place)
            open_ &= _overlaps(edges[place], edges) <= _MOST_OVERLAP
    return chosen


def _overlaps(one: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
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
