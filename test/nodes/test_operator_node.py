# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators make of the classifier's messages and diagnostics."""

import asyncio
from array import array

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('aiohttp')

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
    SourceState,
)

from proemlc_ros.nodes.operator.operator_node import OperatorNode, _health_of, _loss_of


def status(**values) -> DiagnosticStatus:
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN, message='3 messages rejected',
        values=[KeyValue(key=key.replace('_', ' '), value=value) for key, value in values.items()])


def test_health_has_level_message_and_values():
    health = _health_of(status(Labels='3', Samples_learnt='12'))
    assert (health.level, health.message) == (1, '3 messages rejected')
    assert health.values == (('Labels', '3'), ('Samples learnt', '12'))


@pytest.mark.parametrize('text, loss', [
    ('0.1250', 0.125), ('none yet', None), ('nan', None), ('inf', None), ('', None)])
def test_the_loss_is_a_number_or_not_there_yet(text, loss):
    assert _loss_of(status(Rolling_Hamming_loss=text)) == loss


def test_without_that_value_there_is_no_loss():
    assert _loss_of(status(Labels='3')) is None


@pytest.fixture
def node(ros):
    async def make():
        return OperatorNode('operator_under_test', (), context=ros)
    made = asyncio.run(make())
    made.posted = []
    made.post = lambda function, *arguments: made.posted.append(arguments)
    yield made
    made.destroy_node()


def callback_of(node, topic):
    return next(subscription.callback for subscription in node.subscriptions
                if subscription.topic_name.endswith(topic))


@pytest.mark.parametrize(('topic', 'bad', 'good'), [
    ('/events', ModelEvent(kind=77), ModelEvent(kind=ModelEvent.UNDO)),
    ('/labels', LabelSet(names=['cup', 'mug'], counts=[1], thresholds=[0.0]),
     LabelSet(names=['cup'], counts=[1], thresholds=[0.0])),
    ('/source/state', SourceState(kind='\x1b[2J'), SourceState(kind='folder', things=['cup']))])
def test_message_that_contradicts_itself_is_dropped_and_the_next_one_counts(
        node, topic, bad, good):
    take = callback_of(node, topic)
    take(bad)
    assert node.posted == []
    take(good)
    assert len(node.posted) == 1


HIDDEN = ['a\x1b[2J', 'a\n[FATAL] [proemlc]: gone', '\u202eb']
OWN = {'/features': FeatureVector, '/predictions': Prediction, '/labels': LabelSet,
       '/queries': LabelQuery, '/learnt': LabelAnnotation, '/events': ModelEvent,
       '/source/state': SourceState}
# Names of labels, which models of earlier versions may have with hidden characters.
NAMES = {'labels', 'absent', 'names', 'candidates', 'label', 'new_label'}


def beyond(kind):
    """Yield messages of a type, each with one field beyond the bounds."""
    for name, type_name in kind.get_fields_and_field_types().items():
        if 'string' in type_name:
            many = type_name.startswith('sequence')
            for text in ('x' * 10**6, *(() if name in NAMES else HIDDEN)):
                yield name, kind(**{name: [text] if many else text})
            if many:
                yield name, kind(**{name: ['x'] * 100_001})
        elif type_name == 'sequence<float>':
            yield name, kind(**{name: array('f', bytes(4 * (10**7 + 1)))})
        elif type_name == 'sequence<uint64>':
            yield name, kind(**{name: array('Q', bytes(8 * (10**7 + 1)))})
        elif '/' in type_name and type_name != 'builtin_interfaces/Time':
            inner = type(getattr(kind(), name))
            yield from ((f'{name}.{field}', kind(**{name: message}))
                        for field, message in beyond(inner))


@pytest.mark.parametrize('topic', OWN)
def test_every_field_of_every_topic_has_bounds(node, topic):
    take, sent = callback_of(node, topic), 0
    for field, message in beyond(OWN[topic]):
        take(message)
        sent += 1
        assert node.posted == [], field
    assert sent >= 4
