# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature node's work without ROS: several sensors, limits, and bad messages."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import sensor_messages as messages

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor
from proemlc_ros.features.pipeline import FeaturePipeline, Sensor
from proemlc_ros.features.registry import make_extractor

SECOND = 1_000_000_000


def camera(max_rate=0.0, **parameters):
    """Return a camera with colour moments."""
    return Sensor('camera', '/camera', 'sensor_msgs/msg/Image',
                  make_extractor('colour_moments', {'grid': 2, **parameters}), max_rate)


def lidar():
    """Return a laser scanner with its profile."""
    return Sensor('lidar', '/scan', 'sensor_msgs/msg/LaserScan',
                  make_extractor('laser_profile', {'sectors': 4}))


def picture(stamp, value=100):
    """Return a small image of one colour."""
    return messages.image(np.full((8, 8, 3), value, np.uint8), stamp=stamp)


def test_one_sensor_gives_its_own_vectors():
    pipeline = FeaturePipeline([camera()])
    (sample,) = pipeline.push('camera', picture(5))
    assert sample.stamp == 5 and sample.frame_id == 'sensor'
    assert sample.extractor == 'colour_moments/1(grid=2)' and sample.values.shape == (24,)


def test_two_sensors_join_under_the_first_ones_stamp():
    pipeline = FeaturePipeline([camera(), lidar()], tolerance=0.1)
    assert pipeline.push('camera', picture(SECOND)) == []
    (sample,) = pipeline.push('lidar', messages.scan([5.0] * 10, stamp=SECOND + SECOND // 20))
    assert sample.stamp == SECOND and sample.values.shape == (28,)
    assert sample.values.dtype == np.float32
    np.testing.assert_allclose(sample.values[-4:], 0.5)
    assert sample.extractor == 'colour_moments/1(grid=2)+laser_profile/1(sectors=4)'


def test_a_lost_sensor_is_counted():
    pipeline = FeaturePipeline([camera(), lidar()])
    for k in range(10):
        assert pipeline.push('camera', picture((k + 1) * SECOND)) == []
    assert pipeline.unjoined == {'camera': 0, 'lidar': 9}


def test_rate_limit_skips_images_before_work_is_done():
    pipeline = FeaturePipeline([camera(max_rate=10.0)])
    samples = [pipeline.push('camera', picture(SECOND + k * SECOND // 30)) for k in range(30)]
    assert sum(map(len, samples)) == 10 and pipeline.received['camera'] == 30


def test_limited_windows_still_see_every_sample():
    extractor = make_extractor('imu_window', {'bands': 0})
    pipeline = FeaturePipeline([Sensor('imu', '/imu', 'sensor_msgs/msg/Imu', extractor, 5.0)])
    samples = [pipeline.push('imu', messages.imu((k, 0.0, 0.0), stamp=SECOND + k * SECOND // 50))
               for k in range(11)]
    assert [len(found) for found in samples] == [1, *[0] * 9, 1]
    assert samples[-1][0].values[0] == 5  # the mean of 0 to 10


def test_bad_messages_are_counted_and_change_nothing():
    pipeline = FeaturePipeline([camera()])
    broken = picture(SECOND)
    broken.step = 1
    for _ in range(3):
        with pytest.raises(BadSensorDataError):
            pipeline.push('camera', broken)
    assert pipeline.rejected == {('camera', 'bad_step'): 3}
    assert len(pipeline.push('camera', picture(SECOND))) == 1


def test_arrival_stands_in_for_a_stamp_of_zero():
    (sample,) = FeaturePipeline([camera()]).push('camera', picture(0), arrival=77)
    assert sample.stamp == 77


@dataclass(frozen=True)
class Broken(Extractor):
    """An extractor with a mistake in it."""

    kind: ClassVar[str] = 'broken'
    version: ClassVar[int] = 1
    sensor: ClassVar[str] = 'image'
    description: ClassVar[str] = 'fails'

    result: float | None = None

    @property
    def width(self):
        """One value."""
        return 1

    def __call__(self, sample):
        """Fail, or give what is not finite."""
        if self.result is None:
            raise ZeroDivisionError('oh')
        return np.array([self.result], np.float32)


@pytest.mark.parametrize('result,cause', [
    (None, 'extractor_failed'), (np.nan, 'not_finite'), (np.inf, 'not_finite')])
def test_an_extractor_that_fails_does_not_stop_the_robot(result, cause):
    sensor = Sensor('camera', '/camera', 'sensor_msgs/msg/Image', Broken(result))
    pipeline = FeaturePipeline([sensor])
    with pytest.raises(BadSensorDataError) as caught:
        pipeline.push('camera', picture(1))
    assert caught.value.cause == cause


def test_the_halves_of_the_work_do_what_push_does():
    whole, halves = (FeaturePipeline([camera(max_rate=20.0), lidar()]) for _ in range(2))
    sent = [(name, message) for k in range(12) for name, message in (
        ('camera', picture(SECOND + k * SECOND // 30, 20 * k)),
        ('lidar', messages.scan([5.0 + k] * 10, stamp=SECOND + k * SECOND // 30)))]
    expected = [whole.push(name, message) for name, message in sent]
    # The next message is prepared before the one ahead of it is finished, as in the node.
    found, ahead = [], halves.prepare(*sent[0])
    for name, message in sent[1:]:
        behind = halves.prepare(name, message)
        found.append(halves.finish(ahead))
        ahead = behind
    found.append(halves.finish(ahead))
    assert [[one.stamp for one in some] for some in found] == [
        [one.stamp for one in some] for some in expected]
    for mine, theirs in zip(sum(found, []), sum(expected, []), strict=True):
        np.testing.assert_array_equal(mine.values, theirs.values)


def test_an_error_of_the_first_half_is_raised_by_the_second():
    pipeline = FeaturePipeline([camera()])
    broken = picture(SECOND)
    broken.step = 1
    bad, good = pipeline.prepare('camera', broken), pipeline.prepare('camera', picture(SECOND))
    assert pipeline.received['camera'] == 2 and not pipeline.rejected
    with pytest.raises(BadSensorDataError):
        pipeline.finish(bad)
    assert pipeline.rejected == {('camera', 'bad_step'): 1}
    assert len(pipeline.finish(good)) == 1


@pytest.mark.parametrize('sensors', [[], [camera(), camera()]])
def test_sensors_need_names_of_their_own(sensors):
    with pytest.raises(ExtractorError):
        FeaturePipeline(sensors)
