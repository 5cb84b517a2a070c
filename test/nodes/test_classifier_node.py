# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Every row of the classifier's interface, over DDS, with the node in its own process."""

from __future__ import annotations

import signal
from array import array

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import WIDTH, ClassifierPartner, annotation, seconds_of, values_of
from rclpy.parameter import Parameter
from std_msgs.msg import Float32MultiArray

pytestmark = pytest.mark.slow


@pytest.fixture
def classifier(start_process, ros, tmp_path):
    """Return a function that starts the node and its partner."""
    partners = []

    def start(*parameters: str, name: str = '/proemlc', ready: bool = True, **options):
        arguments = ['--ros-args']
        for entry in (f'model_directory:={tmp_path / "model"}', 'hidden_size:=30',
                      'activation:=relu', 'scaling:=none', 'ridge:=1.0', *parameters):
            arguments += ['-p', entry]
        node = start_process('classifier_node', *arguments, *options.pop('remap', ()))
        partner = ClassifierPartner(ros, name, **options)
        partners.append(partner)
        if ready:
            partner.wait_until_ready()
        return node, partner
    yield start
    for partner in partners:
        partner.close()


def teach(partner, count: int = 12, start: int = 0) -> None:
    for number in range(start, start + count):
        answer = partner.annotate(labels=[f'label {number % 3}'], features=values_of(number))
        assert answer.success, answer.message


def test_features_become_predictions_and_labels_are_latched(classifier, ros):
    _, partner = classifier()
    first = partner.predict(1.5, values_of(1))
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


def test_annotations_find_their_moment(classifier):
    node, partner = classifier('match_tolerance:=0.05', 'hold_time:=0.5')
    for number in range(1, 6):
        partner.predict(float(number), values_of(number))
    partner.annotations.publish(annotation(2.0, ['exact']))
    partner.annotations.publish(annotation(3.04, ['near']))
    partner.annotations.publish(annotation(0.0, ['newest']))
    partner.spin_until(lambda: len(partner.heard['learnt']) == 3)
    assert [(list(message.labels), seconds_of(message.header), len(message.features))
            for message in partner.heard['learnt']] == [
        (['exact'], 2.0, 0), (['near'], 3.0, 0), (['newest'], 5.0, 0)]
    # Held for features that come late, by topic and by service.
    partner.annotations.publish(annotation(6.0, ['late']))
    partner.spin_for(0.1)
    partner.predict(6.0, values_of(6))
    partner.spin_until(lambda: len(partner.heard['learnt']) == 4)
    answer = partner.annotate(4.5, ['nothing there'])
    assert not answer.success and 'no feature vector has stamp 4.5' in answer.message
    assert partner.diagnostics(lambda values: 'Rejected: unknown_stamp' in values)
    assert 'unknown_stamp' in node.output


def test_services_undo_rename_remove_reset_predict(classifier):
    _, partner = classifier()
    teach(partner, 6)
    before = partner.call('predict', features=_vector(50)).prediction.scores
    assert partner.annotate(labels=['owl'], features=values_of(77)).success
    assert partner.annotate(labels=['owl', 'label 0'], features=values_of(78)).success
    assert partner.call('undo').success
    assert 'owl' in partner.call('undo').message
    after = partner.call('predict', features=_vector(50))
    np.testing.assert_allclose(after.prediction.scores, before, atol=1e-6)
    assert partner.call('rename_label', label='label 0', new_label='zero').success
    assert not partner.call('rename_label', label='label 0', new_label='x').success
    assert not partner.call('rename_label', label='label 1', new_label='zero').success
    assert partner.call('remove_label', label='label 1').success
    refused = partner.call('remove_label', label='nobody')
    assert not refused.success and 'nobody' in refused.message
    state = partner.spin_until(
        lambda: [m for m in partner.heard['labels'] if m.names == ['zero', 'label 2']])[-1]
    versions = [message.version for message in partner.heard['labels']]
    assert versions == sorted(versions) and state.version == versions[-1]
    assert [event.kind for event in partner.heard['events']] == [1, 1, 2, 3]
    assert partner.call('reset').success
    assert partner.spin_until(
        lambda: [m for m in partner.heard['labels'] if not m.names and m.version > state.version])
    empty = partner.call('undo')
    assert not empty.success and 'no annotation is left' in empty.message


def test_models_are_saved_and_loaded_by_name(classifier, tmp_path):
    _, partner = classifier()
    teach(partner)
    saved = partner.call('save_model', file_name='kitchen')
    assert saved.success and (tmp_path / 'model/kitchen.npz').is_file()
    expected = partner.call('predict', features=_vector(50)).prediction
    teach(partner, 5, start=100)
    loaded = partner.call('load_model', file_name='kitchen.npz')
    assert loaded.success and '3 labels, 12 samples' in loaded.message
    again = partner.call('predict', features=_vector(50)).prediction
    assert again.scores == expected.scores
    assert partner.call('save_model').success
    assert (tmp_path / 'model/snapshot.npz').is_file()


def test_queries_ask_once_about_what_is_new(classifier):
    _, partner = classifier('query_rate:=100.0', 'query_novelty:=0.2')
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


BAD_VECTORS = {
    'wrong_width': values_of(1, WIDTH + 1),
    'not_finite': np.full(WIDTH, np.nan),
    'empty_vector': [],
    'oversized_vector': np.zeros(51),
}
BAD_LABELS = ['x\ny', '', 'a' * 101, ' space', '\x1b[31m', 'zero\u200bwidth']


def test_bad_input_is_refused_counted_and_survived(classifier):
    node, partner = classifier('max_width:=50', 'max_labels:=20', 'warning_period:=60.0')
    teach(partner)
    expected = partner.call('predict', features=_vector(50)).prediction.scores
    for number, (cause, values) in enumerate(BAD_VECTORS.items(), 1):
        partner.spin_until(lambda c=cause, v=values, n=number: (
            partner.send(100.0 + n, v) or partner.spin_for(0.3) or c in node.output))
        if len(values):  # Without any, an annotation is about the newest vector.
            assert not partner.annotate(labels=['cup'], features=values).success
        assert not partner.call('predict', features=_vector(0, values)).success
        assert len(partner.predict(float(number), values_of(number)).scores) == 3
    for label in BAD_LABELS:
        refused = partner.annotate(labels=['fine', label], features=values_of(1))
        assert not refused.success and 'label' in refused.message
    both = partner.annotate(labels=['cup'], absent=['cup'], features=values_of(1))
    assert not both.success and 'present and as absent' in both.message
    burst = partner.annotate(labels=[f'new {n}' for n in range(5000)], features=values_of(1))
    assert not burst.success and 'max_labels' in burst.message
    for number in range(30):  # One at a time, until the limit.
        partner.annotations.publish(annotation(labels=[f'one {number}'], features=values_of(1)))
    values = partner.diagnostics(lambda v: int(v.get('Rejected: too_many_labels', 0)) >= 14)
    assert int(values['Labels']) == 20
    for cause in [*BAD_VECTORS, 'bad_label', 'contradiction', 'too_many_labels']:
        assert int(values[f'Rejected: {cause}']) >= 1
        assert node.output.count(f'Refused, {cause}:') == 1, node.output
    for _ in range(17):
        partner.call('undo')
    scores = partner.call('predict', features=_vector(50)).prediction.scores
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert partner.call('get_state').current_state.label == 'active'


def test_another_extractor_is_refused(classifier):
    _, partner = classifier()
    partner.predict(1.0, values_of(1), extractor='moments/1')
    assert partner.annotate(1.0, ['cup']).success
    partner.predict(2.0, values_of(2), extractor='moments/1')
    partner.predict(3.0, values_of(3))  # Not stated: nothing is compared.
    partner.send(4.0, values_of(4), extractor='moments/2')
    values = partner.diagnostics(lambda v: 'Rejected: extractor_changed' in v)
    assert values['Lifecycle state'] == 'active'


def test_bad_model_files_leave_the_model_alone(classifier, tmp_path):
    _, partner = classifier()
    teach(partner)
    folder = tmp_path / 'model'
    assert partner.call('save_model', file_name='good').success
    (folder / 'foreign.npz').write_bytes(b'PK\x03\x04 not ours')
    whole = (folder / 'good.npz').read_bytes()
    (folder / 'cut.npz').write_bytes(whole[:len(whole) // 2])
    (tmp_path / 'outside.npz').write_bytes(whole)
    (folder / 'link.npz').symlink_to(tmp_path / 'outside.npz')
    expected = partner.call('predict', features=_vector(50)).prediction.scores
    for name in ('missing', 'foreign', 'cut', 'link', '../outside', str(tmp_path / 'outside')):
        answer = partner.call('load_model', file_name=name)
        assert not answer.success and answer.message
    for name in ('../outside', 'a/b', '/etc/x', 'link'):
        assert not partner.call('save_model', file_name=name).success
    assert partner.call('predict', features=_vector(50)).prediction.scores == expected
    assert int(partner.diagnostics()['Rejected']) >= 10


def test_a_clock_that_jumps_back_clears_the_buffer(classifier):
    node, partner = classifier('query_rate:=0.0')
    for _ in range(2):
        for number in range(100, 104):
            partner.heard['predictions'].clear()
            partner.predict(float(number), values_of(number))
    node.wait_for('jumped back')
    partner.spin_for(0.5)
    assert node.output.count('jumped back') == 1
    assert int(partner.diagnostics()['Buffered vectors']) == 4
    assert partner.annotate(102.0, ['cup']).success


def test_parameters_are_described_checked_and_applied(classifier):
    _, partner = classifier()
    described = partner.call('describe_parameters', names=['hidden_size', 'match_tolerance'])
    hidden, tolerance = described.descriptors
    assert hidden.read_only and hidden.description and hidden.integer_range[0].from_value == 1
    assert not tolerance.read_only and tolerance.floating_point_range[0].to_value == 3600.0

    def set_parameter(name, value):
        result, = partner.call(
            'set_parameters', parameters=[Parameter(name, value=value).to_parameter_msg()]).results
        return result
    assert not set_parameter('hidden_size', 99).successful
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
    partner.spin_until(lambda: partner.heard['labels'][-1].thresholds[0] < -1.0)
    assert set_parameter('max_labels', 2).successful
    assert not partner.annotate(10.0, ['fork']).success


def test_a_bad_parameter_stops_the_start_with_the_reason(start_process, tmp_path):
    node = start_process('classifier_node', '--ros-args', '-p', 'hidden_size:=0', '-p',
                         f'model_directory:={tmp_path}')
    assert node.wait() == 1
    assert 'hidden_size is 0; it must be from 1 to 20000' in node.output
    assert 'Traceback' not in node.output


def test_a_qos_that_does_not_fit_is_told(classifier):
    from proemlc_ros.msg import FeatureVector, LabelAnnotation, Prediction
    from rclpy.qos import QoSProfile, qos_profile_sensor_data
    # The partner publishes with best effort.
    node, partner = classifier('features_reliability:=reliable', ready=False)
    node.wait_for('/partner publishes /proemlc/features with a QoS that does not fit')
    partner.node.create_subscription(
        Prediction, '/proemlc/predictions', lambda _: None, QoSProfile(depth=1))
    node.wait_for('/partner subscribes to /proemlc/predictions')
    partner.node.create_publisher(
        LabelAnnotation, '/proemlc/annotations', qos_profile_sensor_data)
    node.wait_for('/partner publishes /proemlc/annotations')
    partner.features = partner.node.create_publisher(
        FeatureVector, '/proemlc/features', QoSProfile(depth=1))
    partner.predict(1.0, values_of(1))
    assert node.output.count('publishes /proemlc/features') == 1


def test_simulated_time_that_starts_anew_clears_the_buffer(classifier):
    from rosgraph_msgs.msg import Clock
    node, partner = classifier('use_sim_time:=true')
    clock = partner.node.create_publisher(Clock, '/clock', 10)
    partner.spin_until(clock.get_subscription_count)

    def tell(seconds: int) -> None:
        message = Clock()
        message.clock.sec = seconds
        clock.publish(message)
        partner.spin_for(0.3)
    tell(100)
    partner.predict(100.0, values_of(1))
    assert partner.annotate(100.0, ['cup']).success
    jumps = node.output.count('The clock jumped')
    tell(5)
    node.wait_for('The clock jumped')
    partner.spin_for(0.3)
    assert node.output.count('The clock jumped') <= jumps + 1
    assert not partner.annotate(0.0, ['cup']).success
    partner.predict(6.0, values_of(2))
    assert partner.annotate(6.0, ['cup']).success


def test_it_works_in_a_namespace_and_remapped(classifier):
    _, partner = classifier(name='/robot/eyes', remap=['-r', '__ns:=/robot', '-r',
                                                       '__node:=eyes'])
    partner.predict(1.0, values_of(1))
    assert partner.annotate(1.0, ['cup']).success


def _vector(number: int, values=None):
    from proemlc_ros.msg import FeatureVector
    return FeatureVector(data=array('f', values_of(number) if values is None else values))


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_well(classifier, tmp_path, number):
    node, partner = classifier()
    teach(partner, 4)
    node.process.send_signal(number)
    node.process.send_signal(signal.SIGINT)  # Ctrl-C reaches launched nodes twice.
    assert node.wait() == 0, node.output
    assert 'Traceback' not in node.output
    from proemlc_ros.core import ProEMLC
    assert ProEMLC.load(tmp_path / 'model/snapshot.npz').samples == 4
