# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Texts and names that hostile clients send: none reaches memory, log or disk unbounded."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import annotation, values_of, vector

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
        node.wait_for('(?s)' + '.*'.join(['The journal gets no pictures'] * number), 60)
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
