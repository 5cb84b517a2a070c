# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature node's work without ROS: several sensors, limits, and bad messages."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import sensor_messages as messages
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor
from proemlc_ros.features.pipeline import (
    MOST_WAITING,
    FeaturePipeline,
    Sensor,
    _StampJoiner,
    _Throttle,
)
from proemlc_ros.features.registry import make_extractor

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND


def joiner(streams=2, tolerance=50, patience=200):
    """Return a joiner; times in milliseconds."""
    return _StampJoiner(streams, tolerance * MILLISECOND, patience * MILLISECOND)


def push(join, stream, milliseconds):
    """Push an item that is its own stamp, and return what came out, in milliseconds."""
    return [items for _, items in join.push(stream, milliseconds * MILLISECOND, milliseconds)]


def test_one_stream_passes_through():
    join = joiner(streams=1)
    assert push(join, 0, 5) == [[5]] and push(join, 0, 5) == [[5]]


def test_the_nearest_joins_even_when_it_comes_later():
    join = joiner()
    assert push(join, 1, 60) == []
    assert push(join, 0, 100) == []          # 60 is in reach, but a nearer one may come
    assert push(join, 1, 110) == [[100, 110]]


def test_an_item_may_join_twice():
    join = joiner()
    push(join, 1, 100)
    assert push(join, 0, 95) == [[95, 100]]
    push(join, 0, 110)
    assert push(join, 1, 200) == [[110, 100]]


def test_a_leader_without_a_match_is_dropped_and_counted():
    join = joiner()
    push(join, 0, 100)
    assert push(join, 1, 300) == []
    assert join.dropped == [0, 1]
    assert push(join, 0, 320) == [] and push(join, 1, 325) == [[320, 325]]


def test_a_silent_stream_holds_leaders_only_for_the_patience():
    join = joiner()
    push(join, 1, 90)
    assert push(join, 0, 100) == [] and push(join, 0, 300) == []
    assert push(join, 0, 301) == [[100, 90]]  # beyond the patience: the best there is


def test_three_streams():
    join = joiner(streams=3)
    push(join, 0, 100), push(join, 1, 104)
    assert push(join, 2, 101) == [[100, 104, 101]]


def test_a_clock_that_jumps_back_starts_the_join_again():
    join = joiner()
    push(join, 0, 100_000)
    assert push(join, 0, 50) == [] and push(join, 1, 60) == [[50, 60]]
    assert join.dropped == [0, 0]


def test_what_waits_is_bounded():
    join = joiner(patience=10**6)
    for k in range(2 * MOST_WAITING):
        push(join, 0, k)
    assert join.dropped[1] == MOST_WAITING
    join = joiner()
    for k in range(2 * MOST_WAITING):
        push(join, 1, 10**6 + k)
    assert push(join, 0, 10**6 + 2 * MOST_WAITING - 1) == [[10**6 + 1999, 10**6 + 1999]]


@settings(max_examples=200, deadline=None)
@given(leaders=st.lists(st.integers(0, 3000), min_size=1, max_size=25, unique=True),
       followers=st.lists(st.integers(0, 3000), max_size=25, unique=True))
def test_streams_that_arrive_in_stamp_order_join_with_the_nearest(leaders, followers):
    join = joiner()
    arrivals = sorted([(stamp, 0) for stamp in leaders] + [(stamp, 1) for stamp in followers])
    found = [items for stamp, stream in arrivals for items in push(join, stream, stamp)]
    found += push(join, 1, 100_000)
    for leader, follower in found:
        assert abs(leader - follower) <= 50
        assert abs(leader - follower) == min(abs(leader - other) for other in followers)
    in_reach = [stamp for stamp in leaders if any(abs(stamp - other) <= 50 for other in followers)]
    assert sorted(leader for leader, _ in found) == sorted(in_reach)
    assert join.dropped[1] == len(leaders) - len(in_reach)


@pytest.mark.parametrize('rate,limit,expected', [
    (30, 20, 20), (30, 10, 10), (30, 30, 30), (10, 30, 10), (100, 33, 33), (7, 0, 7)])
def test_rate_limit_keeps_the_mean_rate(rate, limit, expected):
    throttle = _Throttle(limit)
    passed = sum(throttle.allows(5 * SECOND + k * SECOND // rate) for k in range(rate * 10))
    assert passed == pytest.approx(expected * 10, abs=1)


def test_rate_limit_allows_no_burst_after_a_pause():
    throttle = _Throttle(10)
    assert throttle.allows(0)
    passed = [throttle.allows(100 * SECOND + k * MILLISECOND) for k in range(45)]
    assert passed == [True, *[False] * 44]


def test_rate_limit_follows_a_clock_that_jumps_back():
    throttle = _Throttle(10)
    assert throttle.allows(100 * SECOND) and throttle.allows(3 * SECOND)
    assert not throttle.allows(3 * SECOND + 20 * MILLISECOND)


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
