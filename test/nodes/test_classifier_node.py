# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The topics and parameters of the classifier, over DDS, with the node in its own process."""

from __future__ import annotations

import signal
from array import array

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import ClassifierPartner, annotation, seconds_of, values_of
from proemlc_ros.msg import Prediction
from rclpy.parameter import Parameter
from std_msgs.msg import Float32MultiArray

from proemlc_ros.core import ProEMLC

pytestmark = pytest.mark.slow


def test_features_become_predictions_and_labels_are_latched(classifier, ros):
    _, partner = classifier()
    # The partner asks for best effort; most subscribers ask for more.
    reliable = []
    partner.node.create_subscription(Prediction, '/proemlc/predictions', reliable.append, 10)
    partner.spin_until(lambda: partner.node.count_subscribers('/proemlc/predictions') == 2)
    first = partner.predict(1.5, values_of(1))
    partner.spin_until(lambda: partner.predict(1.5, values_of(1)) and reliable)
    assert (list(first.labels), len(first.scores), first.label_set_version) == ([], 0, 0)
    assert first.header.frame_id == 'camera'
    assert first.novelty == 1.0
    answer = partner.annotate(1.5, ['cup', 'red'])
    assert answer.success and 'new' in answer.message and answer.label_set_version == 1
    second = partner.predict(2.5, values_of(1))
    assert set(second.labels) == {'cup', 'red'}
    assert len(second.scores) == 2 and second.label_set_version == 1
    assert second.novelty < 1.0
    late = ClassifierPartner(ros)
    newest = late.spin_until(lambda: late.heard['labels'])[-1]
    late.close()
    assert (newest.names, list(newest.counts), newest.samples, newest.version) == (
        ['cup', 'red'], [1, 1], 1, 1)
    assert len(newest.thresholds) == 2


def test_labels_tell_how_good_the_model_is_when_teaching_rests(classifier):
    _, partner = classifier()
    for number in range(4):
        for name, place in (('cup', 0.0), ('bowl', 30.0)):
            values = array('f', [place + 0.1 * number, place, -0.2 * number])
            assert partner.annotate(labels=[name], features=values).success
    newest = partner.spin_until(
        lambda: [said for said in partner.heard['labels'] if said.judged == 8])[-1]
    assert list(newest.judged_counts) == [4, 4]
    assert (newest.right, list(newest.recalls)) == (1.0, [1.0, 1.0])


def test_annotations_find_their_moment(classifier):
    node, partner = classifier('match_tolerance:=0.05', 'hold_time:=3600.0')
    for number in range(1, 6):
        partner.predict(float(number), values_of(number))
    # A vector is kept after its prediction is published.
    partner.diagnostics(lambda values: values['Buffered vectors'] == '5')
    partner.annotations.publish(annotation(2.0, ['exact']))
    partner.annotations.publish(annotation(3.04, ['near']))
    partner.annotations.publish(annotation(0.0, ['newest']))
    partner.spin_until(lambda: len(partner.heard['learnt']) == 3)
    assert [(list(message.labels), seconds_of(message.header), len(message.features))
            for message in partner.heard['learnt']] == [
        (['exact'], 2.0, 0), (['near'], 3.0, 0), (['newest'], 5.0, 0)]
    # Held for features that come late, by topic and by service.
    partner.annotations.publish(annotation(6.0, ['late']))
    partner.diagnostics(lambda values: values['Held annotations'] == '1')
    partner.predict(6.0, values_of(6))
    partner.spin_until(lambda: len(partner.heard['learnt']) == 4)
    partner.call('set_parameters', parameters=[
        Parameter('hold_time', value=0.5).to_parameter_msg()])
    answer = partner.annotate(4.5, ['nothing there'])
    assert not answer.success and 'no feature vector has stamp 4.5' in answer.message
    assert partner.diagnostics(lambda values: 'Rejected: unknown_stamp' in values)
    assert 'unknown_stamp' in node.output


def test_queries_ask_once_about_what_is_new(classifier):
    _, partner = classifier('query_rate:=100.0', 'query_novelty:=0.1')
    partner.predict(0.5, values_of(50))
    partner.spin_for(0.3)
    assert not partner.heard['queries']  # Before the first label.
    assert partner.annotate(labels=['cup'], features=values_of(50)).success
    partner.predict(1.0, values_of(1))
    query = partner.spin_until(lambda: partner.heard['queries'])[0]
    assert query.reason == query.NOVEL and seconds_of(query.header) == 1.0
    np.testing.assert_array_equal(query.features, values_of(1))
    partner.heard['predictions'].clear()
    partner.predict(1.0, values_of(1))
    partner.spin_for(0.1)  # More than the rate limit asks for.
    partner.predict(2.0, values_of(2))
    partner.spin_until(lambda: len(partner.heard['queries']) >= 2)
    partner.spin_for(0.3)
    assert [seconds_of(message.header) for message in partner.heard['queries']] == [1.0, 2.0]


def test_labels_that_partial_annotations_leave_approximate_are_published(classifier):
    node, partner = classifier('partial_memory:=0.0')
    partner.teach()
    assert partner.diagnostics()['Matrices'] == '1'
    assert partner.annotate(labels=['label 1'], features=values_of(50), complete=False).success
    values = partner.diagnostics(lambda values: values['Approximate labels'] == '1')
    assert values['Matrices'] == '2'
    partner.spin_until(lambda: 'partial_memory is full: 1 labels' in node.output)


def test_plain_arrays_are_taken_too(classifier):
    _, partner = classifier('input_type:=Float32MultiArray', input_type=Float32MultiArray)
    partner.spin_until(lambda: partner.features.get_subscription_count())

    def received():
        partner.features.publish(Float32MultiArray(data=array('f', values_of(1))))
        partner.spin_for(0.2)
        return partner.heard['predictions']
    message = partner.spin_until(received)[0]
    assert seconds_of(message.header) > 0
    said = annotation(labels=['cup'])
    said.header.stamp = message.header.stamp
    assert partner.call('annotate', annotation=said).success


def test_parameters_are_described_checked_and_applied(classifier):
    _, partner = classifier()
    described = partner.call('describe_parameters', names=['hidden_size', 'match_tolerance'])
    hidden, tolerance = described.descriptors
    assert hidden.description and hidden.integer_range[0].to_value == 20_000
    assert not tolerance.read_only and tolerance.floating_point_range[0].to_value == 3600.0

    def set_parameter(name, value):
        result, = partner.call(
            'set_parameters', parameters=[Parameter(name, value=value).to_parameter_msg()]).results
        return result
    locked = set_parameter('hidden_size', 99)
    assert not locked.successful and 'unconfigured' in locked.reason
    too_small = set_parameter('match_tolerance', -1.0)
    assert not too_small.successful and 'match_tolerance' in too_small.reason
    assert not set_parameter('query_rate', 'often').successful
    partner.predict(10.0, values_of(1))
    partner.predict(11.0, values_of(1))
    assert not partner.annotate(10.3, ['cup']).success
    assert set_parameter('match_tolerance', 0.4).successful
    assert partner.annotate(10.3, ['cup']).success
    assert partner.predict(12.0, values_of(1)).labels == ['cup']
    assert not set_parameter('threshold_offset', 3.0).successful
    assert set_parameter('threshold_offset', -2.0).successful
    assert partner.annotate(11.0, ['plate']).success
    # Every score is above such a threshold.
    assert sorted(partner.predict(13.0, values_of(1)).labels) == ['cup', 'plate']
    partner.spin_until(lambda: min(partner.heard['labels'][-1].thresholds, default=0.0) < -1.0)
    assert set_parameter('max_labels', 2).successful
    assert not partner.annotate(10.0, ['fork']).success


def test_it_works_in_a_namespace_and_remapped(classifier):
    _, partner = classifier(name='/robot/eyes', remap=['-r', '__ns:=/robot', '-r',
                                                       '__node:=eyes'])
    partner.predict(1.0, values_of(1))
    assert partner.annotate(1.0, ['cup']).success


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_well(classifier, tmp_path, number):
    node, partner = classifier()
    partner.teach(4)
    node.process.send_signal(number)
    node.process.send_signal(signal.SIGINT)  # Ctrl-C reaches launched nodes twice.
    assert node.wait() == 0, node.output
    assert 'Traceback' not in node.output
    assert ProEMLC.load(tmp_path / 'model/snapshot.npz').samples == 4
