# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the classifier refuses or warns of, and that it goes on afterwards."""

from __future__ import annotations

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import WIDTH, annotation, values_of, vector
from damaged_messages import damaged
from proemlc_ros.msg import FeatureVector, LabelAnnotation, Prediction
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from std_msgs.msg import Float32MultiArray

pytestmark = pytest.mark.slow


BAD_VECTORS = {
    'wrong_width': values_of(1, WIDTH + 1),
    'not_finite': np.full(WIDTH, np.nan),
    'empty_vector': [],
    'oversized_vector': np.zeros(51),
}
BAD_LABELS = ['x\ny', '', 'a' * 101, ' space', '\x1b[31m', 'zero\u200bwidth']


def test_bad_input_is_rejected_counted_and_survived(classifier):
    node, partner = classifier('max_width:=50', 'max_labels:=20', 'warning_period:=3600.0')
    partner.teach()
    expected = partner.call('predict', features=vector(values_of(50))).prediction.scores
    for number, (cause, values) in enumerate(BAD_VECTORS.items(), 1):
        partner.spin_until(lambda c=cause, v=values, n=number: (
            partner.send(100.0 + n, v) or partner.spin_for(0.3) or c in node.output))
        if len(values):  # Without any, an annotation is about the newest vector.
            assert not partner.annotate(labels=['cup'], features=values).success
        assert not partner.call('predict', features=vector(values)).success
        assert len(partner.predict(float(number), values_of(number)).scores) == 3
    for label in BAD_LABELS:
        rejected = partner.annotate(labels=['fine', label], features=values_of(1))
        assert not rejected.success and 'label' in rejected.message
    both = partner.annotate(labels=['cup'], absent=['cup'], features=values_of(1))
    assert not both.success and 'present and as absent' in both.message
    burst = partner.annotate(labels=[f'new {n}' for n in range(5000)], features=values_of(1))
    assert not burst.success and 'max_labels' in burst.message
    for number in range(30):  # One at a time, until the limit.
        partner.annotations.publish(annotation(labels=[f'one {number}'], features=values_of(1)))
    partner.diagnostics(lambda v: int(v.get('Rejected: too_many_labels', 0)) >= 14)
    values = partner.diagnostics()  # the other values of those may be of a moment before
    assert int(values['Labels']) == 20
    for cause in [*BAD_VECTORS, 'bad_label', 'contradiction', 'too_many_labels']:
        assert int(values[f'Rejected: {cause}']) >= 1
        assert node.output.count(f'Rejected, {cause}:') == 1, node.output
    for _ in range(17):
        partner.call('undo')
    scores = partner.call('predict', features=vector(values_of(50))).prediction.scores
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert partner.call('get_state').current_state.label == 'active'


def test_messages_that_cannot_be_read_are_survived(classifier):
    node, partner = classifier()
    partner.teach(4)
    for number, bytes_ in enumerate(damaged(vector(values_of(1)))):
        partner.features.publish(bytes_)
        partner.predict(10.0 + number, values_of(number))
    for bytes_ in damaged(annotation(labels=['cup'], features=values_of(1))):
        partner.annotations.publish(bytes_)
        assert partner.annotate(labels=['cup'], features=values_of(1)).success
    assert partner.diagnostics(lambda values: values['Samples learnt'] == '9')
    assert 'Traceback' not in node.output


def test_another_extractor_is_rejected(classifier):
    node, partner = classifier()
    partner.predict(1.0, values_of(1), extractor='moments/1')
    assert partner.annotate(1.0, ['cup']).success
    partner.predict(2.0, values_of(2), extractor='moments/1')
    partner.predict(3.0, values_of(3))  # Not stated: nothing is compared.
    partner.spin_until(lambda: partner.send(4.0, values_of(4), extractor='moments/2')
                       or 'extractor_changed' in node.output)
    values = partner.diagnostics(lambda v: 'Rejected: extractor_changed' in v)
    assert values['Lifecycle state'] == 'active'


def test_a_bad_parameter_stops_the_start_with_the_reason(start_process, tmp_path):
    node = start_process('classifier_node', '--ros-args', '-p', 'hidden_size:=-1', '-p',
                         f'model_directory:={tmp_path}')
    assert node.wait() == 1
    assert 'hidden_size is -1; it must be from 0 to 20000' in node.output
    assert 'Traceback' not in node.output


def test_a_qos_that_does_not_fit_is_told(classifier):
    # The partner publishes with best effort.
    node, partner = classifier('features_reliability:=reliable',
                               'predictions_reliability:=best_effort', ready=False)
    node.wait_for('/partner publishes /proemlc/features with an incompatible QoS')
    partner.node.create_subscription(
        Prediction, '/proemlc/predictions', lambda _: None, QoSProfile(depth=1))
    node.wait_for('/partner subscribes to /proemlc/predictions')
    partner.node.create_publisher(
        LabelAnnotation, '/proemlc/annotations', qos_profile_sensor_data)
    node.wait_for('/partner publishes /proemlc/annotations')
    partner.features = partner.node.create_publisher(
        FeatureVector, '/proemlc/features', QoSProfile(depth=1))
    partner.predict(1.0, values_of(1))
    # In a participant of its own: one has a single type for a topic.
    context = rclpy.Context()
    rclpy.init(context=context)
    stranger = rclpy.create_node('stranger', context=context)
    stranger.create_publisher(Float32MultiArray, '/proemlc/features', 10)
    node.wait_for('/stranger publishes /proemlc/features as std_msgs/msg/Float32MultiArray, not '
                  'as proemlc_ros/msg/FeatureVector')
    stranger.destroy_node()
    context.shutdown()
    assert node.output.count('publishes /proemlc/features with') == 1
