# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What sensors measured, as arrays: the input of the extractors that do not take images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LaserBeams:
    """One laser scan: angles in radians and ranges in metres, one a beam."""

    angles: NDArray[np.float64]
    ranges: NDArray[np.float64]
    range_min: float
    range_max: float


@dataclass(frozen=True)
class MotionSample:
    """What an IMU or a set of joints measured at one moment, by channel name.

    A channel that was not measured is left out or NaN.
    """

    stamp: int
    """Nanoseconds."""

    values: Mapping[str, float]
