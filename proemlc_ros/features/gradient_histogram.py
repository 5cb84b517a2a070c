# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Histograms of gradient orientations: shape and texture, whatever the colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector, parameter
from proemlc_ros.features.regions import (
    REGION_HELP,
    WHOLE_IMAGE,
    check_region,
    crop,
    grid_spans,
    white_level_of,
)

# Keeps the norm of a featureless image away from zero; far below the gradient of one grey level.
SMALLEST_NORM = 1e-5


@dataclass(frozen=True)
class GradientHistogram(Extractor):
    """Gradient orientations (0 to 180 degrees) by magnitude, in each block of a grid.

    Gradients are central differences of the grey image (white is 1), zero along the border.
    The histogram of a block is divided by its number of pixels, the whole vector by its
    length: brightness and contrast cancel. Order: blocks row by row, orientations within.
    """

    kind: ClassVar[str] = 'gradient_histogram'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'image'
    description: ClassVar[str] = 'histograms of gradient orientations in a grid of blocks'

    grid: int = parameter(4, 'blocks along each side of the image')
    orientations: int = parameter(9, 'histogram bins over 180 degrees')
    region: tuple[float, ...] = parameter(WHOLE_IMAGE, REGION_HELP)
    white_level: int = parameter(0, 'pixel value that is white; 0: the largest of the type')

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not 1 <= self.grid <= 64:
            raise ExtractorError(f'grid is {self.grid}; it must be between 1 and 64')
        if not 2 <= self.orientations <= 180:
            raise ExtractorError(
                f'orientations is {self.orientations}; it must be between 2 and 180')
        check_region(self.region)

    @property
    def width(self) -> int:
        """One histogram a block."""
        return self.grid * self.grid * self.orientations

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histograms of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        grey = grey_of(crop(sample, self.region), self.white_level)
        magnitude, orientation_bin = gradients(grey, self.orientations)
        histograms = [
            np.bincount(
                orientation_bin[row, column].ravel(),
                weights=magnitude[row, column].ravel(),
                minlength=self.orientations,
            ) / magnitude[row, column].size
            for row in grid_spans(grey.shape[0], self.grid)
            for column in grid_spans(grey.shape[1], self.grid)
        ]
        vector = np.concatenate(histograms)
        norm = np.sqrt(np.sum(vector**2) + SMALLEST_NORM**2)
        return np.asarray(vector / norm, np.float32)


def grey_of(image: NDArray[Any], white_level: int) -> NDArray[np.float32]:
    """Return the luma of an image as float32 with white as 1."""
    if image.ndim == 3:
        image = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return image.astype(np.float32) * np.float32(1 / white_level_of(image, white_level))


def gradients(
    grey: NDArray[np.float32], orientations: int,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the gradient's magnitude and the number of its orientation bin at each pixel."""
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[1:-1] = grey[2:] - grey[:-2]
    right[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    magnitude, angle = cv2.cartToPolar(right, down, angleInDegrees=True)
    bins = (angle * np.float32(orientations / 180)).astype(np.int64)
    # An angle of exactly 360 is 0, and the other half circle is the same orientation.
    return np.asarray(magnitude, np.float32), bins % orientations
