# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which colours an image has, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.features.colour_moments import luv_of
from proemlc_ros.features.extractor import Vector, parameter
from proemlc_ros.features.image_extractor import ImageExtractor, check_between
from proemlc_ros.features.regions import grid_spans

# Bounds of L*, u*, v* over all sRGB colours; bins exclude their upper end, so these lie outside.
BOUNDS = (0.0, 100.5, -84.0, 176.0, -135.0, 108.0)
# Rows at a time, so that the colours stay in the cache.
STRIP = 64


@dataclass
class ColourHistogram(ImageExtractor):
    """Square root of the share of pixels in each cell of the L*u*v* space.

    Where an object lies does not matter, which suits things that are moved about; the
    root lets small objects count. Order: L* slowest, v* fastest.
    """

    kind: ClassVar[str] = 'colour_histogram'
    version: ClassVar[int] = 1
    description: ClassVar[str] = 'shares of colours in an image, wherever they are'

    light_bins: int = parameter(4, 'bins of the lightness L*')
    colour_bins: int = parameter(8, 'bins of each of the colour axes u* and v*')

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_between('light_bins', self.light_bins, 1, 64)
        check_between('colour_bins', self.colour_bins, 1, 64)

    @property
    def width(self) -> int:
        """One value a cell."""
        return self.light_bins * self.colour_bins**2

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histogram of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        image = self.cropped(sample)
        bins = [self.light_bins, self.colour_bins, self.colour_bins]
        counts = np.zeros(bins, np.float32)
        for rows in grid_spans(image.shape[0], -(-image.shape[0] // STRIP)):
            luv = luv_of(image[rows], self.white_level)
            counts += cv2.calcHist([luv], [0, 1, 2], None, bins, list(BOUNDS))
        pixels = image.shape[0] * image.shape[1]
        return np.asarray(np.sqrt(counts.ravel() / pixels), np.float32)
