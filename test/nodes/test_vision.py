# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions in the form of vision_msgs, where that package is installed."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('vision_msgs', reason='vision_msgs is not installed; it comes with ROS 2')

from classifier_partner import ClassifierPartner, values_of

pytestmark = pytest.mark.slow


def test_all_labels_come_best_first_with_scores_from_0_to_1(start_process, ros, tmp_path):
    from vision_msgs.msg import Classification
    start_process('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}', '-p',
                  'activation:=relu', '-p', 'scaling:=none', '-p', 'hidden_size:=30')
    partner = ClassifierPartner(ros)
    heard = []
    partner.node.create_subscription(  # Reliable, as most subscribers are.
        Classification, '/proemlc/classification', heard.append, 10)
    try:
        partner.wait_until_ready()
        partner.spin_until(lambda: partner.node.count_publishers('/proemlc/classification'))
        for number in range(6):
            assert partner.annotate(labels=['cup', 'plate'][number % 2:][:1],
                                    features=values_of(number)).success

        def sent_and_heard():
            partner.send(3.5, values_of(0))
            partner.spin_for(0.2)
            return heard
        message = partner.spin_until(sent_and_heard)[-1]
        assert (message.header.stamp.sec, message.header.frame_id) == (3, 'camera')
        assert [result.class_id for result in message.results] == ['cup', 'plate']
        scores = [result.score for result in message.results]
        assert 1.0 >= scores[0] > 0.5 > scores[1] >= 0.0
    finally:
        partner.close()


def test_a_detectors_boxes_come_out_with_labels(start_process, feature_node, ros, tmp_path):
    from functools import partial

    from proemlc_ros.msg import LabelAnnotation, Region
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import Image
    from test_region_chain import FEATURES, compare_offline, shown, table, warm_up
    from vision_msgs.msg import Detection2DArray, LabelInfo
    start_process('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}/models')
    feature_node(FEATURES + '      regions_type: vision_msgs/Detection2DArray\n')
    partner = ClassifierPartner(ros)
    node, heard, info, record = partner.node, [], [], []
    node.create_subscription(Detection2DArray, '/proemlc/detections', heard.append, 50)
    node.create_subscription(LabelInfo, '/proemlc/label_info', info.append, QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    images = node.create_publisher(Image, 'image', 10)
    found = node.create_publisher(Detection2DArray, 'found', 10)

    def detect(number):
        message, boxes = table(number)
        array = detections_of(message, boxes)
        images.publish(message)
        found.publish(array)
        record.extend((('/image', message), ('/found', array)))
        return array, boxes

    def answered(stamp):
        return [one for one in heard if one.header.stamp == stamp]
    try:
        partner.wait_until_ready()
        partner.spin_until(lambda: images.get_subscription_count() and (
            found.get_subscription_count()
            and node.count_publishers('/proemlc/detections')
            and node.count_publishers('/proemlc/features') > 1))
        warm_up(partner, lambda: detect(-1))
        record.clear()
        for number in range(6):
            array, boxes = detect(number)
            partner.spin_until(partial(answered, array.header.stamp))
            for name, box in boxes.items():
                taught = LabelAnnotation(header=array.header, labels=[name], complete=True)
                taught.region = Region(
                    id=box.id, center_x=box.center_x, center_y=box.center_y,
                    size_x=box.size_x, size_y=box.size_y)
                assert partner.annotate(1.0 + number / 8, [name], region=taught.region).success
                record.append(('/proemlc/annotations', taught))
        array, _ = detect(6)
        (answer,) = partner.spin_until(partial(answered, array.header.stamp))
        assert answer.header == array.header
        assert [one.bbox for one in answer.detections] == [
            one.bbox for one in array.detections]
        assert [one.id for one in answer.detections] == [one.id for one in array.detections]
        for one in answer.detections:
            (result,) = one.results
            assert result.hypothesis.class_id == one.id.split()[0]
            assert 0.0 < result.hypothesis.score <= 1.0
        partner.spin_until(lambda: [one.class_name for one in info[-1].class_map] == [
            'cup', 'plate'])
        (tmp_path / 'features.yaml').write_text(
            f'/**:\n  ros__parameters:\n{FEATURES}'
            '      regions_type: vision_msgs/Detection2DArray\n')
        write_bag(tmp_path / 'bag', record)
        compare_offline(tmp_path / 'bag', shown(partner.heard['predictions']), '--sensors',
                        str(tmp_path / 'features.yaml'))
    finally:
        partner.close()


def detections_of(picture, boxes):
    """Return what a detector says about a picture."""
    from vision_msgs.msg import Detection2D, Detection2DArray
    array = Detection2DArray(header=picture.header)
    for box in boxes.values():
        one = Detection2D(header=picture.header, id=box.id)
        one.bbox.center.position.x, one.bbox.center.position.y = box.center_x, box.center_y
        one.bbox.size_x, one.bbox.size_y = box.size_x, box.size_y
        array.detections.append(one)
    return array


def write_bag(folder, record):
    """Write messages as they were sent: topics and messages, in their order."""
    from ament_index_python.packages import get_package_share_path
    from rclpy.serialization import serialize_message
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    types = get_typestore(Stores.ROS2_JAZZY)
    for package in ('vision_msgs', 'proemlc_ros'):
        for path in (get_package_share_path(package) / 'msg').glob('*.msg'):
            types.register(get_types_from_msg(path.read_text(), f'{package}/msg/{path.stem}'))
    with Writer(folder, version=9) as bag:
        connections = {}
        for time, (topic, message) in enumerate(record, start=10**9):
            kind = type(message)
            name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
            if topic not in connections:
                connections[topic] = bag.add_connection(topic, name, typestore=types)
            bag.write(connections[topic], time, serialize_message(message))
