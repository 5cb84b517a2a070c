# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of a time window; spectra against SciPy, and the effect of gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import periodogram

from proemlc_ros.features.extractors.time_window import (
    MOST_SAMPLES,
    STATISTICS,
    SlidingWindow,
    band_amplitudes,
    describe_channel,
)

RATE, SECONDS, BANDS = 50.0, 2.0, 8
SECOND = 1_000_000_000


def describe(times, values, **options):
    """Describe a channel with the test's usual window."""
    settings = {'seconds': SECONDS, 'rate': RATE, 'bands': BANDS, 'longest_gap': 0.25}
    return describe_channel(
        np.asarray(times, float), np.asarray(values, float), **{**settings, **options})


def even_times():
    """Return the times of an evenly and fully sampled window."""
    return np.arange(1 - int(SECONDS * RATE), 1) / RATE


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), bands=st.integers(1, 25), length=st.integers(50, 101))
def test_band_amplitudes_equal_scipys_periodogram(seed, bands, length):
    signal = np.random.default_rng(seed).normal(size=length)
    frequencies, power = periodogram(
        signal, fs=RATE, window='hann', detrend='constant', scaling='density')
    band = np.minimum(np.arange(len(power)) * bands // (len(power) - 1), bands - 1)
    # The periodogram leaves out the constant that the taper brings back; so does this sum.
    expected = np.bincount(band, weights=power * RATE / length, minlength=bands)
    found = band_amplitudes(signal, np.ones(length, bool), bands)
    np.testing.assert_allclose(found**2, expected, atol=1e-12)


def test_a_tone_stands_in_its_band_with_its_rms():
    times = even_times()
    found = describe(times, 3 + 2 * np.sin(2 * np.pi * 11 * times))
    bands = found[len(STATISTICS):]
    assert bands.argmax() == int(11 / (RATE / 2) * BANDS)
    assert np.sqrt(np.sum(bands**2)) == pytest.approx(2 / np.sqrt(2), rel=0.02)
    assert found[0] == pytest.approx(3, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=100))
def test_statistics_are_those_of_the_samples(values):
    times = even_times()[-len(values):]
    found = describe(times, values)
    expected = [np.mean(values), np.std(values), min(values), max(values)]
    np.testing.assert_allclose(found[:4], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('count,share', [(100, 1.0), (50, 0.5), (1, 0.0)])
def test_filled_share_says_how_much_was_measured(count, share):
    times = even_times()[-count:]
    found = describe(times, np.ones(count))
    assert found[4] == pytest.approx(share, abs=0.08)


def test_short_gaps_hardly_change_the_spectrum():
    times = even_times()
    signal = np.sin(2 * np.pi * 2 * times)
    keep = np.ones(len(times), bool)
    keep[[10, 11, 40, 41, 42, 70]] = False
    bands, expected = describe(times[keep], signal[keep])[5:], describe(times, signal)[5:]
    np.testing.assert_allclose(bands, expected, atol=0.02)


def test_long_gaps_bring_no_energy_of_their_own():
    times = even_times()
    signal = 100 + np.sin(2 * np.pi * 5 * times)
    keep = (times < -1.4) | (times > -0.6)
    found = describe(times[keep], signal[keep])
    bands = found[len(STATISTICS):]
    assert found[4] == pytest.approx(0.6, abs=0.03)
    # Bridging 0.8 s by a line, or taking the gap for zeros, would be far above the tone.
    assert bands.argmax() == int(5 / (RATE / 2) * BANDS)
    assert np.sqrt(np.sum(bands**2)) == pytest.approx(1 / np.sqrt(2), rel=0.15)


def test_nothing_measured_is_all_zero():
    times = even_times()
    np.testing.assert_array_equal(describe(times, np.full(100, np.nan)), 0)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_window_gives_finite_values(data):
    offsets = data.draw(st.lists(st.floats(-SECONDS + 1e-6, 0), min_size=1, max_size=60))
    values = data.draw(st.lists(
        st.one_of(st.floats(-1e9, 1e9), st.just(np.nan), st.just(np.inf)),
        min_size=len(offsets), max_size=len(offsets)))
    bands = data.draw(st.integers(0, 20))
    found = describe(sorted(offsets), values, bands=bands)
    assert found.shape == (len(STATISTICS) + bands,) and np.isfinite(found).all()


@settings(max_examples=100, deadline=None)
@given(stamps=st.lists(st.integers(0, 5 * SECOND), min_size=1, max_size=40))
def test_the_window_holds_the_samples_of_its_length(stamps):
    window = SlidingWindow(1.0)
    for stamp in stamps:
        window.add(stamp, [float(stamp)])
    times, values = window.arrays()
    assert times[-1] == 0 and np.all(times > -1.0) and np.all(np.diff(times) >= 0)
    newest = values[-1, 0]
    assert newest >= stamps[-1]
    np.testing.assert_allclose(times, (values[:, 0] - newest) / SECOND, atol=1e-9)


def test_the_samples_of_a_flood_are_bounded():
    window = SlidingWindow(1000.0)
    for stamp in range(MOST_SAMPLES + 100):
        window.add(stamp, ())
    assert len(window) == MOST_SAMPLES
