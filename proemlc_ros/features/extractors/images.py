# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hand-made features of images: colours and gradients; and what all image extractors share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector, parameter

_WHOLE_IMAGE = (0.0, 0.0, 1.0, 1.0)
_MOST_MARGIN = 4.0
# Lower bound and span of L*, u*, v* over all sRGB colours, rounded outwards. Fixed, so that a
# value means the same in every image and lies in 0..1 without having seen any data.
LOWEST = np.array([0.0, -134.0, -140.0])
SPAN = np.array([100.0, 354.0, 262.0])
# No variable of this span has a larger variance than this.
LARGEST_VARIANCE = (SPAN / 2) ** 2
# Bounds of L*, u*, v* for the histogram; bins exclude their upper end, so these lie outside.
HISTOGRAM_BOUNDS = (0.0, 100.5, -84.0, 176.0, -135.0, 108.0)
# Rows at a time, so that the colours stay in the cache.
_STRIP = 64
# Keeps the norm of a featureless image away from zero; far below the gradient of one grey level.
_SMALLEST_NORM = 1e-5


@dataclass
class ImageExtractor(Extractor):
    """Takes images: (rows, columns) grey or (rows, columns, 3) RGB, uint8 or uint16."""

    sensor: ClassVar[str] = 'image'

    region: tuple[float, ...] = parameter(
        _WHOLE_IMAGE,
        'Part of the image to use: left, top, width and height as fractions, 0 to 1')
    white_level: int = parameter(
        0, 'Pixel value that counts as white; 0 = largest value of the pixel type')
    margin: float = parameter(
        0.0, 'Surroundings of a region that are cut out with it, as a share of its size, 0 to 4')

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_region(self.region)
        if self.white_level < 0:
            raise ExtractorError(
                f'white_level is {self.white_level}; it must be 0 or a pixel value')
        if not 0.0 <= self.margin <= _MOST_MARGIN:
            raise ExtractorError(
                f'margin is {self.margin}; it must be between 0 and {_MOST_MARGIN:g}')

    def cropped(self, sample: NDArray[Any]) -> NDArray[Any]:
        """Return the region of an image.

        Raises:
            BadSensorDataError: not an image, or one without pixels.
        """
        return _crop(sample, self.region)


def _check_between(name: str, value: int, least: int, most: int) -> None:
    """Check the range of an integer parameter.

    Raises:
        ExtractorError: out of range; the text has the name and the range.
    """
    if not least <= value <= most:
        raise ExtractorError(f'{name} is {value}; it must be between {least} and {most}')


def check_region(region: tuple[float, ...]) -> None:
    """Check that a region lies within the image.

    Raises:
        ExtractorError: not four numbers, or not inside the unit square.
    """
    inside = len(region) == 4 and all(0.0 <= value <= 1.0 for value in region) and (
        region[2] > 0 and region[3] > 0
        and region[0] + region[2] <= 1 + 1e-9 and region[1] + region[3] <= 1 + 1e-9)
    if not inside:
        raise ExtractorError(
            f'region {region} is not a part of the image: give left, top, width and height as '
            'fractions between 0 and 1, for example [0.25, 0.25, 0.5, 0.5]')


def _crop(image: NDArray[Any], region: tuple[float, ...]) -> NDArray[Any]:
    """Return the region of an image as a view; never empty, however small the image.

    Raises:
        BadSensorDataError: not an image, or one without pixels.
    """
    if image.ndim not in (2, 3) or image.size == 0:
        raise BadSensorDataError('empty_image', f'an image of shape {image.shape} has no pixels')
    height, width = image.shape[:2]
    left, top, region_width, region_height = region
    rows = _span(top, top + region_height, height)
    columns = _span(left, left + region_width, width)
    return image[rows, columns]


def _span(start: float, stop: float, length: int) -> slice:
    """Turn fractions of a length into a slice of at least one element."""
    first = min(int(start * length + 1e-9), length - 1)
    return slice(first, max(first + 1, min(length, int(stop * length + 1e-9))))


def _grid_spans(length: int, parts: int) -> list[slice]:
    """Split a length into equal parts; where there are fewer elements than parts they repeat."""
    edges = [part * length // parts for part in range(parts + 1)]
    return [slice(a, max(a + 1, b)) for a, b in pairwise(edges)]


def white_level_of(image: NDArray[Any], white_level: int) -> float:
    """Return the value that counts as white: as given, or the largest of the image's type."""
    return float(white_level) if white_level else float(np.iinfo(image.dtype).max)


def resized_by_area(image: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float32]:
    """Return an image of another size, as cv2.resize with INTER_AREA does, to rounding.

    The rows of an image are averaged by a sparse product, which passes over them once; OpenCV
    then averages only the columns of those that are left.

    Args:
        image: (rows, columns) or (rows, columns, channels).
        rows: of the result.
        columns: of the result.
    """
    height, width = image.shape[:2]
    if height > rows and width >= columns:
        flat = np.ascontiguousarray(image).reshape(height, -1)
        image = (_averages(height, rows) @ flat).reshape(rows, *image.shape[1:])
    return np.asarray(cv2.resize(image, (columns, rows), interpolation=cv2.INTER_AREA), np.float32)


@lru_cache(maxsize=64)
def _averages(length: int, wanted: int) -> Any:
    """Return the matrix (wanted, length) that averages over equal parts of a length."""
    edges = np.arange(wanted + 1) * (length / wanted)
    first = np.floor(edges[:-1] + 1e-9).astype(np.int64)
    reach = int(np.ceil(length / wanted)) + 1
    places = first[:, np.newaxis] + np.arange(reach)
    overlaps = (np.minimum(places + 1, edges[1:, np.newaxis])
                - np.maximum(places, edges[:-1, np.newaxis])).clip(0.0)
    lines = np.repeat(np.arange(wanted), reach).reshape(places.shape)
    kept = (overlaps > 1e-9) & (places < length)
    return csr_matrix((
        (overlaps[kept] * (wanted / length)).astype(np.float32), (lines[kept], places[kept])),
        shape=(wanted, length))


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
        _check_between('grid', self.grid, 1, 64)

    @property
    def width(self) -> int:
        """Three bands with two moments each, per block."""
        return 6 * self.grid * self.grid

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the moments of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        image = self.cropped(sample)
        columns = _grid_spans(image.shape[1], self.grid)
        found = []
        for rows in _grid_spans(image.shape[0], self.grid):
            # A row of blocks at a time stays in the cache; OpenCV sums in double precision.
            luv = _luv_of(image[rows], self.white_level)
            found += [cv2.meanStdDev(luv[:, column]) for column in columns]
        moments = np.array(found)[..., 0]  # (blocks, moment, band)
        scaled = np.stack([(moments[:, 0] - LOWEST) / SPAN, moments[:, 1] ** 2 / LARGEST_VARIANCE])
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
        _check_between('light_bins', self.light_bins, 1, 64)
        _check_between('colour_bins', self.colour_bins, 1, 64)

    @property
    def width(self) -> int:
        """One value per cell."""
        return self.light_bins * self.colour_bins**2

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histogram of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        image = self.cropped(sample)
        bins = [self.light_bins, self.colour_bins, self.colour_bins]
        counts = np.zeros(bins, np.float32)
        for rows in _grid_spans(image.shape[0], -(-image.shape[0] // _STRIP)):
            luv = _luv_of(image[rows], self.white_level)
            counts += cv2.calcHist([luv], [0, 1, 2], None, bins, list(HISTOGRAM_BOUNDS))
        pixels = image.shape[0] * image.shape[1]
        return np.asarray(np.sqrt(counts.ravel() / pixels), np.float32)


def _luv_of(image: NDArray[Any], white_level: int = 0) -> NDArray[np.float32]:
    """Return L*, u*, v* of an sRGB or grey image as float32 (rows, columns, 3)."""
    if image.dtype == np.uint8 and white_level in (0, 255):
        # The table undoes the gamma curve, which is twice as fast as OpenCV's own spline.
        linear = cv2.LUT(image, linear_light_table())
        return _as_luv(linear, cv2.COLOR_LRGB2Luv)
    scaled = image.astype(np.float32) * np.float32(1 / white_level_of(image, white_level))
    return _as_luv(np.minimum(scaled, 1, out=scaled), cv2.COLOR_RGB2Luv)


def _as_luv(image: NDArray[Any], conversion: int) -> NDArray[np.float32]:
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
        _check_between('grid', self.grid, 1, 64)
        _check_between('orientations', self.orientations, 2, 180)

    @property
    def width(self) -> int:
        """One histogram per block."""
        return self.grid * self.grid * self.orientations

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histograms of an image, (rows, columns) grey or (rows, columns, 3) RGB."""
        grey = _grey_of(self.cropped(sample), self.white_level)
        magnitude, orientation_bin = _gradients(grey, self.orientations)
        histograms = [
            np.bincount(
                orientation_bin[row, column].ravel(),
                weights=magnitude[row, column].ravel(),
                minlength=self.orientations,
            ) / magnitude[row, column].size
            for row in _grid_spans(grey.shape[0], self.grid)
            for column in _grid_spans(grey.shape[1], self.grid)
        ]
        vector = np.concatenate(histograms)
        norm = np.sqrt(np.sum(vector**2) + _SMALLEST_NORM**2)
        return np.asarray(vector / norm, np.float32)


def _grey_of(image: NDArray[Any], white_level: int) -> NDArray[np.float32]:
    """Return the luma of an image as float32 with white as 1."""
    if image.ndim == 3:
        image = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return image.astype(np.float32) * np.float32(1 / white_level_of(image, white_level))


def _gradients(
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
