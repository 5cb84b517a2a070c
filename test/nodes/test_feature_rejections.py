# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bad messages and parameters: the feature node counts and names them, and goes on."""

from array import array

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from damaged_messages import damaged
from proemlc_ros.msg import Region, RegionArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image, LaserScan, PointCloud2, PointField
from sensor_partner import CAMERA, exchange, picture, stamped

from proemlc_ros.features.registry import make_extractor


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


def test_bad_images_are_counted_warned_of_once_and_survived(feature_node, partner):
    node = feature_node(CAMERA)
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
    # One warning per cause and minute, though each came often; a late publisher has one too.
    assert len([line for line in node.output.splitlines()
                if 'WARN' in line and 'Nobody publishes' not in line]) == len(causes)
    assert 'need' in node.output and "'nonsense'" in node.output


@pytest.mark.parametrize('reliability', ['RELIABLE', 'BEST_EFFORT'])
def test_pictures_that_cannot_be_read_are_survived(feature_node, partner, reliability):
    feature_node(CAMERA)
    profile = QoSProfile(depth=10, reliability=ReliabilityPolicy[reliability])
    publisher = partner.linked_publisher(Image, 'image', profile)
    good, _ = picture()
    for number, message in enumerate(damaged(good), 2):
        publisher.publish(message)
        exchange(partner, publisher, picture(stamp=float(number))[0])


def test_bad_clouds_are_counted_and_survived(feature_node, partner):
    feature_node("""
    sensors: [lidar]
    lidar: {topic: points, extractor: cloud_histogram}
""")
    publisher = partner.linked_publisher(PointCloud2, 'points')
    fields = [PointField(name=n, offset=4 * k, datatype=7, count=1) for k, n in enumerate('xyz')]
    usual = {'height': 1, 'width': 2, 'point_step': 12, 'row_step': 24, 'fields': fields,
             'data': array('B', bytes(24))}
    bad = {'bad_cloud_layout': {'point_step': 5}, 'missing_fields': {'fields': fields[:2]},
           'truncated_cloud': {'width': 1000}, 'empty_cloud': {'width': 0}}

    def all_counted():
        for changes in bad.values():
            publisher.publish(stamped(PointCloud2(**{**usual, **changes}), 1.0))
        return all(partner.value(f'lidar: rejected, {cause}') for cause in bad)

    assert partner.wait(all_counted), partner.status
    found = exchange(partner, publisher, stamped(PointCloud2(**usual), 2.0))
    assert len(found.data) == 81


def test_bad_scans_are_counted_and_survived(feature_node, partner):
    feature_node("""
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


def test_an_incompatible_publisher_is_named_with_the_remedy(feature_node, partner):
    node = feature_node(CAMERA + '      reliability: reliable\n')
    assert partner.wait(lambda: partner.status is not None), node.output
    partner.create_publisher(
        Image, 'image', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    assert partner.wait(lambda: 'camera.reliability to best_effort' in node.output), node.output
    assert partner.wait(lambda: 'reliability' in partner.status.message)


def test_another_type_on_the_topic_is_named_with_the_remedy(feature_node, partner):
    node = feature_node(CAMERA)
    partner.create_publisher(CompressedImage, 'image', 10)
    assert partner.wait(lambda: 'set the parameter camera.type' in node.output), node.output
    assert partner.wait(lambda: partner.status and 'CompressedImage' in partner.status.message)


def test_a_missing_publisher_shows_in_diagnostics(feature_node, partner):
    feature_node(CAMERA)
    assert partner.wait(lambda: partner.status and 'no publisher' in partner.status.message)


@pytest.mark.parametrize('parameters,text', [
    ('    x: 1\n', 'sensors'),
    ('    sensors: [camera]\n', 'camera.topic'),
    (CAMERA + '      gird: 5\n', 'no parameter gird'),
    (CAMERA + '      grid: 500\n', 'between 1 and 64'),
    (CAMERA + '      reliability: perfect\n', 'best_effort or reliable'),
])
def test_wrong_parameters_end_the_node_with_one_line(feature_node, partner, parameters, text):
    node = feature_node(parameters)
    assert node.wait() == 1
    assert text in node.output and 'Traceback' not in node.output


def test_a_misspelt_parameter_stops_the_start(feature_node):
    node = feature_node(CAMERA + '    tolerence: 0.2\n')
    assert node.wait() == 1
    assert 'not a parameter of this node: tolerence' in node.output
    assert '/**/features' in node.output


BOX = {'center_x': 30.0, 'center_y': 20.0, 'size_x': 20.0, 'size_y': 20.0}


def hostile_boxes():
    """Yield boxes with every field beyond its bounds, and the cause they are counted by."""
    for text in ('x' * 10**6, 'a\x1b[2J', 'a\n[FATAL] [features]: gone', '\u202e'):
        yield 'bad_region_id', [Region(id=text, **BOX)]
    for name in BOX:
        for value in (float('nan'), float('inf')):
            yield 'region_not_finite', [Region(**{**BOX, name: value})]
    yield 'region_without_size', [Region(**{**BOX, 'size_x': 0.0})]
    yield 'region_without_size', [Region(**{**BOX, 'size_y': -5.0})]
    yield 'region_outside', [Region(**{**BOX, 'center_x': 1e30})]
    yield 'too_many_regions', [Region(**{**BOX, 'size_x': 10.0 + number / 500})
                               for number in range(5000)]


def test_every_field_of_drawn_boxes_has_bounds(feature_node, partner):
    node = feature_node(CAMERA)
    images = partner.linked_publisher(Image, 'image')
    drawn = partner.linked_publisher(RegionArray, 'features/regions')
    hostile = list(hostile_boxes())
    causes = {cause for cause, _ in hostile}
    shown = 10.0

    def each_counted():
        nonlocal shown
        shown += 1.0
        images.publish(picture(stamp=shown)[0])
        for _, boxes in hostile:
            drawn.publish(stamped(RegionArray(regions=boxes), shown))
            partner.wait(lambda: False, 0.02)  # the queue is short, as a page draws slowly
        return all(f'regions rejected, {cause}' in node.output for cause in causes)

    assert partner.wait(each_counted), (causes, node.output)
    exchange(partner, images, picture(stamp=shown + 9)[0])
    lines = node.output.splitlines()
    assert max(map(len, lines)) < 800 and all(line.isprintable() for line in lines)
