# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators make of the classifier's diagnostics."""

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from proemlc_ros.nodes.operator_node import health_of, loss_of


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
