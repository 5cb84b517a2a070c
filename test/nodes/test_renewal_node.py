# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewals of a running node: asked for, published, in the diagnostics, and there after a kill."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import values_of
from proemlc_ros.msg import ModelEvent

pytestmark = pytest.mark.slow


def test_a_renewal_is_published_and_survives_a_kill(classifier):
    # A ridge that leaves the model with nothing, so that any other one is better.
    node, partner = classifier('ridge:=1e6')
    for number in range(1, 41):
        answer = partner.annotate(float(number), [f'label {number % 4}'],
                                  values_of(number % 4) + 0.01 * number)
        assert answer.success, answer.message
    version = partner.predict(100.0, values_of(1)).label_set_version
    # Its process runs only where nothing else on the machine wants to.
    answer = partner.call('renew', timeout=400.0)
    assert answer.success and 'renewed with' in answer.message, answer.message
    partner.spin_until(lambda: any(
        event.kind == ModelEvent.RENEW for event in partner.heard['events']))
    assert 'renewed with' in partner.diagnostics()['Renewal']
    before = partner.predict(101.0, values_of(1))
    assert before.label_set_version == version
    assert partner.call('undo').success
    undone = partner.predict(102.0, values_of(1))
    node.kill()
    _, partner = classifier('ridge:=1e6')
    after = partner.predict(103.0, values_of(1))
    np.testing.assert_allclose(after.scores, undone.scores, atol=1e-6)
    assert after.label_set_version == undone.label_set_version
