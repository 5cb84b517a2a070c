# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A detector's boxes over DDS: labels come out, boxes as they were; offline the same."""

import csv
import json
from functools import partial

import numpy as np
import pytest

pytest.importorskip('rclpy')

from proemlc_ros.msg import FeatureVector, Region, RegionArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image
from sensor_partner import picture, stamped

from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.cli.main import main
from proemlc_ros.conversions import annotation_of, stamped_vector_of
from proemlc_ros.stamps import stamp_of

COLOURS = {'cup': (220, 30, 30), 'plate': (30, 40, 210)}
# Overlaps neither the one before nor the other: tracks are none of this test's business.
PLACES = [(16, 12), (48, 36), (48, 12), (16, 36)]
FEATURES = """
    sensors: [camera]
    camera:
      topic: image
      extractor: colour_moments
      grid: 1
      reliability: reliable
      regions: topic
      regions_topic: found
      tracks: false
"""


def table(number):
    """Return a picture with a cup and a plate, and where they are."""
    message, pixels = picture(stamp=1.0 + number / 8, seed=number + 1)
    pixels = pixels // 16 + 100
    boxes = {}
    for place, (name, colour) in enumerate(COLOURS.items()):
        x, y = PLACES[(number + place) % 4]
        pixels[y - 6:y + 6, x - 6:x + 6] = colour
        boxes[name] = Region(id=f'{name} {number}', center_x=float(x), center_y=float(y),
                             size_x=12.0, size_y=12.0)
    message.data = pixels.astype(np.uint8).tobytes()
    return message, boxes


def warm_up(partner, publish):
    """Publish until predictions come; all that is published later has larger stamps."""
    # A subscription that follows its publisher begins anew.
    partner.spin_until(lambda: [
        info.qos_profile.reliability
        for info in partner.node.get_subscriptions_info_by_topic('/found')] == [
            ReliabilityPolicy.RELIABLE])

    def predicted():
        publish()
        partner.spin_for(1.0)
        return partner.heard['predictions']

    partner.spin_until(predicted)


def shown(messages):
    """Return the messages without those of warming up, which may come late."""
    return [one for one in messages if one.header.stamp.sec >= 1]


def heard_count(partner, count):
    return len(partner.heard['learnt']) == count


@pytest.mark.slow
def test_boxes_go_in_and_labels_come_out_live_and_offline(feature_node, classifier, tmp_path):
    # Reliable all the way: what is shown once must not get lost.
    _, partner = classifier('features_reliability:=reliable', qos=QoSProfile(depth=100))
    feature_node(FEATURES)
    vectors, record = [], []
    partner.node.create_subscription(
        FeatureVector, '/proemlc/features', vectors.append, QoSProfile(depth=50))
    images = partner.node.create_publisher(Image, 'image', 10)
    found = partner.node.create_publisher(RegionArray, 'found', 10)
    partner.spin_until(lambda: images.get_subscription_count()
                       and found.get_subscription_count()
                       and partner.node.count_publishers('/proemlc/features') > 1)

    warm_up(partner, lambda: (
        images.publish(stamped(table(0)[0], 0.5)),
        found.publish(stamped(RegionArray(regions=list(table(0)[1].values())), 0.5))))

    def show(number):
        """Publish a picture with its boxes; return the predictions by the names of the boxes."""
        message, boxes = table(number)
        stamp = stamp_of(message.header)
        images.publish(message)
        found.publish(stamped(RegionArray(regions=list(boxes.values())), 1.0 + number / 8))
        heard = partner.heard['predictions']
        predictions = partner.spin_until(lambda: [
            one for one in heard if stamp_of(one.header) == stamp][1:] and [
            one for one in heard if stamp_of(one.header) == stamp])
        assert {one.region.id: one.region for one in predictions} == {
            box.id: box for box in boxes.values()}
        assert {one.region_count for one in predictions} == {2}
        partner.spin_until(lambda: len(shown(vectors)) >= 2 * (number + 1))
        record.extend(stamped_vector_of(one) for one in shown(vectors)[-2:])
        return {one.region.id.split()[0]: one for one in predictions}, boxes

    taught = 0
    for number in range(6):
        _, boxes = show(number)
        for name, box in boxes.items():
            # By the box alone, as a program that rounds and has no ids.
            rounded = Region(center_x=box.center_x + 0.2, center_y=box.center_y,
                             size_x=box.size_x, size_y=box.size_y)
            answer = partner.annotate(1.0 + number / 8, [name], region=rounded)
            assert answer.success, answer.message
            taught += 1
            partner.spin_until(partial(heard_count, partner, taught))
            record.append(annotation_of(partner.heard['learnt'][-1]))
            assert partner.heard['learnt'][-1].region == box
    refused = partner.annotate(1.0 + 5 / 8, ['cup'])
    assert not refused.success and '2 regions' in refused.message
    predictions, _ = show(6)
    assert {name: list(one.labels) for name, one in predictions.items()} == {
        'cup': ['cup'], 'plate': ['plate']}
    check_offline(tmp_path, record, shown(partner.heard['predictions']))


def check_offline(folder, record, live):
    """Write the vectors and annotations of a node to a bag, and compare."""
    with BagWriter(folder / 'bag') as bag:
        for time, item in enumerate(record):
            write = bag.write_annotation if hasattr(item, 'labels') else bag.write_vector
            write(item, 10**9 * 100 + time)
    compare_offline(folder / 'bag', live, '--hidden-size', '30', '--activation', 'relu',
                    '--scaling', 'none', '--ridge', '1.0')


def compare_offline(bag, live, *words):
    """Evaluating the same as a bag gives the predictions of the node."""
    predictions = bag.with_name('p.csv')
    assert main(['evaluate', str(bag), *words, '--predictions', str(predictions)]) == 0
    with predictions.open() as file:
        rows = {(row['stamp'], json.loads(row['region'])['id']): row
                for row in csv.DictReader(file)}
    assert len(rows) == len(live)
    for one in live:
        stamp = f'{one.header.stamp.sec}.{one.header.stamp.nanosec:09d}'
        row = rows[stamp, one.region.id]
        assert row['labels'] == ';'.join(one.labels)
        np.testing.assert_allclose(list(json.loads(row['scores']).values()), one.scores,
                                   atol=1e-5)
