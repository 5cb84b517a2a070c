# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Motion features: statistics and spectra of an IMU or of joints over a time window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector, parameter
from proemlc_ros.features.extractors.time_window import STATISTICS, SlidingWindow, describe_channel

IMU_CHANNELS = (
    'angular_velocity.x', 'angular_velocity.y', 'angular_velocity.z', 'angular_velocity.norm',
    'linear_acceleration.x', 'linear_acceleration.y', 'linear_acceleration.z',
    'linear_acceleration.norm',
)
JOINT_FIELDS = ('position', 'velocity', 'effort')


@dataclass(frozen=True)
class MotionSample:
    """One message of an IMU or of joints, by channel name.

    A channel that was not measured is left out or NaN.
    """

    stamp: int
    """Nanoseconds."""

    values: Mapping[str, float]


@dataclass
class MotionWindow(Extractor):
    """Statistics and band amplitudes of each channel over a sliding window, by stamp.

    Order: channel by channel, each as in time_window.describe_channel. Every sample gives a
    vector; while the window fills, the filled share tells how much of it was measured.
    """

    seconds: float = parameter(1.0, 'Length of the window in seconds, above 0')
    rate: float = parameter(
        50.0, 'Samples per second that the spectrum is computed on, above 0')
    bands: int = parameter(
        8, 'Bands of the spectrum between 0 and half the rate; 0 = no spectrum')
    longest_gap: float = parameter(
        0.25, 'Longest gap between samples that is interpolated, in seconds, above 0')
    _window: SlidingWindow = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ('seconds', 'rate', 'longest_gap'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ExtractorError(f'{name} is {value}; it must be positive')
        points = self.seconds * self.rate
        if not 2 <= points <= 100_000:
            raise ExtractorError(
                f'seconds times rate is {points:g} points; it must be between 2 and 100000')
        if not 0 <= self.bands <= points / 2:
            raise ExtractorError(
                f'bands is {self.bands}; {points:g} points give at most {points / 2:g}')
        self._window = SlidingWindow(self.seconds)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels, in the order of the vector."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """All values of all channels."""
        return len(self.channels) * (len(STATISTICS) + self.bands)

    def observe(self, sample: MotionSample) -> None:
        """Add a sample to the window."""
        self._window.add(
            sample.stamp, [sample.values.get(channel, math.nan) for channel in self.channels])

    def __call__(self, sample: MotionSample) -> Vector:
        """Return the features of the window that ends with the newest sample."""
        self.observe(sample)
        times, values = self._window.arrays()
        return np.concatenate([
            describe_channel(
                times, channel, self.seconds, self.rate, self.bands, self.longest_gap)
            for channel in values.T
        ]).astype(np.float32)


@dataclass
class ImuWindow(MotionWindow):
    """Turn rates and accelerations along the axes, and their lengths, over a window."""

    kind: ClassVar[str] = 'imu_window'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'imu'
    description: ClassVar[str] = 'statistics and spectra of an IMU over a time window'

    @property
    def channels(self) -> tuple[str, ...]:
        """Three axes and the norm of turn rate and acceleration."""
        return IMU_CHANNELS


@dataclass
class JointWindow(MotionWindow):
    """Positions, velocities or efforts of joints over a window, found by name.

    Without `joints` the names in the first message are taken, sorted; they are part of the
    extractor's name. A joint that a message lacks counts as not measured there.
    """

    kind: ClassVar[str] = 'joint_window'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'joints'
    description: ClassVar[str] = 'statistics and spectra of joint states over a time window'

    joints: tuple[str, ...] = parameter(
        (), 'Names of the joints, in order; empty = those of the first message, sorted')
    fields: tuple[str, ...] = parameter(
        ('position', 'velocity'), 'Fields of each joint, in order: position, velocity, effort')

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not self.fields or not set(self.fields) <= set(JOINT_FIELDS):
            raise ExtractorError(f'fields {self.fields} must be some of {", ".join(JOINT_FIELDS)}')
        if len(set(self.joints)) != len(self.joints):
            raise ExtractorError(f'joints {self.joints} names a joint twice')

    @property
    def channels(self) -> tuple[str, ...]:
        """All chosen fields of the first joint, then of the next."""
        return tuple(f'{joint}/{entry}' for joint in self.joints for entry in self.fields)

    def observe(self, sample: MotionSample) -> None:
        """Add a sample to the window; without `joints` the first one names them.

        Raises:
            BadSensorDataError: the message has none of the joints.

        """
        named = {channel.rpartition('/')[0] for channel in sample.values}
        if not self.joints:
            self.joints = tuple(sorted(named))
        if not named.intersection(self.joints):
            raise BadSensorDataError(
                'no_known_joint',
                f'the joint state has {sorted(named)} and none of {list(self.joints)}')
        super().observe(sample)
