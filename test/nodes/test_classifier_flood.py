# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations that come faster than they can be learnt: each is accounted for."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import annotation, values_of
from lifecycle_msgs.msg import Transition
from trials.annotation_flood import FloodOperator

pytestmark = pytest.mark.slow


@pytest.fixture
def flood(ros):
    """Return a function that floods the classifier from a publisher of some queue length."""
    operators = []

    def start(depth: int, count: int):
        operators.append(FloodOperator(ros, depth))
        return operators[-1].flood(count)[0]
    yield start
    for operator in operators:
        operator.close()


@pytest.mark.parametrize('depth', [1, 5000])
def test_every_annotation_of_a_flood_is_learnt_rejected_or_counted_as_lost(
        classifier, flood, depth):
    # A rate below that at which the busiest machine receives them.
    node, _ = classifier('max_annotation_rate:=50.0', 'warning_period:=3600.0')
    account = flood(depth, 5000)
    assert account.total == 5000, account
    # A publisher of the shorter queue keeps nothing for a node that is not let run.
    assert account['learnt'] >= 50 and account.get('rate', 0) + account['lost'] >= 500
    assert ('annotations were lost' in node.output) == (account['lost'] > 0)
    assert node.output.count('Rejected, rate:') <= 1  # At most one line per warning_period.


def test_a_burst_within_the_rate_is_learnt_whole(classifier, flood):
    classifier()
    assert flood(1000, 800) == {'learnt': 800, 'lost': 0}


def test_annotations_to_a_node_that_is_not_active_are_counted(classifier):
    _, partner = classifier()
    change = Transition(id=Transition.TRANSITION_DEACTIVATE)
    assert partner.call('change_state', transition=change).success
    partner.annotations.publish(annotation(labels=['cup'], features=values_of(1)))
    answer = partner.annotate(labels=['cup'], features=values_of(1))
    assert not answer.success and 'not active' in answer.message
    values = partner.diagnostics(lambda v: v.get('Rejected: not_active') == '2')
    assert values['Journal entries'] == '0'
