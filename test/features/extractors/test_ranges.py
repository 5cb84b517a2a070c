# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Laser profiles and cloud histograms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractors.ranges import (
    SHAPE_STATISTICS,
    CloudHistogram,
    LaserBeams,
    LaserProfile,
    _shape_statistics,
)

INF, NAN = math.inf, math.nan


def beams(ranges, first=-1.5, last=1.5, range_min=0.1, range_max=10.0):
    """Return evenly spaced beams."""
    ranges = np.array(ranges, float)
    return LaserBeams(np.linspace(first, last, len(ranges)), ranges, range_min, range_max)


def room(angle):
    """Return the range in a made-up room as a function of the angle."""
    return 4 + 2 * np.sin(2 * angle) + np.cos(5 * angle)


def test_profile_is_the_mean_over_each_sector():
    scan = beams(room(np.linspace(-1.5, 1.5, 181)))
    # Independent: a sum over a grid 1000 times finer than the beams.
    fine = np.linspace(-1.5, 1.5, 36 * 5000 + 1)
    line = np.interp(fine, scan.angles, scan.ranges) / 10
    expected = [((line[:-1] + line[1:]) / 2)[k * 5000:(k + 1) * 5000].mean() for k in range(36)]
    np.testing.assert_allclose(LaserProfile()(scan), expected, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(count=st.integers(150, 3000))
def test_profile_does_not_depend_on_the_number_of_beams(count):
    few = LaserProfile()(beams(room(np.linspace(-1.5, 1.5, 2000))))
    many = LaserProfile()(beams(room(np.linspace(-1.5, 1.5, count))))
    # Linear interpolation between 150 beams is off by h^2/8 times the second derivative.
    np.testing.assert_allclose(many, few, atol=2e-4)


@settings(max_examples=200, deadline=None)
@given(
    ranges=st.lists(st.one_of(
        st.floats(-1, 20, width=32), st.sampled_from([INF, -INF, NAN, 0.0])),
        min_size=1, max_size=200),
    shape=st.booleans(), view=st.sampled_from([(), (-math.pi, math.pi), (0.0, 6.28), (-0.5, 0.2)]),
    increment=st.floats(-0.03, 0.03).filter(lambda value: abs(value) > 1e-6),
)
def test_every_scan_with_a_measurement_gives_values_between_0_and_1(
        ranges, shape, view, increment):
    extractor = LaserProfile(shape=shape, field_of_view=view)
    angles = 0.3 + increment * np.arange(len(ranges))
    try:
        vector = extractor(LaserBeams(angles, np.array(ranges), 0.1, 10.0))
    except BadSensorDataError as error:
        assert error.cause == 'no_valid_beam'
        assert all(math.isnan(value) or -INF < value < 0.1 for value in ranges)
        return
    assert vector.shape == (extractor.width,) and np.isfinite(vector).all()
    assert np.all((vector[:36] >= 0) & (vector[:36] <= 1))


@pytest.mark.parametrize('value,expected', [
    (5.0, 0.5), (INF, 1.0), (12.0, 1.0), (-INF, 0.0), (10.0, 1.0), (0.1, 0.01)])
def test_special_ranges_follow_the_limits_of_the_scan(value, expected):
    np.testing.assert_allclose(LaserProfile(sectors=3)(beams([value] * 5)), expected, rtol=1e-6)


@pytest.mark.parametrize('missing', [NAN, 0.0, 0.05])
def test_missing_beams_are_bridged_by_their_neighbours(missing):
    whole = beams([2.0, 2.0, 2.0, 2.0, 2.0])
    holes = beams([2.0, missing, 2.0, missing, missing])
    np.testing.assert_array_equal(LaserProfile()(holes), LaserProfile()(whole))


def test_direction_of_rotation_does_not_matter():
    scan = beams(room(np.linspace(-1.5, 1.5, 100)))
    backwards = LaserBeams(scan.angles[::-1], scan.ranges[::-1], 0.1, 10.0)
    np.testing.assert_allclose(LaserProfile()(backwards), LaserProfile()(scan), atol=1e-6)


def test_field_of_view_keeps_angles_and_calls_unseen_ones_free():
    # A scanner that looks ahead by 60 degrees, in a profile of the full circle.
    scan = beams([3.0] * 61, -math.pi / 6, math.pi / 6)
    profile = LaserProfile(sectors=12, field_of_view=(-math.pi, math.pi))(scan)
    np.testing.assert_allclose(profile[5:7], 0.3, atol=1e-2)
    np.testing.assert_allclose(profile[[0, 1, 2, 3, 8, 9, 10, 11]], 1.0, atol=1e-6)


def test_field_of_view_does_not_depend_on_where_the_scan_starts():
    full = LaserProfile(sectors=8, field_of_view=(-math.pi, math.pi))
    angles = np.linspace(-math.pi, math.pi, 720, endpoint=False)
    expected = full(LaserBeams(angles, room(angles), 0.1, 10.0))
    shifted = angles + math.pi
    np.testing.assert_allclose(
        full(LaserBeams(shifted, room(shifted), 0.1, 10.0)), expected, atol=1e-5)


def test_max_range_clips_and_scales():
    np.testing.assert_allclose(LaserProfile(max_range=4.0)(beams([2.0, 2.0])), 0.5)
    np.testing.assert_allclose(LaserProfile(max_range=4.0)(beams([6.0, 6.0])), 1.0)


@pytest.mark.parametrize('range_max', [0.0, NAN, INF, -1.0])
def test_unusable_limits_are_rejected_unless_max_range_is_given(range_max):
    scan = beams([0.5, 0.5], range_min=0.0, range_max=range_max)
    with pytest.raises(BadSensorDataError) as caught:
        LaserProfile()(scan)
    assert caught.value.cause == 'bad_range_limits'


def test_shape_statistics_of_a_circle():
    angles = np.linspace(0, 2 * np.pi, 3601)
    found = dict(zip(SHAPE_STATISTICS, _shape_statistics(angles, np.full(3601, 0.5))))
    assert found['mean range'] == 0.5 and found['standard deviation of the range'] == 0
    assert found['area'] == pytest.approx(0.25, abs=1e-4)
    assert found['outline length'] == pytest.approx(0.5, abs=1e-4)
    assert found['distance of the centroid'] == pytest.approx(0, abs=1e-3)
    assert found['elongation'] == pytest.approx(0, abs=1e-3) and found['jumps'] == 0


def test_shape_statistics_of_a_corridor():
    angles = np.linspace(-np.pi, np.pi, 3601)
    with np.errstate(divide='ignore'):
        corridor = np.minimum(1.0, 0.1 / np.abs(np.sin(angles)))
    found = dict(zip(SHAPE_STATISTICS, _shape_statistics(angles, corridor)))
    assert found['elongation'] > 0.5 and found['smallest range'] == pytest.approx(0.1, abs=1e-4)
    assert 0 < found['free fraction'] < 0.2


@pytest.mark.parametrize('parameters', [
    {'sectors': 0}, {'field_of_view': (1.0,)}, {'field_of_view': (1.0, -1.0)},
    {'field_of_view': (0.0, 7.0)}, {'max_range': -1.0}, {'max_range': NAN}])
def test_unusable_parameters_are_rejected(parameters):
    with pytest.raises(ExtractorError):
        LaserProfile(**parameters)


BOX = (-5.0, 5.0, -4.0, 4.0, -1.0, 3.0)


@pytest.mark.parametrize('layers,cells', [(16, 8), (5, 3), (1, 1)])
def test_shares_equal_numpys_histograms(layers, cells):
    points = np.random.default_rng(0).normal(0, 3, (5000, 3))
    low, high = np.array(BOX[::2]), np.array(BOX[1::2])
    inside = points[np.all((points >= low) & (points < high), axis=1)]
    heights, _ = np.histogram(inside[:, 2], layers, range=(low[2], high[2]))
    ground, _, _ = np.histogram2d(
        inside[:, 0], inside[:, 1], cells, range=[(low[0], high[0]), (low[1], high[1])])
    expected = np.concatenate([
        heights / len(inside), ground.ravel() / len(inside), [len(inside) / len(points)]])
    found = CloudHistogram(layers=layers, cells=cells, box=BOX)(points)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@settings(max_examples=100, deadline=None)
@given(points=hnp.arrays(
    st.sampled_from([np.float32, np.float64]), st.tuples(st.integers(1, 50), st.just(3)),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True)))
def test_any_cloud_with_a_point_gives_shares(points):
    extractor = CloudHistogram()
    if not np.isfinite(points).all(axis=1).any():
        with pytest.raises(BadSensorDataError):
            extractor(points)
        return
    vector = extractor(points)
    assert vector.shape == (extractor.width,) and np.isfinite(vector).all()
    inside = 1.0 if vector[-1] > 0 else 0.0
    assert vector[:16].sum() == pytest.approx(inside) == vector[16:-1].sum()


def test_missing_points_do_not_count():
    points = np.array([[0, 0, 0], [np.nan, 0, 0], [0, 0, np.inf]])
    np.testing.assert_array_equal(CloudHistogram()(points), CloudHistogram()(points[:1]))


def test_a_cloud_outside_the_box_is_all_zero():
    assert not CloudHistogram()(np.full((4, 3), 100.0)).any()


@pytest.mark.parametrize('parameters', [
    {'layers': 0}, {'cells': 101}, {'box': (0.0, 1.0)}, {'box': (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)}])
def test_unusable_parameters_of_clouds_are_rejected(parameters):
    with pytest.raises(ExtractorError):
        CloudHistogram(**parameters)
