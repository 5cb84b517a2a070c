# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Features of motion: statistics and spectra of IMU and joints in a sliding time window.

Samples are placed by their stamps, which may be irregular and have gaps.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector, parameter
from proemlc_ros.stamps import NANOSECONDS

# Most samples in a window; a sensor that floods the topic keeps its newest ones.
MOST_SAMPLES = 20_000
# What _describe_channel returns before the bands of the spectrum.
STATISTICS = ('mean', 'standard deviation', 'smallest', 'largest', 'filled share of the window')
_IMU_CHANNELS = (
    'angular_velocity.x', 'angular_velocity.y', 'angular_velocity.z', 'angular_velocity.norm',
    'linear_acceleration.x', 'linear_acceleration.y', 'linear_acceleration.z',
    'linear_acceleration.norm',
)
JOINT_FIELDS = ('position', 'velocity', 'effort')


class _SlidingWindow:
    """Keeps samples that are at most `seconds` older than the newest one.

    Late samples are sorted in by stamp. A stamp older than the whole window means that the
    clock jumped back (a looping bag): the window starts again.
    """

    def __init__(self, seconds: float) -> None:
        self._length = round(seconds * NANOSECONDS)
        self._samples: list[tuple[int, int, Sequence[float]]] = []
        self._arrivals = 0

    def add(self, stamp: int, values: Sequence[float]) -> None:
        """Add a sample, values in the order of the channels; drop those that are too old."""
        if self._samples and stamp < self._samples[-1][0] - self._length:
            self.clear()
        # The count of arrivals breaks ties, so that values are never compared.
        insort(self._samples, (stamp, self._arrivals, values))
        self._arrivals += 1
        oldest = self._samples[-1][0] - self._length
        keep = next(i for i, sample in enumerate(self._samples) if sample[0] > oldest)
        del self._samples[:max(keep, len(self._samples) - MOST_SAMPLES)]

    def clear(self) -> None:
        """Drop all samples."""
        self._samples.clear()

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._samples)

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times in seconds before the newest sample (n,) and values (n, channels)."""
        stamps, _, values = zip(*self._samples)
        times = (np.array(stamps) - stamps[-1]) / NANOSECONDS
        return times, np.array(values, np.float64)


def _describe_channel(
    times: NDArray[np.float64], values: NDArray[np.float64], seconds: float, rate: float,
    bands: int, longest_gap: float,
) -> NDArray[np.float64]:
    """Describe the samples of one channel in a window that ends at time 0.

    Args:
        times: seconds, in (-seconds, 0], rising; equal ones are allowed.
        values: one per time; those that are not finite count as missing.
        seconds: length of the window.
        rate: samples per second of the even grid that the spectrum is computed on.
        bands: bands of the spectrum between 0 and rate / 2; 0 = no spectrum.
        longest_gap: seconds; samples further apart are not interpolated.

    Returns:
        STATISTICS over the samples, then the RMS amplitude in each band, in the channel's unit.
        All zero where nothing was measured.
    """
    measured = np.isfinite(values)
    if not measured.any():
        return np.zeros(len(STATISTICS) + bands)
    times, values = times[measured], values[measured]
    grid = np.arange(1 - max(2, round(seconds * rate)), 1) / rate
    filled = _covered_by_samples(grid, times, longest_gap)
    statistics = [values.mean(), values.std(), values.min(), values.max(), filled.mean()]
    if bands == 0:
        return np.array(statistics)
    signal = np.where(filled, np.interp(grid, times, values), 0.0)
    return np.concatenate([statistics, _band_amplitudes(signal, filled, bands)])


def _covered_by_samples(
    grid: NDArray[np.float64], times: NDArray[np.float64], longest_gap: float,
) -> NDArray[np.bool_]:
    """Return for each time of a grid whether samples lie close enough around it."""
    after = np.searchsorted(times, grid, side='left')
    earlier = times[np.clip(after - 1, 0, None)]
    later = times[np.clip(after, None, len(times) - 1)]
    between = (after > 0) & (after < len(times)) & (later - earlier <= longest_gap)
    # Half a gap is allowed at the ends, where there is no neighbour to interpolate to.
    nearest = np.minimum(np.abs(grid - earlier), np.abs(grid - later))
    outside = (after == 0) | (after == len(times))
    alone = outside & (nearest <= longest_gap / 2)
    return np.asarray(between | alone | (nearest == 0), np.bool_)


def _band_amplitudes(
    signal: NDArray[np.float64], filled: NDArray[np.bool_], bands: int,
) -> NDArray[np.float64]:
    """Return the RMS amplitude of an evenly sampled signal in bands from 0 to Nyquist.

    The mean over the filled part is removed, gaps carry no energy, and a Hann taper keeps strong
    lines in their band. The squares of the bands sum to the tapered signal's variance.
    """
    if filled.sum() < 2:
        return np.zeros(bands)
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(len(signal)) / len(signal))
    weight = np.where(filled, taper**2, 0.0).sum()
    if weight == 0:
        return np.zeros(bands)
    centred = np.where(filled, signal - signal[filled].mean(), 0.0)
    power = np.abs(np.fft.rfft(centred * taper)) ** 2 / (len(signal) * weight)
    power[1:(len(signal) + 1) // 2] *= 2  # the negative frequencies
    band = np.minimum(np.arange(len(power)) * bands // max(len(power) - 1, 1), bands - 1)
    return np.sqrt(np.bincount(band, weights=power, minlength=bands))


@dataclass(frozen=True)
class MotionSample:
    """One message of an IMU or of joints, by channel name.

    A channel that was not measured is left out or NaN.
    """

    stamp: int
    """Nanoseconds."""

    values: Mapping[str, float]


@dataclass
class _MotionWindow(Extractor):
    """Statistics and band amplitudes of each channel over a sliding window, by stamp.

    Order: channel by channel, each as in _describe_channel. Every sample gives a
    vector; while the window fills, the filled share tells how much of it was measured.
    """

    seconds: float = parameter(1.0, 'Length of the window in seconds, above 0')
    rate: float = parameter(
        50.0, 'Samples per second that the spectrum is computed on, above 0')
    bands: int = parameter(
        8, 'Bands of the spectrum between 0 and half the rate; 0 = no spectrum')
    longest_gap: float = parameter(
        0.25, 'Longest gap between samples that is interpolated, in seconds, above 0')
    _window: _SlidingWindow = field(init=False, repr=False)

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
        self._window = _SlidingWindow(self.seconds)

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
            _describe_channel(
                times, channel, self.seconds, self.rate, self.bands, self.longest_gap)
            for channel in values.T
        ]).astype(np.float32)


@dataclass
class ImuWindow(_MotionWindow):
    """Turn rates and accelerations along the axes, and their lengths, over a window."""

    kind: ClassVar[str] = 'imu_window'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'imu'
    description: ClassVar[str] = 'statistics and spectra of an IMU over a time window'

    @property
    def channels(self) -> tuple[str, ...]:
        """Three axes and the norm of turn rate and acceleration."""
        return _IMU_CHANNELS


@dataclass
class JointWindow(_MotionWindow):
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
