# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Histograms of gradient orientations: shape and texture, independent of colour."""

from __future__ import annotations

from dataclasses import dataclass
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

# Keeps the norm of a featureless image away from zero; far below the gradient of one grey level.
SMALLEST_NORM = 1e-5


@dataclass
class GradientHistogram(ImageExtractor):
    """Gradient orientations (0 to 180 degrees) by magnitude, in each block of a grid.

    Gradients are central differences of the grey image (white is 1), zero along the border.
    The histogram of a block is divided by its number of pixels, the whole vector by its
    length: brightness and contrast cancel. Order: blocks row by row, orientations within.
    """

    kind: ClassVar[str] = 'gradient_histogram'
    version: ClassVar[int] = 1
    description: ClassVar[str] = 'histograms of gradient orientations in a grid of blocks'

    grid: int = parameter(4, 'Blocks along each side of the image, 1 to 64')
    orientations: int = parameter(9, 'Histogram bins over 180 degrees, 2 to 180')

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_between('grid', self.grid, 1, 64)
        check_between('orientations', self.orientations, 2, 180)

    @property
    def width(self) -> int:
        """One histogram per block."""
        return self.grid * self.grid * self.orientations

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histograms of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        grey = grey_of(self.cropped(sample), self.white_level)
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
