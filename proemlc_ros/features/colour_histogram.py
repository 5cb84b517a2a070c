# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which colours an image has, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.colour_moments import luv_of
from proemlc_ros.features.extractor import Extractor, Vector, parameter
from proemlc_ros.features.regions import REGION_HELP, WHOLE_IMAGE, check_region, crop

# Bounds of L*, u*, v* over all sRGB colours; bins exclude their upper end, so these lie outside.
BOUNDS = (0.0, 100.5, -84.0, 176.0, -135.0, 108.0)


@dataclass(frozen=True)
class ColourHistogram(Extractor):
    """Square root of the share of pixels in each cell of the L*u*v* space.

    Where an object lies does not matter, which suits things that are moved about; the
    root lets small objects count. Order: L* slowest, v* fastest.
    """

    kind: ClassVar[str] = 'colour_histogram'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'image'
    description: ClassVar[str] = 'shares of colours in an image, wherever they are'

    light_bins: int = parameter(4, 'bins of the lightness L*')
    colour_bins: int = parameter(8, 'bins of each of the colour axes u* and v*')
    region: tuple[float, ...] = parameter(WHOLE_IMAGE, REGION_HELP)
    white_level: int = parameter(0, 'pixel value that is white; 0: the largest of the type')

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not (1 <= self.light_bins <= 64 and 1 <= self.colour_bins <= 64):
            raise ExtractorError(
                f'light_bins is {self.light_bins} and colour_bins {self.colour_bins}; they must '
                'be between 1 and 64')
        check_region(self.region)

    @property
    def width(self) -> int:
        """One value a cell."""
        return self.light_bins * self.colour_bins**2

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histogram of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        luv = luv_of(crop(sample, self.region), self.white_level)
        bins = [self.light_bins, self.colour_bins, self.colour_bins]
        counts = cv2.calcHist([luv], [0, 1, 2], None, bins, list(BOUNDS))
        return np.sqrt(counts.ravel() / np.float32(luv.shape[0] * luv.shape[1]))
