# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Features of a point cloud: histograms of the height and of the density on the ground."""

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

    layers: int = parameter(16, 'Bins of the height, 1 to 1000')
    cells: int = parameter(8, 'Cells along each side of the ground, 1 to 100')
    box: tuple[float, ...] = parameter(
        (-5.0, 5.0, -5.0, 5.0, -1.0, 3.0),
        'Box in metres, in the frame of the cloud: x from, x to, y from, y to, z from, z to')

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not (1 <= self.layers <= 1000 and 1 <= self.cells <= 100):
            raise ExtractorError(
                f'layers is {self.layers} and cells is {self.cells}; layers must be between 1 and '
                '1000, cells between 1 and 100')
        if len(self.box) != 6 or not all(
                low < high for low, high in zip(self.box[::2], self.box[1::2])):
            raise ExtractorError(
                f'box {self.box} must be six numbers: x from, x to, y from, y to, z from, z to')

    @property
    def width(self) -> int:
        """Number of layers and cells, plus one for the share in the box."""
        return self.layers + self.cells * self.cells + 1

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the histograms of points (n, 3); points with NaN or infinities are left out.

        Raises:
            BadSensorDataError: no finite point.

        """
        finite = int(np.isfinite(sample).all(axis=1).sum())
        if finite == 0:
            raise BadSensorDataError(
                'empty_cloud', f'none of the {len(sample)} points of the cloud is finite')
        axes = [np.ascontiguousarray(axis) for axis in sample.T]
        limits = list(zip(self.box[::2], self.box[1::2]))
        # A comparison with NaN is false, so missing points drop out here.
        inside = np.logical_and.reduce([
            (axis >= low) & (axis < high) for axis, (low, high) in zip(axes, limits)])
        x, y, z = (
            binned(axis[inside], low, high, bins) for axis, (low, high), bins in zip(
                axes, limits, (self.cells, self.cells, self.layers)))
        count = len(z)
        return np.concatenate([
            np.bincount(z, minlength=self.layers) / max(count, 1),
            np.bincount(x * self.cells + y, minlength=self.cells * self.cells) / max(count, 1),
            [count / finite],
        ]).astype(np.float32)


def binned(values: NDArray[Any], low: float, high: float, bins: int) -> NDArray[np.int64]:
    """Return the bin of each value in [low, high); rounding never leaves the last one."""
    return np.minimum(((values - low) * (bins / (high - low))).astype(np.int64), bins - 1)
