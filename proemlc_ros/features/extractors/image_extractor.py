# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the image extractors share: the region of the image, its grid of blocks, and white."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, parameter

WHOLE_IMAGE = (0.0, 0.0, 1.0, 1.0)
MOST_MARGIN = 4.0


@dataclass
class ImageExtractor(Extractor):
    """Takes images: (rows, columns) grey or (rows, columns, 3) RGB, uint8 or uint16."""

    sensor: ClassVar[str] = 'image'

    region: tuple[float, ...] = parameter(
        WHOLE_IMAGE,
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
        if not 0.0 <= self.margin <= MOST_MARGIN:
            raise ExtractorError(
                f'margin is {self.margin}; it must be between 0 and {MOST_MARGIN:g}')

    def cropped(self, sample: NDArray[Any]) -> NDArray[Any]:
        """Return the region of an image.

        Raises:
            BadSensorDataError: not an image, or one without pixels.

        """
        return crop(sample, self.region)


def check_between(name: str, value: int, least: int, most: int) -> None:
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


def crop(image: NDArray[Any], region: tuple[float, ...]) -> NDArray[Any]:
    """Return the region of an image as a view; never empty, however small the image.

    Raises:
        BadSensorDataError: not an image, or one without pixels.

    """
    if image.ndim not in (2, 3) or image.size == 0:
        raise BadSensorDataError('empty_image', f'an image of shape {image.shape} has no pixels')
    height, width = image.shape[:2]
    left, top, region_width, region_height = region
    rows = span(top, top + region_height, height)
    columns = span(left, left + region_width, width)
    return image[rows, columns]


def span(start: float, stop: float, length: int) -> slice:
    """Turn fractions of a length into a slice of at least one element."""
    first = min(int(start * length + 1e-9), length - 1)
    return slice(first, max(first + 1, min(length, int(stop * length + 1e-9))))


def grid_spans(length: int, parts: int) -> list[slice]:
    """Split a length into equal parts; where there are fewer elements than parts they repeat."""
    edges = [part * length // parts for part in range(parts + 1)]
    return [slice(a, max(a + 1, b)) for a, b in pairwise(edges)]


def white_level_of(image: NDArray[Any], white_level: int) -> float:
    """Return the value that counts as white: as given, or the largest of the image's type."""
    return float(white_level) if white_level else float(np.iinfo(image.dtype).max)
