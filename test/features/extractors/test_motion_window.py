# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""IMU and joint windows over real messages: order, names, gaps, clocks."""

import numpy as np
import pytest
import sensor_messages as messages

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractors.motion_window import ImuWindow, JointWindow, MotionSample
from proemlc_ros.features.sensor_arrays import imu_sample, joint_sample

SECOND = 1_000_000_000


def feed(extractor, samples):
    """Pass all samples and return the last vector."""
    for sample in samples:
        vector = extractor(sample)
    return vector


def test_imu_vector_has_eight_channels_of_statistics_and_bands():
    extractor = ImuWindow()
    vector = feed(extractor, (
        imu_sample(messages.imu(turn=(k, 0.0, 0.0), stamp=k * SECOND // 50)) for k in range(50)))
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
        one = straight(joint_sample(messages.joints(names, position=row, stamp=stamp)))
        two = shuffled(joint_sample(
            messages.joints(names[order], position=row[order], stamp=stamp)))
    np.testing.assert_array_equal(one, two)
    assert straight.name == shuffled.name == 'joint_window/1(joints=a,b,c)'


def test_a_missing_joint_leaves_the_others_and_its_own_past():
    extractor = JointWindow(joints=('a', 'b'), fields=('position',), bands=0)
    feed(extractor, [joint_sample(messages.joints(['a', 'b'], [1.0, 5.0], stamp=SECOND))])
    vector = feed(extractor, [
        joint_sample(messages.joints(['a'], [3.0], stamp=SECOND + SECOND // 10))])
    assert vector[:4].tolist() == [2, 1, 1, 3]
    assert vector[5:9].tolist() == [5, 0, 5, 5]


def test_joints_of_two_publishers_on_one_topic_come_together():
    extractor = JointWindow(joints=('arm', 'base'), fields=('position',), bands=0)
    vector = feed(extractor, [
        joint_sample(messages.joints(['arm'], [2.0], stamp=SECOND)),
        joint_sample(messages.joints(['base'], [7.0], stamp=SECOND))])
    assert vector[0] == 2 and vector[5] == 7


def test_a_message_without_any_wanted_joint_is_rejected():
    with pytest.raises(BadSensorDataError) as caught:
        JointWindow(joints=('a',))(joint_sample(messages.joints(['z'], [1.0])))
    assert caught.value.cause == 'no_known_joint'


def test_old_samples_leave_the_window():
    extractor = ImuWindow(seconds=1.0)
    feed(extractor, [imu_sample(messages.imu(turn=(9.0, 0.0, 0.0), stamp=0))])
    vector = feed(extractor, [imu_sample(messages.imu(turn=(1.0, 0.0, 0.0), stamp=2 * SECOND))])
    assert vector[0] == 1


def test_a_clock_that_jumps_back_starts_the_window_again():
    extractor = ImuWindow(seconds=1.0)
    feed(extractor, [imu_sample(messages.imu(turn=(9.0, 0.0, 0.0), stamp=100 * SECOND))])
    vector = feed(extractor, [imu_sample(messages.imu(turn=(1.0, 0.0, 0.0), stamp=5 * SECOND))])
    assert vector[0] == 1


def test_late_samples_are_sorted_in():
    straight, disordered = ImuWindow(), ImuWindow()
    samples = [imu_sample(messages.imu(turn=(k, 0.0, 0.0), stamp=k * SECOND // 20))
               for k in range(20)]
    swapped = list(samples)
    swapped[5], swapped[6] = swapped[6], swapped[5]
    np.testing.assert_array_equal(feed(straight, samples), feed(disordered, swapped))


def test_observe_counts_without_computing():
    observed, called = ImuWindow(), ImuWindow()
    samples = [imu_sample(messages.imu(turn=(k, 0.0, 0.0), stamp=k * SECOND // 50))
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
