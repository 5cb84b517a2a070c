# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Laser scans, IMU, joint states and point clouds to arrays, good and bad ones."""

import math

import numpy as np
import pytest
import sensor_messages as messages
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays import (
    FIELD_TYPES,
    cloud_points,
    imu_sample,
    joint_sample,
    laser_beams,
)

NAN = math.nan
XYZ = [('x', 0, 7, 1), ('y', 4, 7, 1), ('z', 8, 7, 1)]


@given(count=st.integers(1, 500))
def test_beams_have_the_angles_of_the_message(count):
    beams = laser_beams(messages.scan(np.arange(count), angle_min=-1.0, increment=0.01))
    np.testing.assert_allclose(beams.angles, [-1.0 + 0.01 * k for k in range(count)], atol=1e-9)
    np.testing.assert_array_equal(beams.ranges, np.arange(count))


@pytest.mark.parametrize('cause,fields', [
    ('empty_scan', {'ranges': []}),
    ('bad_angles', {'increment': 0.0}),
    ('bad_angles', {'increment': NAN}),
    ('bad_angles', {'angle_min': math.inf, 'increment': 0.1}),
    ('bad_angles', {'increment': 1.0, 'ranges': [1.0] * 360}),
])
def test_bad_scans_say_what_is_wrong(cause, fields):
    with pytest.raises(BadSensorDataError) as caught:
        laser_beams(messages.scan(**{'ranges': [1.0, 2.0], **fields}))
    assert caught.value.cause == cause


@pytest.mark.parametrize('range_min', [NAN, -1.0])
def test_a_negative_or_missing_range_min_limits_nothing(range_min):
    assert laser_beams(messages.scan([1.0, 2.0], range_min=range_min)).range_min == 0


def test_imu_channels():
    sample = imu_sample(messages.imu((1.0, 2.0, 2.0), (0.0, 3.0, 4.0), stamp=5))
    assert sample.stamp == 5
    assert sample.values['angular_velocity.norm'] == 3
    assert sample.values['linear_acceleration.z'] == 4
    assert sample.values['linear_acceleration.norm'] == 5


@pytest.mark.parametrize('message', [
    messages.imu(measured=(False, True)), messages.imu(turn=(NAN, 0.0, 0.0))])
def test_what_the_imu_did_not_measure_is_left_out(message):
    values = imu_sample(message).values
    assert 'angular_velocity.x' not in values and values['linear_acceleration.z'] == 9.81


def test_an_imu_that_measured_nothing_is_rejected():
    with pytest.raises(BadSensorDataError) as caught:
        imu_sample(messages.imu(measured=(False, False)))
    assert caught.value.cause == 'empty_imu'


def test_joints_are_named_and_empty_fields_are_allowed():
    sample = joint_sample(messages.joints(['a/b', 'c'], position=[1, 2], effort=[3, NAN]))
    assert sample.values['a/b/position'] == 1 and sample.values['c/position'] == 2
    assert sample.values['a/b/effort'] == 3 and math.isnan(sample.values['c/effort'])
    assert 'c/velocity' not in sample.values


@pytest.mark.parametrize('cause,names,position', [
    ('empty_joints', [], []), ('empty_joints', ['a'], []), ('bad_joints', ['a'], [1, 2]),
    ('bad_joints', ['a', 'b'], [1])])
def test_bad_joint_states_say_what_is_wrong(cause, names, position):
    with pytest.raises(BadSensorDataError) as caught:
        joint_sample(messages.joints(names, position=position))
    assert caught.value.cause == cause


@st.composite
def layouts(draw):
    """Draw types, order and gaps of the fields of a point."""
    order = draw(st.permutations(['x', 'y', 'z', 'rgb', 'intensity']))
    fields, offset = [], draw(st.integers(0, 3))
    for name in order:
        datatype = draw(st.integers(1, 8))
        fields.append((name, offset, datatype, draw(st.integers(0, 1))))
        offset += np.dtype(FIELD_TYPES[datatype]).itemsize + draw(st.integers(0, 5))
    return fields, offset + draw(st.integers(0, 9))


@settings(max_examples=150, deadline=None)
@given(layout=layouts(), height=st.integers(1, 4), width=st.integers(1, 6),
       padding=st.integers(0, 5), bigendian=st.booleans(), seed=st.integers(0, 1000))
def test_points_are_read_by_the_clouds_own_layout(
        layout, height, width, padding, bigendian, seed):
    fields, point_step = layout
    rng = np.random.default_rng(seed)
    row_step = width * point_step + padding
    raw = bytearray(rng.integers(0, 256, height * row_step, dtype=np.uint8).tobytes())
    expected = np.empty((height, width, 3))
    for row in range(height):
        for column in range(width):
            for name, offset, datatype, _ in fields:
                kind = np.dtype(('>' if bigendian else '<') + FIELD_TYPES[datatype])
                value = np.array(rng.integers(0, 100), kind)
                place = row * row_step + column * point_step + offset
                raw[place:place + kind.itemsize] = value.tobytes()
                if name in 'xyz':
                    expected[row, column, 'xyz'.index(name)] = value
    cloud = messages.cloud(raw, fields, width, point_step, height, row_step, bigendian)
    np.testing.assert_array_equal(cloud_points(cloud), expected.reshape(-1, 3))


def test_missing_points_of_an_organised_cloud_stay_nan():
    points = np.array([[1, 2, 3], [np.nan] * 3, [4, 5, 6], [7, 8, 9]], '<f4')
    found = cloud_points(messages.cloud(points.tobytes(), XYZ, 2, 12, height=2))
    np.testing.assert_array_equal(found, points)


@pytest.mark.parametrize('cause,changes', [
    ('empty_cloud', {'width': 0}),
    ('empty_cloud', {'height': 0}),
    ('truncated_cloud', {'width': 3}),
    ('truncated_cloud', {'height': 2**32 - 1}),
    ('bad_cloud_layout', {'height': 2, 'row_step': 3}),
    ('bad_cloud_layout', {'point_step': 11}),
    ('bad_cloud_layout', {'point_step': 0}),
    ('bad_cloud_layout', {'fields': [*XYZ[:2], ('z', 8, 9, 1)]}),
    ('bad_cloud_layout', {'fields': [*XYZ[:2], ('z', 8, 7, 3)]}),
    ('bad_cloud_layout', {'fields': [*XYZ[:2], ('z', 2**32 - 1, 7, 1)]}),
    ('missing_fields', {'fields': XYZ[:2]}),
    ('missing_fields', {'fields': []}),
])
def test_bad_clouds_say_what_is_wrong(cause, changes):
    usual = {'data': bytes(24), 'fields': XYZ, 'width': 2, 'point_step': 12}
    with pytest.raises(BadSensorDataError) as caught:
        cloud_points(messages.cloud(**{**usual, **changes}))
    assert caught.value.cause == cause
