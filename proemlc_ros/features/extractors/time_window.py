# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A sliding time window of samples, and the statistics and spectrum of one channel in it.

Samples are placed by their stamps, which may be irregular and have gaps.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.stamps import NANOSECONDS

# Most samples in a window; a sensor that floods the topic keeps its newest ones.
MOST_SAMPLES = 20_000
# What describe_channel returns before the bands of the spectrum.
STATISTICS = ('mean', 'standard deviation', 'smallest', 'largest', 'filled share of the window')


class SlidingWindow:
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


def describe_channel(
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
    filled = covered_by_samples(grid, times, longest_gap)
    statistics = [values.mean(), values.std(), values.min(), values.max(), filled.mean()]
    if bands == 0:
        return np.array(statistics)
    signal = np.where(filled, np.interp(grid, times, values), 0.0)
    return np.concatenate([statistics, band_amplitudes(signal, filled, bands)])


def covered_by_samples(
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


def band_amplitudes(
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
