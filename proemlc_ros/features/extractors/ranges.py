# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Features of range sensors: profiles of laser scans and histograms of point clouds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector, parameter

# Corners of the outline that the shape statistics are computed on.
_OUTLINE_POINTS = 360
# What _shape_statistics returns, in order.
SHAPE_STATISTICS = (
    'mean range', 'standard deviation of the range', 'smallest range', 'free fraction',
    'area', 'outline length', 'distance of the centroid', 'elongation', 'jumps',
)
# Least step of the range between corners of the outline that counts as an edge of an object.
_JUMP = 0.05


@dataclass(frozen=True)
class LaserBeams:
    """One laser scan: angles in radians and ranges in metres, one per beam."""

    angles: NDArray[np.float64]
    ranges: NDArray[np.float64]
    range_min: float
    range_max: float


@dataclass(frozen=True)
class LaserProfile(Extractor):
    """Mean range in each of a number of sectors, 0 (at the scanner) to 1 (nothing in range).

    The range is taken as a piecewise linear function of the angle through the valid beams,
    and each value is its exact mean over the sector: a scanner with twice the beams gives
    the same profile. Without `field_of_view` the sectors divide what the scan covers; with it,
    they divide the given angles, and those that the scan does not cover count as free.
    """

    kind: ClassVar[str] = 'laser_profile'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'scan'
    description: ClassVar[str] = 'mean range in sectors of a laser scan, and shape statistics'

    sectors: int = parameter(36, 'Sectors of the scan, one value each, 1 to 10000')
    field_of_view: tuple[float, ...] = parameter(
        (), 'First and last angle in radians; empty = those of the scan')
    max_range: float = parameter(
        0.0, 'Range in metres that counts as 1; 0 = range_max of the scan')
    shape: bool = parameter(False, 'Append statistics of the shape of the free space')

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not 1 <= self.sectors <= 10_000:
            raise ExtractorError(f'sectors is {self.sectors}; it must be between 1 and 10000')
        if self.field_of_view and not (
                len(self.field_of_view) == 2
                and 0 < self.field_of_view[1] - self.field_of_view[0] <= 2 * math.pi + 1e-6):
            raise ExtractorError(
                f'field_of_view {self.field_of_view} must be two rising angles in radians, at '
                'most a full circle apart')
        if not (self.max_range >= 0 and math.isfinite(self.max_range)):
            raise ExtractorError(f'max_range is {self.max_range}; it must be 0 or positive')

    @property
    def width(self) -> int:
        """Number of sectors, plus the shape statistics where enabled."""
        return self.sectors + (len(SHAPE_STATISTICS) if self.shape else 0)

    def __call__(self, sample: LaserBeams) -> Vector:
        """Return the profile of a scan.

        Raises:
            BadSensorDataError: no valid beam, or a range_max that is not positive and finite.
        """
        angles, ranges = _usable_beams(sample, self.max_range)
        first, last = self.field_of_view or (sample.angles.min(), sample.angles.max())
        if self.field_of_view:
            angles, ranges = _covered(angles, ranges, first, last)
        profile = _sector_means(angles, ranges, first, last, self.sectors)
        if self.shape:
            outline_angles = np.linspace(first, last, _OUTLINE_POINTS)
            outline = np.interp(outline_angles, angles, ranges)
            profile = np.concatenate([profile, _shape_statistics(outline_angles, outline)])
        return profile.astype(np.float32)


def _usable_beams(
    beams: LaserBeams, max_range: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rising angles of the valid beams, and their ranges as fractions of the largest.

    REP 117: +inf is "nothing in range" (1), -inf "too close to measure" (0), NaN "not measured"
    (left out). A finite range below range_min is not a measurement either (many drivers write
    0 for it), one above range_max is nothing in range.
    """
    limit = max_range or beams.range_max
    if not (math.isfinite(limit) and limit > 0):
        raise BadSensorDataError(
            'bad_range_limits',
            f'range_max of the scan is {beams.range_max}; set the parameter max_range')
    ranges = np.where(np.isneginf(beams.ranges), beams.range_min, beams.ranges)
    with np.errstate(invalid='ignore'):
        valid = ranges >= beams.range_min
    if not valid.any():
        raise BadSensorDataError(
            'no_valid_beam', f'none of the {len(ranges)} beams of the scan measured anything')
    angles = beams.angles[valid]
    too_close = np.isneginf(beams.ranges[valid])
    fraction = np.where(ranges[valid] > beams.range_max, 1.0, ranges[valid] / limit)
    fraction = np.where(too_close, 0.0, np.minimum(fraction, 1.0))
    order = np.argsort(angles, kind='stable')
    return angles[order], fraction[order]


def _covered(
    angles: NDArray[np.float64], values: NDArray[np.float64], first: float, last: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Place beams on the circle from `first` on, with free space where no beam points."""
    placed = first + np.mod(angles - first, 2 * math.pi)
    order = np.argsort(placed, kind='stable')
    placed, values = placed[order], values[order]
    # Neighbours much further apart than usual enclose a blind angle.
    usual = float(np.median(np.diff(angles))) if len(angles) > 1 else 0.0
    around = np.concatenate([[placed[-1] - 2 * math.pi], placed, [placed[0] + 2 * math.pi]])
    around_values = np.concatenate([[values[-1]], values, [values[0]]])
    gaps = np.flatnonzero(np.diff(around) > max(4 * usual, math.radians(10)))
    half = max(usual / 2, 1e-6)
    borders = np.concatenate([around[gaps] + half, around[gaps + 1] - half])
    grid = np.concatenate([around, borders])
    filled = np.concatenate([around_values, np.ones(len(borders))])
    order = np.argsort(grid, kind='stable')
    return grid[order], filled[order]


def _sector_means(
    angles: NDArray[np.float64], values: NDArray[np.float64], first: float, last: float,
    sectors: int,
) -> NDArray[np.float64]:
    """Return the exact mean over each sector of the line through the given points."""
    edges = np.linspace(first, last, sectors + 1)
    if last <= first:  # a single beam
        return np.full(sectors, values.mean())
    knots = np.unique(np.concatenate([angles, edges]))
    line = np.interp(knots, angles, values)
    area = np.concatenate([[0.0], np.cumsum(np.diff(knots) * (line[1:] + line[:-1]) / 2)])
    means = np.diff(np.interp(edges, knots, area)) / np.diff(edges)
    return np.asarray(np.clip(means, 0.0, 1.0))


def _shape_statistics(
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
        np.mean(np.abs(np.diff(ranges)) > _JUMP),
    ])


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
            _binned(axis[inside], low, high, bins) for axis, (low, high), bins in zip(
                axes, limits, (self.cells, self.cells, self.layers)))
        count = len(z)
        return np.concatenate([
            np.bincount(z, minlength=self.layers) / max(count, 1),
            np.bincount(x * self.cells + y, minlength=self.cells * self.cells) / max(count, 1),
            [count / finite],
        ]).astype(np.float32)


def _binned(values: NDArray[Any], low: float, high: float, bins: int) -> NDArray[np.int64]:
    """Return the bin of each value in [low, high); rounding never leaves the last one."""
    return np.minimum(((values - low) * (bins / (high - low))).astype(np.int64), bins - 1)
