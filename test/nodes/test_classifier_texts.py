# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Texts and names that hostile clients send: none reaches memory, log or disk unbounded."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

import proemlc_ros.srv as srv
from classifier_partner import SERVICES, annotation, values_of, vector
from proemlc_ros.msg import FeatureVector
from rclpy.qos import QoSProfile
from std_msgs.msg import Header

pytestmark = pytest.mark.slow

LONG = 'x' * 10**6
HOSTILE = [LONG, 'a' * 201, 'a\x1b[2J', 'a\n[FATAL] [proemlc]: gone', '\u202e', 'a\u200b']
INVISIBLE = ['\u200d', '\u3164', '\u2800', 'a\u2800', '\u034f']


def test_long_and_hidden_texts_are_rejected_counted_and_kept_out_of_the_log(classifier):
    node, partner = classifier('warning_period:=0.0')
    for number, text in enumerate(HOSTILE, 1):
        partner.send(float(number), values_of(number), extractor=text)
        partner.annotations.publish(annotation(
            labels=['cup'], features=values_of(1), extractor=text))
        features = vector(values_of(1))
        features.extractor = text
        assert not partner.call('predict', features=features).success
        features.extractor, features.header.frame_id = '', 100 * text
        assert not partner.call('predict', features=features).success
        for field in ('extractor', 'annotator'):
            answer = partner.annotate(labels=['cup'], features=values_of(1), **{field: text})
            assert not answer.success and len(answer.message) < 500
        for service, fields in (('remove_label', {'label': text}), ('load_model', {
                'file_name': text}), ('save_model', {'file_name': f'/{text}'}),
                ('rename_label', {'label': text, 'new_label': text})):
            answer = partner.call(service, **fields)
            assert not answer.success and len(answer.message) < 500, (service, answer.message)
    values = partner.diagnostics(
        lambda v: int(v.get('Rejected: bad_extractor', 0)) >= 3 * len(HOSTILE))
    assert int(values['Rejected: bad_annotator']) == len(HOSTILE)
    assert (values['Journal entries'], values['Buffered vectors']) == ('0', '0')
    lines = node.output.splitlines()
    assert max(map(len, lines)) < 800
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith('[FATAL]') for line in lines)
    assert node.output.count('x' * 101) == 0


def test_a_source_topic_that_is_no_topic_ends_nothing(classifier):
    node, partner = classifier()
    for number, topic in enumerate(('two words', 'no//topic' * 20), 1):
        partner.predict(float(number), values_of(number), source_topic=topic)
        node.wait_for('(?s)' + '.*'.join(['The journal gets no pictures'] * number))
    while 'source_topic' not in node.output:  # rejected, as texts of this kind are everywhere
        partner.send(3.0, values_of(3), source_topic='a\x1b[2J' * 500)
        partner.executor.spin_once(0.05)
    assert partner.annotate(labels=['cup'], features=values_of(1)).success
    lines = node.output.splitlines()
    assert max(map(len, lines)) < 800 and all(line.isprintable() for line in lines)


def test_invisible_names_are_rejected_and_two_spellings_are_one_label(classifier):
    _, partner = classifier()
    for name in INVISIBLE:
        assert not partner.annotate(labels=[name], features=values_of(1)).success, repr(name)
        assert not partner.annotate(labels=['cup'], absent=[name], complete=False,
                                    features=values_of(1)).success, repr(name)
    for spelling in ('caf\u00e9', 'cafe\u0301'):
        assert partner.annotate(labels=[spelling], features=values_of(1)).success
    partner.spin_until(lambda: partner.heard['labels'][-1].samples == 2)
    assert list(partner.heard['labels'][-1].names) == ['caf\u00e9']


def test_absent_names_cannot_pass_the_limit_of_labels(classifier):
    _, partner = classifier('max_labels:=50')
    assert partner.annotate(labels=['cup'], features=values_of(1)).success
    for number in range(40):
        partner.annotations.publish(annotation(
            labels=['cup'], features=values_of(number), complete=False,
            absent=[f'absent {number} {name}' for name in range(1000)]))
    for number in range(40):  # Fewer at a time, but more in all.
        partner.annotations.publish(annotation(
            labels=['cup'], features=values_of(number), complete=False,
            absent=[f'few {number} {name}' for name in range(10)]))
    partner.diagnostics(
        lambda v: int(v['Annotations received']) == 81 and int(
            v['Journal entries']) + int(v['Rejected']) == 81)
    values = partner.diagnostics()  # the other values of those may be of a moment before
    assert int(values['Labels']) == 41
    assert int(values['Rejected: too_many_labels']) == 76
    assert (values['Journal entries'], values['Lost annotations']) == ('5', '0')


# Beyond the bound of every text, characters that do not show, escapes, paths.
TEXTS = [*HOSTILE[2:], 'x' * 300, LONG]
PATHS = ['../../secret.npz', '/etc/passwd', '/dev/ptmx', '/proc/self/environ', '~/secret.yaml']
FILES = {'file_name', 'sensors_file'}
# Fields with which a request is carried out.
VALID = {
    'change_sample': {'samples': [1], 'labels': ['cup']},
    'change_samples': {'samples': [1], 'labels': ['cup']}, 'save_model': {'file_name': 'kitchen'},
    'rename_label': {'label': 'label 0', 'new_label': 'zero'}, 'load_model': {},
    'remove_label': {'label': 'label 0'}, 'merge_labels': {'label': 'label 0', 'into': 'label 1'},
    'annotate': {'annotation': annotation(labels=['cup'], features=values_of(1))},
    'predict': {'features': vector(values_of(1))}, 'get_sample': {'sample': 1}}


def hostile_requests(kind):
    """Yield every field of a request with each hostile value, as field, value and request."""
    for field, type_name in kind.Request.get_fields_and_field_types().items():
        if type_name in ('string', 'sequence<string>'):
            for text in (*TEXTS, *(PATHS if field in FILES else ())):
                yield field, {field: [text] if '<' in type_name else text}
        if type_name == 'sequence<string>':
            yield field, {field: [f'name {number}' for number in range(20_000)]}
        if type_name == 'sequence<uint64>':
            yield field, {field: list(range(1, 10_002))}
        if '/' in type_name:
            inner = {'proemlc_ros/LabelAnnotation': annotation(labels=['cup'],
                                                               features=values_of(1)),
                     'proemlc_ros/FeatureVector': vector(values_of(1))}[type_name]
            yield from ((field, {field: message}) for message in hostile_messages(inner))


def hostile_messages(message):
    """Yield a message with each of its texts, and of those within it, replaced."""
    kind = type(message)
    for field, type_name in message.get_fields_and_field_types().items():
        if type_name in ('string', 'sequence<string>'):
            for text in TEXTS:
                yield kind(**{**fields_of(message),
                              field: [text] if '<' in type_name else text})
        elif type_name == 'sequence<float>':
            yield kind(**{**fields_of(message), field: [float('nan')] * 8})
            yield kind(**{**fields_of(message), field: [0.0] * 200_000})
        elif type_name.endswith('/Region'):
            for inner in hostile_messages(getattr(message, field)):
                yield kind(**{**fields_of(message), field: inner})
        elif type_name in ('double', 'float') and field.startswith(('center', 'size')):
            for number in (float('nan'), float('inf')):
                yield kind(**{**fields_of(message), 'size_x': 1.0, 'size_y': 1.0, field: number})


def fields_of(message):
    return {field: getattr(message, field) for field in message.get_fields_and_field_types()}


def test_every_field_of_every_request_has_bounds(classifier, tmp_path):
    services = {name: kind for name, kind in SERVICES.items()
                if kind.__module__.startswith('proemlc_ros.')}
    assert {kind.__name__ for kind in services.values()} == {
        name for name in vars(srv) if name[0].isupper() and '_' not in name} - {'ControlSource'}
    node, partner = classifier('warning_period:=0.0')
    partner.teach(3)
    sent = 0
    for service, kind in services.items():
        for field, fields in hostile_requests(kind):
            answer = partner.call(service, **{**VALID.get(service, {}), **fields})
            sent += 1
            assert not answer.success, (service, field, str(fields)[:80])
            assert len(answer.message) < 500 and answer.message.isprintable(), (service, field)
            assert 'root:' not in answer.message
    assert sent > 150
    values = partner.diagnostics()
    assert values['Journal entries'] == values['Samples learnt'] == '3'
    assert sum(path.stat().st_size for path in (tmp_path / 'model').rglob('*')) < 1_000_000
    lines = node.output.splitlines()
    assert max(map(len, lines)) < 800 and all(line.isprintable() for line in lines)


def test_every_field_of_every_topic_has_bounds(classifier):
    # Reliable in both directions, so that everything is received and counted.
    node, partner = classifier(
        'warning_period:=0.0', 'max_annotation_rate:=0.0', 'features_reliability:=reliable',
        qos=QoSProfile(depth=1000))
    partner.teach(3)
    hostile = [*hostile_messages(annotation(labels=['cup'], features=values_of(1)))]
    for message in hostile:  # The frame of an annotation is not read.
        partner.annotations.publish(message)
    partner.diagnostics(lambda v: int(v['Annotations received']) == 3 + len(hostile)
                        and int(v['Rejected']) == len(hostile))
    features = vector(values_of(1))
    vectors = [*hostile_messages(features), *(
        FeatureVector(data=features.data, header=Header(frame_id=text)) for text in TEXTS)]
    for message in vectors:
        partner.features.publish(message)
    assert len(hostile) > 20 and len(vectors) > 20
    values = partner.diagnostics(
        lambda v: int(v['Rejected']) == len(hostile) + len(vectors))
    assert values['Journal entries'] == values['Samples learnt'] == '3'
    assert values['Buffered vectors'] == '0' and partner.heard['predictions'] == []
    lines = node.output.splitlines()
    assert max(map(len, lines)) < 800 and all(line.isprintable() for line in lines)
