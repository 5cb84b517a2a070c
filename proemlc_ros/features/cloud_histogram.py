# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the points of a cloud lie: histograms of height and of density on the ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector, parameter


@dataclass(frozen=True)
class CloudHistogram(Extractor):
    """Share of the points in each layer of height and in each cell of the ground, within a box.

    Order: the layers from below; the cells of the ground with y running fastest; the share of the
    cloud's points that lie in the box. Layers and cells are shares of the points in the box.
    """

    kind: ClassVar[str] = 'cloud_histogram'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'cloud'
    description: ClassVar[str] = 'histograms of height and ground density of a point cloud'

    layers: int = parameter(16, 'bins of height')
    cells: int = parameter(8, 'cells along each side of the ground')
    box: tuple[float, ...] = parameter(
        (-5.0, 5.0, -5.0, 5.0, -1.0, 3.0),
        'x from, x to, y from, y to, z from, z to in metres, in the frame of the cloud')

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not (1 <= self.layers <= 1000 and 1 <= self.cells <= 100):
            raise ExtractorError(
                f'layers is {self.layers} and cells {self.cells}; they must be at least 1, and at '
                'most 1000 and 100')
        if len(self.box) != 6 or not all(
                low < high for low, high in zip(self.box[::2], self.box[1::2])):
            raise ExtractorError(
                f'box {self.box} must be six numbers: x from, x to, y from, y to, z from, z to')

    @property
    def width(self) -> int:
        """Layers, cells, and the share in the box."""
        return self.layers + self.cells * self.cells + 1

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histograms of points (n, 3); points with NaN or infinities do not count.

        Raises:
            BadSensorDataError: not a single finite point.

        """
        points = sample[np.isfinite(sample).all(axis=1)]
        if len(points) == 0:
            raise BadSensorDataError(
                'empty_cloud', f'none of the {len(sample)} points of the cloud is finite')
        low, high = np.array(self.box[::2]), np.array(self.box[1::2])
        inside = points[((points >= low) & (points < high)).all(axis=1)]
        counts = max(len(inside), 1)
        fraction = (inside - low) / (high - low)
        layer = binned(fraction[:, 2], self.layers)
        cell = binned(fraction[:, 0], self.cells) * self.cells + binned(fraction[:, 1], self.cells)
        return np.concatenate([
            np.bincount(layer, minlength=self.layers) / counts,
            np.bincount(cell, minlength=self.cells * self.cells) / counts,
            [len(inside) / len(points)],
        ]).astype(np.float32)


def binned(fraction: NDArray[Any], bins: int) -> NDArray[np.int64]:
    """Return the bin of each fraction in [0, 1); rounding never leads out of the last one."""
    return np.minimum((fraction * bins).astype(np.int64), bins - 1)
