# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""IMU and joint windows over real messages: order, names, gaps, clocks."""

import numpy as np
import pytest
import sensor_messages as messages
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import periodogram

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractors.motion import (
    MOST_SAMPLES,
    STATISTICS,
    ImuWindow,
    JointWindow,
    MotionSample,
    _band_amplitudes,
    _describe_channel,
    _SlidingWindow,
)
from proemlc_ros.features.sensor_arrays import _imu_sample, _joint_sample

RATE, SECONDS, BANDS = 50.0, 2.0, 8
SECOND = 1_000_000_000


def describe(times, values, **options):
    """Describe a channel with the test's usual window."""
    settings = {'seconds': SECONDS, 'rate': RATE, 'bands': BANDS, 'longest_gap': 0.25}
    return _describe_channel(
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
    found = _band_amplitudes(signal, np.ones(length, bool), bands)
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
    window = _SlidingWindow(1.0)
    for stamp in stamps:
        window.add(stamp, [float(stamp)])
    times, values = window.arrays()
    assert times[-1] == 0 and np.all(times > -1.0) and np.all(np.diff(times) >= 0)
    newest = values[-1, 0]
    assert newest >= stamps[-1]
    np.testing.assert_allclose(times, (values[:, 0] - newest) / SECOND, atol=1e-9)


def test_the_samples_of_a_flood_are_bounded():
    window = _SlidingWindow(1000.0)
    for stamp in range(MOST_SAMPLES + 100):
        window.add(stamp, ())
    assert len(window) == MOST_SAMPLES


SECOND = 1_000_000_000


def feed(extractor, samples):
    """Pass all samples and return the last vector."""
    for sample in samples:
        vector = extractor(sample)
    return vector


def test_imu_vector_has_eight_channels_of_statistics_and_bands():
    extractor = ImuWindow()
    vector = feed(extractor, (
        _imu_sample(messages.imu(turn=(k, 0.0, 0.0), stamp=k * SECOND // 50)) for k in range(50)))
    assert extractor.width == 8 * (5 + 8) == len(vector)
    by_channel = vector.reshape(8, 13)
    assert by_channel[0, :4].tolist() == pytest.approx([24.5, np.std(range(50)), 0, 49])
    assert by_channel[6, 0] == pytest.approx(9.81) and by_channel[7, 0] == pytest.approx(9.81)


def test_the_order_of_joints_in_messages_does_not_matter():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(30, 3))
    names = np.array(['a', 'b', 'c'])
    straight, shuffled = JointWindow(), JointWindow()
    for k, row in enumerate(values):
        order = rng.permutation(3)
        stamp = SECOND + k * SECOND // 30
        one = straight(_joint_sample(messages.joints(names, position=row, stamp=stamp)))
        two = shuffled(_joint_sample(
            messages.joints(names[order], position=row[order], stamp=stamp)))
    np.testing.assert_array_equal(one, two)
    assert straight.name == shuffled.name == 'joint_window/1(joints=a,b,c)'


def test_a_missing_joint_leaves_the_others_and_its_own_past():
    extractor = JointWindow(joints=('a', 'b'), fields=('position',), bands=0)
    feed(extractor, [_joint_sample(messages.joints(['a', 'b'], [1.0, 5.0], stamp=SECOND))])
    vector = feed(extractor, [
        _joint_sample(messages.joints(['a'], [3.0], stamp=SECOND + SECOND // 10))])
    assert vector[:4].tolist() == [2, 1, 1, 3]
    assert vector[5:9].tolist() == [5, 0, 5, 5]


def test_joints_of_two_publishers_on_one_topic_come_together():
    extractor = JointWindow(joints=('arm', 'base'), fields=('position',), bands=0)
    vector = feed(extractor, [
        _joint_sample(messages.joints(['arm'], [2.0], stamp=SECOND)),
        _joint_sample(messages.joints(['base'], [7.0], stamp=SECOND))])
    assert vector[0] == 2 and vector[5] == 7


def test_a_message_without_any_wanted_joint_is_rejected():
    with pytest.raises(BadSensorDataError) as caught:
        JointWindow(joints=('a',))(_joint_sample(messages.joints(['z'], [1.0])))
    assert caught.value.cause == 'no_known_joint'


def test_old_samples_leave_the_window():
    extractor = ImuWindow(seconds=1.0)
    feed(extractor, [_imu_sample(messages.imu(turn=(9.0, 0.0, 0.0), stamp=0))])
    vector = feed(extractor, [_imu_sample(messages.imu(turn=(1.0, 0.0, 0.0), stamp=2 * SECOND))])
    assert vector[0] == 1


def test_a_clock_that_jumps_back_starts_the_window_again():
    extractor = ImuWindow(seconds=1.0)
    feed(extractor, [_imu_sample(messages.imu(turn=(9.0, 0.0, 0.0), stamp=100 * SECOND))])
    vector = feed(extractor, [_imu_sample(messages.imu(turn=(1.0, 0.0, 0.0), stamp=5 * SECOND))])
    assert vector[0] == 1


def test_late_samples_are_sorted_in():
    straight, disordered = ImuWindow(), ImuWindow()
    samples = [_imu_sample(messages.imu(turn=(k, 0.0, 0.0), stamp=k * SECOND // 20))
               for k in range(20)]
    swapped = list(samples)
    swapped[5], swapped[6] = swapped[6], swapped[5]
    np.testing.assert_array_equal(feed(straight, samples), feed(disordered, swapped))


def test_observe_counts_without_computing():
    observed, called = ImuWindow(), ImuWindow()
    samples = [_imu_sample(messages.imu(turn=(k, 0.0, 0.0), stamp=k * SECOND // 50))
               for k in range(10)]
    for sample in samples[:-1]:
        observed.observe(sample)
    np.testing.assert_array_equal(observed(samples[-1]), feed(called, samples))


def test_motion_sample_without_values_of_a_field_keeps_the_width():
    extractor = JointWindow(joints=('a',), fields=('position', 'effort'))
    vector = extractor(MotionSample(0, {'a/position': 1.0}))
    assert len(vector) == extractor.width and np.isfinite(vector).all()


@pytest.mark.parametrize('parameters', [
    {'seconds': 0.0}, {'rate': -1.0}, {'bands': 26}, {'bands': -1}, {'longest_gap': 0.0},
    {'seconds': 1e6}, {'fields': ('speed',)}, {'fields': ()}, {'joints': ('a', 'a')}])
def test_unusable_parameters_are_rejected(parameters):
    with pytest.raises(ExtractorError):
        JointWindow(**parameters)
