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
