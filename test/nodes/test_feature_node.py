# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature node over real DDS, in a process of its own."""

import signal
import time
from array import array

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import (
    CompressedImage,
    Image,
    Imu,
    JointState,
    LaserScan,
    PointCloud2,
    PointField,
)
from sensor_partner import SensorPartner

from proemlc_ros.features.registry import make_extractor

CAMERA = """
    sensors: [camera]
    warning_period: 60.0
    camera:
      topic: image
      extractor: colour_moments
"""


@pytest.fixture
def partner(ros):
    """Return the other side of the conversation."""
    node = SensorPartner(ros)
    yield node
    node.destroy_node()


@pytest.fixture
def start(start_process, tmp_path):
    """Return a function that starts a feature node from the text of its parameters."""
    def start_node(parameters):
        path = tmp_path / 'parameters.yaml'
        path.write_text('/**:\n  ros__parameters:\n' + parameters)
        return start_process('feature_node', '--ros-args', '--params-file', path)

    return start_node


def picture(stamp=1.5, seed=0, height=48, width=64):
    """Return an image message of noise and its pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    message = Image(height=height, width=width, step=3 * width, encoding='rgb8')
    message.data = array('B', pixels.tobytes())
    stamped(message, stamp)
    return message, pixels


def stamped(message, seconds, frame='camera_link'):
    """Set the header of a message."""
    message.header.stamp.sec = int(seconds)
    message.header.stamp.nanosec = round((seconds % 1) * 1e9)
    message.header.frame_id = frame
    return message


def exchange(partner, publisher, message):
    """Publish until an answer comes, and return the first."""
    count = len(partner.features)
    for _ in range(20):
        publisher.publish(message)
        if partner.wait(lambda: len(partner.features) > count, 1.0):
            return partner.features[count]
    raise AssertionError('no feature vector came')


def test_an_image_becomes_the_extractors_own_vector(start, partner):
    start(CAMERA)
    message, pixels = picture()
    found = exchange(partner, partner.linked_publisher(Image, 'image'), message)
    assert found.header == message.header
    assert found.extractor == 'colour_moments/1'
    np.testing.assert_array_equal(found.data, make_extractor('colour_moments')(pixels))


def test_every_kind_of_sensor_arrives(start, partner):
    start("""
    sensors: [lidar, pictures, imu, joints, cloud]
    tolerance: 0.5
    lidar: {topic: scan, extractor: laser_profile, sectors: 8}
    pictures: {topic: small, extractor: gradient_histogram, type: sensor_msgs/CompressedImage}
    imu: {topic: imu, extractor: imu_window}
    joints: {topic: joints, extractor: joint_window, joints: [a, b]}
    cloud: {topic: cloud, extractor: cloud_histogram, box: [-1, 1, -1, 1, 0, 2]}
""")
    import cv2
    _, jpeg = cv2.imencode('.jpg', picture()[1])
    points = np.array([[0, 0, 1], [0.5, 0.5, 1.5]], '<f4')
    cloud = PointCloud2(
        height=1, width=2, point_step=12, row_step=24, data=array('B', points.tobytes()),
        fields=[PointField(name=n, offset=4 * k, datatype=7, count=1)
                for k, n in enumerate('xyz')])
    scan = LaserScan(angle_min=-1.0, angle_increment=0.1, range_max=10.0, ranges=[2.0] * 21)
    messages = [
        (scan, 'scan'),
        (CompressedImage(format='jpeg', data=array('B', jpeg.tobytes())), 'small'),
        (Imu(), 'imu'), (JointState(name=['b', 'a'], position=[1.0, 2.0]), 'joints'),
        (cloud, 'cloud')]
    publishers = [(partner.linked_publisher(type(m), t), m) for m, t in messages]
    for turn in range(20):
        for publisher, message in publishers:
            publisher.publish(stamped(message, 1.0 + turn))
        if partner.wait(lambda: partner.features, 1.0):
            break
    found = partner.features[0]
    assert found.extractor == (
        'laser_profile/1(sectors=8)+gradient_histogram/1+imu_window/1+joint_window/1(joints=a,b)'
        '+cloud_histogram/1(box=-1,1,-1,1,0,2)')
    assert len(found.data) == 8 + 144 + 104 + 2 * 2 * 13 + 81
    assert found.data[0] == pytest.approx(0.2) and np.isfinite(found.data).all()


def broken_images():
    """Yield images that are wrong in one way each, with the cause they are counted by."""
    for cause, changes in [
        ('truncated_image', {'data': array('B', bytes(100))}),
        ('truncated_image', {'data': array('B')}),
        ('unknown_encoding', {'encoding': 'nonsense'}),
        ('empty_image', {'width': 0}),
        ('empty_image', {'height': 0, 'width': 0, 'step': 0, 'data': array('B')}),
        ('bad_step', {'step': 7}),
    ]:
        message, _ = picture()
        for name, value in changes.items():
            setattr(message, name, value)
        yield cause, message


def test_bad_images_are_counted_warned_of_once_and_survived(start, partner):
    node = start(CAMERA)
    publisher = partner.linked_publisher(Image, 'image')
    broken = list(broken_images())
    causes = {cause for cause, _ in broken}

    def each_counted_often():
        for _, message in broken:
            publisher.publish(message)
        return all(int(partner.value(f'camera: rejected, {cause}') or 0) >= 3 for cause in causes)

    assert partner.wait(each_counted_often), partner.status
    good, pixels = picture(stamp=9.0)
    found = exchange(partner, publisher, good)
    np.testing.assert_array_equal(found.data, make_extractor('colour_moments')(pixels))
    # One warning a cause in a minute, though each came often.
    assert len([line for line in node.output.splitlines() if 'WARN' in line]) == len(causes)
    assert 'need' in node.output and "'nonsense'" in node.output


def test_odd_clouds_are_counted_and_survived(start, partner):
    start("""
    sensors: [lidar]
    lidar: {topic: points, extractor: cloud_histogram}
""")
    publisher = partner.linked_publisher(PointCloud2, 'points')
    fields = [PointField(name=n, offset=4 * k, datatype=7, count=1) for k, n in enumerate('xyz')]
    usual = {'height': 1, 'width': 2, 'point_step': 12, 'row_step': 24, 'fields': fields,
             'data': array('B', bytes(24))}
    odd = {'bad_cloud_layout': {'point_step': 5}, 'missing_fields': {'fields': fields[:2]},
           'truncated_cloud': {'width': 1000}, 'empty_cloud': {'width': 0}}

    def all_counted():
        for changes in odd.values():
            publisher.publish(stamped(PointCloud2(**{**usual, **changes}), 1.0))
        return all(partner.value(f'lidar: rejected, {cause}') for cause in odd)

    assert partner.wait(all_counted), partner.status
    found = exchange(partner, publisher, stamped(PointCloud2(**usual), 2.0))
    assert len(found.data) == 81


def test_bad_scans_are_counted_and_survived(start, partner):
    start("""
    sensors: [lidar]
    lidar: {topic: scan, extractor: laser_profile}
""")
    publisher = partner.linked_publisher(LaserScan, 'scan')
    good = LaserScan(angle_min=-1.0, angle_increment=0.1, range_max=10.0, ranges=[2.0] * 21)
    blind = LaserScan(range_max=10.0, ranges=[float('nan')] * 5, angle_increment=0.1)

    def both_counted():
        for message in (LaserScan(), blind):
            publisher.publish(stamped(message, 1.0))
        return all(partner.value(f'lidar: rejected, {cause}')
                   for cause in ('empty_scan', 'no_valid_beam'))

    assert partner.wait(both_counted), partner.status
    assert exchange(partner, publisher, stamped(good, 2.0)).data[0] == pytest.approx(0.2)


def test_rate_limit_and_diagnostics(start, partner):
    start(CAMERA.replace('topic: image', 'topic: image\n      max_rate: 10.0'))
    publisher = partner.linked_publisher(Image, 'image')
    exchange(partner, publisher, picture(stamp=10.0)[0])
    for k in range(60):
        publisher.publish(picture(stamp=100 + k / 30)[0])
        partner.wait(lambda: False, 0.02)
    assert partner.wait(lambda: int(partner.value('camera: received') or 0) > 40), partner.status
    stamps = [found.header.stamp.sec + found.header.stamp.nanosec * 1e-9
              for found in partner.features[1:]]
    # Two seconds of pictures at 30 Hz; a lossy sensor topic may lose a few.
    assert 10 <= len(stamps) <= 21
    assert np.diff(stamps).min() > 0.05
    assert partner.wait(lambda: partner.value('published') == str(len(partner.features)))
    assert partner.value('extractor') == 'colour_moments/1'


def test_a_stamp_of_zero_gets_the_time_of_arrival(start, partner):
    start(CAMERA)
    found = exchange(
        partner, partner.linked_publisher(Image, 'image'), picture(stamp=0.0)[0])
    assert abs(found.header.stamp.sec - time.time()) < 60


def test_an_incompatible_publisher_is_named_with_the_way_out(start, partner):
    node = start(CAMERA + '      reliability: reliable\n')
    assert partner.wait(lambda: partner.status is not None)
    partner.create_publisher(
        Image, 'image', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    assert partner.wait(lambda: 'camera.reliability to best_effort' in node.output), node.output
    assert partner.wait(lambda: 'reliability' in partner.status.message)


def test_another_type_on_the_topic_is_named_with_the_way_out(start, partner):
    node = start(CAMERA)
    partner.create_publisher(CompressedImage, 'image', 10)
    assert partner.wait(lambda: 'set the parameter camera.type' in node.output)
    assert partner.wait(lambda: 'CompressedImage' in partner.status.message)


def test_a_missing_publisher_shows_in_diagnostics(start, partner):
    start(CAMERA)
    assert partner.wait(lambda: partner.status and 'no publisher' in partner.status.message)


@pytest.mark.parametrize('parameters,text', [
    ('    x: 1\n', 'sensors'),
    ('    sensors: [camera]\n', 'camera.topic'),
    (CAMERA + '      gird: 5\n', 'no parameter gird'),
    (CAMERA + '      grid: 500\n', 'between 1 and 64'),
    (CAMERA + '      reliability: perfect\n', 'best_effort or reliable'),
])
def test_wrong_parameters_end_the_node_with_one_line(start, partner, parameters, text):
    node = start(parameters)
    assert node.wait() == 1
    assert text in node.output and 'Traceback' not in node.output


def test_parameters_of_others_are_ignored_with_a_warning(start, partner):
    node = start(CAMERA + '    tolerence: 5.0\n')
    node.wait_for('ignored: tolerence')
    node.wait_for('from /image to')


@pytest.mark.parametrize('signals', [
    (signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_stopping_is_clean(start, partner, signals):
    node = start(CAMERA)
    assert partner.wait(lambda: partner.status is not None)
    for number in signals[:-1]:
        node.process.send_signal(number)
    assert node.stop(signals[-1]) == 0, node.output
    assert 'Traceback' not in node.output
