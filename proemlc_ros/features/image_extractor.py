# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What extractors of images have in common: the part they look at, and what is white."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractor import Extractor, parameter
from proemlc_ros.features.regions import WHOLE_IMAGE, check_region, crop


@dataclass
class ImageExtractor(Extractor):
    """Takes images: (rows, columns) grey or (rows, columns, 3) RGB, uint8 or uint16."""

    sensor: ClassVar[str] = 'image'

    region: tuple[float, ...] = parameter(
        WHOLE_IMAGE,
        'left, top, width and height of the part to look at, as fractions of the image')
    white_level: int = parameter(0, 'pixel value that is white; 0: the largest of the type')

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_region(self.region)
        if self.white_level < 0:
            raise ExtractorError(
                f'white_level is {self.white_level}; it must be 0 or a pixel value')

    def cropped(self, sample: NDArray[Any]) -> NDArray[Any]:
        """Return the part of an image to look at.

        Raises:
            BadSensorDataError: not an image, or one without pixels.

        """
        return crop(sample, self.region)


def check_between(name: str, value: int, least: int, most: int) -> None:
    """Refuse a whole number that is out of range.

    Raises:
        ExtractorError: with the name and the range.

    """
    if not least <= value <= most:
        raise ExtractorError(f'{name} is {value}; it must be between {least} and {most}')
