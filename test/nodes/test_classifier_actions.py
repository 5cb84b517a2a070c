# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Work that takes seconds as ROS actions, over DDS: feedback, results, cancel."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.action')

from action_msgs.msg import GoalStatus
from classifier_partner import annotation, values_of
from proemlc_ros.action import ChangeSamples, Reembed, Renew
from rclpy.action import ActionClient

pytestmark = pytest.mark.slow


class Goal:
    """A goal that was sent, and what came of it."""

    def __init__(self, partner, kind, name, **fields):
        self.partner, self.feedback = partner, []
        self.client = ActionClient(partner.node, kind, f'/proemlc/{name}')
        partner.spin_until(self.client.server_is_ready, what=f'the action {name}')
        sent = self.client.send_goal_async(
            kind.Goal(**fields),
            feedback_callback=lambda one: self.feedback.append(one.feedback.progress))
        partner.spin_until(sent.done, what='the goal to be taken')
        self.handle = sent.result()

    def ended(self):
        """Return status and result."""
        future = self.handle.get_result_async()
        self.partner.spin_until(future.done, what='the result')
        return future.result().status, future.result().result

    def cancel(self):
        """Cancel it; return whether that was accepted."""
        future = self.handle.cancel_goal_async()
        self.partner.spin_until(future.done, what='the answer to cancel')
        return bool(future.result().goals_canceling)


def test_renewal_gives_feedback_can_be_cancelled_and_keeps_predictions_going(classifier):
    node, partner = classifier()
    partner.teach(60)
    goal = Goal(partner, Renew, 'renew')
    assert goal.handle.accepted
    partner.spin_until(lambda: goal.feedback, what='feedback')
    assert 'renewing the model of 60 samples' in goal.feedback[0]
    # While one is carried out, another is rejected, and everything else goes on.
    assert not Goal(partner, ChangeSamples, 'change_samples', samples=[1]).handle.accepted
    partner.predict(1.0, values_of(1))
    assert partner.annotate(labels=['cup'], features=values_of(99)).success
    assert goal.cancel()
    status, result = goal.ended()
    assert status == GoalStatus.STATUS_CANCELED and not result.success
    assert result.message == 'it was cancelled; the running model stays'
    again = Goal(partner, Renew, 'renew')
    status, result = again.ended()
    assert status == GoalStatus.STATUS_SUCCEEDED and result.success, result.message
    assert 'failed' not in node.output and 'Traceback' not in node.output
    assert node.stop() == 0


def test_samples_are_changed_and_what_is_wrong_is_said(classifier):
    _, partner = classifier()
    partner.teach(6)
    goal = Goal(partner, ChangeSamples, 'change_samples', samples=[1, 2, 2], labels=['plate'],
                annotator='Ada')
    status, result = goal.ended()
    assert status == GoalStatus.STATUS_SUCCEEDED and len(result.steps) == 2, result.message
    partner.spin_until(lambda: 'plate' in partner.heard['labels'][-1].names)
    for fields in ({'samples': [99]}, {'samples': [1], 'labels': ['a\x1b[2J']},
                   {'samples': list(range(1, 10_002))}, {'samples': [1], 'annotator': 'x' * 300}):
        status, result = Goal(partner, ChangeSamples, 'change_samples', **fields).ended()
        assert status == GoalStatus.STATUS_ABORTED and not result.success and result.message
    for path in ('/etc/passwd', '../secret.yaml', '/dev/ptmx'):
        status, result = Goal(partner, Reembed, 'reembed', sensors_file=path).ended()
        assert status == GoalStatus.STATUS_ABORTED and not result.success
        assert 'root:' not in result.message
    assert partner.call('annotate', annotation=annotation(
        labels=['cup'], features=values_of(7))).success


def test_a_signal_amid_a_goal_ends_the_node(classifier):
    node, partner = classifier()
    partner.teach(60)
    goal = Goal(partner, Renew, 'renew')
    partner.spin_until(lambda: goal.feedback, what='feedback')
    assert node.stop() == 0
    assert 'Traceback' not in node.output
