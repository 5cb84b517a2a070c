# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Colour features of images in the L*u*v* space: moments in a grid of blocks, and a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.features.extractor import Vector, parameter
from proemlc_ros.features.extractors.image_extractor import (
    ImageExtractor,
    check_between,
    grid_spans,
    white_level_of,
)

# Lower bound and span of L*, u*, v* over all sRGB colours, rounded outwards. Fixed, so that a
# value means the same in every image and lies in 0..1 without having seen any data.
LOWEST = np.array([0.0, -134.0, -140.0])
SPAN = np.array([100.0, 354.0, 262.0])
# No variable of this span has a larger variance than this.
LARGEST_VARIANCE = (SPAN / 2) ** 2
# Bounds of L*, u*, v* for the histogram; bins exclude their upper end, so these lie outside.
HISTOGRAM_BOUNDS = (0.0, 100.5, -84.0, 176.0, -135.0, 108.0)
# Rows at a time, so that the colours stay in the cache.
STRIP = 64


@dataclass
class ColourMoments(ImageExtractor):
    """Mean and variance of the bands L*, u*, v* (sRGB, D65) in each block of a grid.

    The order is that of the Scene data set: for L*, then u*, then v*, the means of all blocks,
    then the variances of all blocks, blocks row by row from the top left. With the grid of
    7x7 that is 3 x 2 x 49 = 294 values. Means are scaled by the span of the band over
    all sRGB colours, variances by the largest that this span allows: all lie in 0..1.

    >>> extractor = ColourMoments()
    >>> white = np.full((48, 64, 3), 255, np.uint8)
    >>> vector = extractor(white)
    >>> extractor.name, len(vector), round(float(vector[0]), 3), float(vector[49])
    ('colour_moments/1', 294, 1.0, 0.0)
    """

    kind: ClassVar[str] = 'colour_moments'
    version: ClassVar[int] = 1
    description: ClassVar[str] = 'mean and variance of L*, u*, v* in a grid of blocks'

    grid: int = parameter(7, 'Blocks along each side of the image, 1 to 64')

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_between('grid', self.grid, 1, 64)

    @property
    def width(self) -> int:
        """Three bands with two moments each, per block."""
        return 6 * self.grid * self.grid

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the moments of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        image = self.cropped(sample)
        columns = grid_spans(image.shape[1], self.grid)
        found = []
        for rows in grid_spans(image.shape[0], self.grid):
            # A row of blocks at a time stays in the cache; OpenCV sums in double precision.
            luv = luv_of(image[rows], self.white_level)
            found += [cv2.meanStdDev(luv[:, column]) for column in columns]
        moments = np.array(found)[..., 0]  # (blocks, moment, band)
        scaled = np.stack([
            (moments[:, 0] - LOWEST) / SPAN,
            moments[:, 1] ** 2 / LARGEST_VARIANCE,
        ])
        return scaled.transpose(2, 0, 1).astype(np.float32).ravel()


@dataclass
class ColourHistogram(ImageExtractor):
    """Square root of the share of pixels in each cell of the L*u*v* space.

    The position of an object does not matter, which suits objects that are moved about; the
    square root gives small objects weight. Order: L* slowest, v* fastest.
    """

    kind: ClassVar[str] = 'colour_histogram'
    version: ClassVar[int] = 1
    description: ClassVar[str] = 'shares of colours in an image, wherever they are'

    light_bins: int = parameter(4, 'Bins of the lightness L*, 1 to 64')
    colour_bins: int = parameter(8, 'Bins of each colour axis, u* and v*, 1 to 64')

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_between('light_bins', self.light_bins, 1, 64)
        check_between('colour_bins', self.colour_bins, 1, 64)

    @property
    def width(self) -> int:
        """One value per cell."""
        return self.light_bins * self.colour_bins**2

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histogram of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        image = self.cropped(sample)
        bins = [self.light_bins, self.colour_bins, self.colour_bins]
        counts = np.zeros(bins, np.float32)
        for rows in grid_spans(image.shape[0], -(-image.shape[0] // STRIP)):
            luv = luv_of(image[rows], self.white_level)
            counts += cv2.calcHist([luv], [0, 1, 2], None, bins, list(HISTOGRAM_BOUNDS))
        pixels = image.shape[0] * image.shape[1]
        return np.asarray(np.sqrt(counts.ravel() / pixels), np.float32)


def luv_of(image: NDArray[Any], white_level: int = 0) -> NDArray[np.float32]:
    """Return L*, u*, v* of an sRGB or grey image as float32 (rows, columns, 3)."""
    if image.dtype == np.uint8 and white_level in (0, 255):
        # The table undoes the gamma curve, which is twice as fast as OpenCV's own spline.
        linear = cv2.LUT(image, linear_light_table())
        return as_luv(linear, cv2.COLOR_LRGB2Luv)
    scaled = image.astype(np.float32) * np.float32(1 / white_level_of(image, white_level))
    return as_luv(np.minimum(scaled, 1, out=scaled), cv2.COLOR_RGB2Luv)


def as_luv(image: NDArray[Any], conversion: int) -> NDArray[np.float32]:
    """Convert an image to L*u*v*, a grey one as three equal bands."""
    if image.ndim == 2:
        image = cv2.cvtColor(image, cv2.COLOR_GRAY2RGB)
    return np.asarray(cv2.cvtColor(image, conversion), np.float32)


@lru_cache(maxsize=1)
def linear_light_table() -> NDArray[np.float32]:
    """Return linear light for each 8-bit sRGB value (IEC 61966-2-1)."""
    value = np.arange(256) / 255
    curve = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return curve.astype(np.float32)
