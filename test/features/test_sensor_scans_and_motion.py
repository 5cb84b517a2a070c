# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Laser scans, IMU and joint messages to arrays, good and bad ones."""

import math

import numpy as np
import pytest
import sensor_messages as messages
from hypothesis import given
from hypothesis import strategies as st

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays import imu_sample, joint_sample, laser_beams

NAN = math.nan


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
def test_a_senseless_range_min_limits_nothing(range_min):
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


def test_an_imu_that_measured_nothing_is_refused():
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
