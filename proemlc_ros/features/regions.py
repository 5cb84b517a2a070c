# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The part of an image that an extractor looks at."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, ExtractorError

WHOLE_IMAGE = (0.0, 0.0, 1.0, 1.0)


def check_region(region: tuple[float, ...]) -> None:
    """Refuse a region that does not lie in the image.

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
