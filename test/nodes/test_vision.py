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

    from proemlc_ros.msg import Region
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import Image
    from test_region_chain import FEATURES, table, warm_up
    from vision_msgs.msg import Detection2D, Detection2DArray, LabelInfo
    start_process('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}/models')
    feature_node(FEATURES + '      regions_type: vision_msgs/Detection2DArray\n')
    partner = ClassifierPartner(ros)
    node, heard, info = partner.node, [], []
    node.create_subscription(Detection2DArray, '/proemlc/detections', heard.append, 50)
    node.create_subscription(LabelInfo, '/proemlc/label_info', info.append, QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    images = node.create_publisher(Image, 'image', 10)
    found = node.create_publisher(Detection2DArray, 'found', 10)

    def detect(number, theta=0.0):
        message, boxes = table(number)
        array = Detection2DArray(header=message.header)
        for box in boxes.values():
            one = Detection2D(header=message.header, id=box.id)
            one.bbox.center.position.x, one.bbox.center.position.y = box.center_x, box.center_y
            one.bbox.center.theta = theta
            one.bbox.size_x, one.bbox.size_y = box.size_x, box.size_y
            array.detections.append(one)
        images.publish(message)
        found.publish(array)
        return array, boxes

    def answered(stamp):
        return [one for one in heard if one.header.stamp == stamp]
    try:
        partner.wait_until_ready()
        partner.spin_until(lambda: images.get_subscription_count() and (
            found.get_subscription_count()
            and node.count_publishers('/proemlc/detections')
            and node.count_publishers('/proemlc/features') > 1), 60)
        warm_up(partner, lambda: detect(-1))
        for number in range(6):
            array, boxes = detect(number)
            partner.spin_until(partial(answered, array.header.stamp))
            for name, box in boxes.items():
                assert partner.annotate(1.0 + number / 8, [name], region=Region(
                    id=box.id, center_x=box.center_x, center_y=box.center_y,
                    size_x=box.size_x, size_y=box.size_y)).success
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
    finally:
        partner.close()
