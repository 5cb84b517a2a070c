# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics of the outline of the free space that a laser scan sees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# What shape_statistics returns, in order.
SHAPE_STATISTICS = (
    'mean range', 'standard deviation of the range', 'smallest range', 'free fraction',
    'area', 'outline length', 'distance of the centroid', 'elongation', 'jumps',
)
# A step of the range by more than this between corners of the outline is an edge of an object.
JUMP = 0.05


def shape_statistics(
    angles: NDArray[np.float64], ranges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Describe an outline given by ranges (0 to 1) at evenly spaced angles.

    Args:
        angles: radians, rising.
        ranges: fractions of the largest range.

    Returns:
        One value for each of SHAPE_STATISTICS: area as a fraction of the full circle's, outline
        length in its circumferences, elongation 0 (round) to 1 (a line), jumps as a fraction.

    """
    x, y = ranges * np.cos(angles), ranges * np.sin(angles)
    # Shoelace formula; the scanner itself closes the outline.
    area = 0.5 * np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) / np.pi
    outline = np.sum(np.hypot(np.diff(x), np.diff(y))) / (2 * np.pi)
    spread = np.linalg.eigvalsh(np.cov(x, y))
    elongation = 1 - np.sqrt(max(spread[0], 0) / spread[1]) if spread[1] > 1e-12 else 0.0
    return np.array([
        ranges.mean(), ranges.std(), ranges.min(), np.mean(ranges >= 1 - 1e-9),
        area, outline, np.hypot(x.mean(), y.mean()), elongation,
        np.mean(np.abs(np.diff(ranges)) > JUMP),
    ])
