# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators make of the classifier's messages and diagnostics."""

import asyncio

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from proemlc_ros.msg import LabelSet, ModelEvent

from proemlc_ros.nodes.operator.operator_node import OperatorNode, health_of, loss_of


def status(**values) -> DiagnosticStatus:
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN, message='3 messages rejected',
        values=[KeyValue(key=key.replace('_', ' '), value=value) for key, value in values.items()])


def test_health_has_level_message_and_values():
    health = health_of(status(Labels='3', Samples_learnt='12'))
    assert (health.level, health.message) == (1, '3 messages rejected')
    assert health.values == (('Labels', '3'), ('Samples learnt', '12'))


@pytest.mark.parametrize('text, loss', [
    ('0.1250', 0.125), ('none yet', None), ('nan', None), ('inf', None), ('', None)])
def test_the_loss_is_a_number_or_not_there_yet(text, loss):
    assert loss_of(status(Rolling_Hamming_loss=text)) == loss


def test_without_that_value_there_is_no_loss():
    assert loss_of(status(Labels='3')) is None


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
     LabelSet(names=['cup'], counts=[1], thresholds=[0.0]))])
def test_message_that_contradicts_itself_is_dropped_and_the_next_one_counts(
        node, topic, bad, good):
    take = callback_of(node, topic)
    take(bad)
    assert node.posted == []
    take(good)
    assert len(node.posted) == 1
