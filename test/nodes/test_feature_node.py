# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature node over DDS, in a process of its own."""

import signal
import time
from array import array

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import (
    CompressedImage,
    Image,
    Imu,
    JointState,
    LaserScan,
    PointCloud2,
    PointField,
)
from sensor_partner import CAMERA, exchange, picture, stamped

from proemlc_ros.features.registry import make_extractor


def test_an_image_becomes_the_extractors_own_vector(feature_node, partner):
    feature_node(CAMERA)
    message, pixels = picture()
    found = exchange(partner, partner.linked_publisher(Image, 'image'), message)
    assert found.header == message.header
    assert found.extractor == 'colour_moments/1'
    np.testing.assert_array_equal(found.data, make_extractor('colour_moments')(pixels))


def test_every_kind_of_sensor_arrives(feature_node, partner):
    feature_node("""
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
    for turn in range(90):
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


def test_sensors_of_one_topic_share_a_subscription(feature_node, partner):
    feature_node("""
    sensors: [colours, edges]
    colours: {topic: image, extractor: colour_moments}
    edges: {topic: image, extractor: gradient_histogram}
""")
    message, pixels = picture()
    found = exchange(partner, partner.linked_publisher(Image, 'image'), message)
    np.testing.assert_array_equal(found.data, np.concatenate(
        [make_extractor(name)(pixels) for name in ('colour_moments', 'gradient_histogram')]))
    assert len(partner.get_subscriptions_info_by_topic('image')) == 1


def test_rate_limit_and_diagnostics(feature_node, partner):
    feature_node(CAMERA + '      max_rate: 10.0\n      reliability: reliable\n')
    publisher = partner.linked_publisher(Image, 'image')
    sent = 0
    while not partner.features and sent < 90:  # each but the first is beyond the rate
        publisher.publish(picture(stamp=99.9)[0])
        sent += 1
        partner.wait(lambda: partner.features, 1.0)
    assert partner.wait(lambda: partner.value('camera: received') == str(sent)), partner.status
    assert partner.value('published') == '1'
    # One second of pictures at 30 Hz; of each three the first passes, so its vector shows
    # that the node keeps up.
    for turn in range(10):
        for k in range(3):
            publisher.publish(picture(stamp=100 + turn / 10 + k / 30)[0])
        assert partner.wait(lambda count=turn + 2: len(partner.features) >= count)
    stamps = [found.header.stamp.sec + found.header.stamp.nanosec * 1e-9
              for found in partner.features[1:]]
    np.testing.assert_allclose(stamps, 100 + np.arange(10) / 10, atol=1e-9)
    assert partner.wait(
        lambda: partner.value('camera: received') == str(sent + 30)), partner.status
    assert partner.value('published') == '11'
    assert partner.value('extractor') == 'colour_moments/1'


def test_pictures_stay_in_order_and_a_bad_one_stops_none_behind_it(feature_node, partner):
    feature_node(CAMERA + '      reliability: reliable\n')
    publisher = partner.linked_publisher(Image, 'image')
    exchange(partner, publisher, picture(stamp=9.0)[0])

    def made():
        """Return the vectors of the pictures below; the one above may have come several times."""
        return [found for found in partner.features if found.header.stamp.sec >= 10]

    for turn in range(10):
        # As many as the node may hold at once: none of them is dropped.
        for k in range(4):
            message, _ = picture(stamp=10 + turn + k / 10, seed=k)
            message.step = 7 if k == 1 else message.step
            publisher.publish(message)
        assert partner.wait(lambda count=3 * (turn + 1): len(made()) >= count)
    stamps = [found.header.stamp.sec + found.header.stamp.nanosec * 1e-9 for found in made()]
    np.testing.assert_allclose(
        stamps, [10 + turn + k / 10 for turn in range(10) for k in (0, 2, 3)], atol=1e-6)
    for k, found in zip((0, 2, 3), made()):
        np.testing.assert_array_equal(
            found.data, make_extractor('colour_moments')(picture(seed=k)[1]))


def test_stopping_amid_pictures_is_clean(feature_node, partner):
    node = feature_node(CAMERA)
    publisher = partner.linked_publisher(Image, 'image')
    # Pictures of this size may be lost on a busy machine, however many there are.
    assert partner.wait(lambda: partner.features or publisher.publish(
        picture(stamp=1.0, height=480, width=640)[0]))
    for number in range(30):
        publisher.publish(picture(stamp=2.0 + number, height=480, width=640)[0])
    assert node.stop(signal.SIGINT) == 0, node.output
    assert 'Traceback' not in node.output and 'ERROR' not in node.output


def test_a_stamp_of_zero_gets_the_time_of_arrival(feature_node, partner):
    feature_node(CAMERA)
    before = int(time.time())
    found = exchange(
        partner, partner.linked_publisher(Image, 'image'), picture(stamp=0.0)[0])
    assert before <= found.header.stamp.sec <= time.time()


@pytest.mark.parametrize('signals', [
    (signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_stopping_is_clean(feature_node, partner, signals):
    node = feature_node(CAMERA)
    assert partner.wait(lambda: partner.status is not None), node.output
    for number in signals[:-1]:
        node.process.send_signal(number)
    assert node.stop(signals[-1]) == 0, node.output
    assert 'Traceback' not in node.output
