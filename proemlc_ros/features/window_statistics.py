# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics and spectrum of one channel over a time window with irregular stamps and gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# What stands before the bands in the description of a channel.
STATISTICS = ('mean', 'standard deviation', 'smallest', 'largest', 'filled share of the window')


def describe_channel(
    times: NDArray[np.float64], values: NDArray[np.float64], seconds: float, rate: float,
    bands: int, longest_gap: float,
) -> NDArray[np.float64]:
    """Describe the samples of one channel in a window that ends at time 0.

    Args:
        times: seconds, in (-seconds, 0], rising; equal ones are allowed.
        values: one a time; those that are not finite count as missing.
        seconds: length of the window.
        rate: samples a second of the even grid that the spectrum is taken on.
        bands: bands of the spectrum between 0 and rate / 2; 0: no spectrum.
        longest_gap: seconds; between samples further apart nothing is interpolated.

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
    """Tell for each time of a grid whether samples lie close enough around it."""
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
