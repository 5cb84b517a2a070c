# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Clocks that jump: a recording that loops, a simulation that starts anew."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import values_of
from rosgraph_msgs.msg import Clock

pytestmark = pytest.mark.slow


def test_a_clock_that_jumps_back_clears_the_buffer(classifier):
    node, partner = classifier('query_rate:=0.0')
    for _ in range(2):
        for number in range(100, 104):
            partner.heard['predictions'].clear()
            partner.predict(float(number), values_of(number))
    node.wait_for('jumped back')
    partner.spin_for(0.5)
    assert node.output.count('jumped back') == 1
    values = partner.diagnostics()
    assert (values['Buffered vectors'], values['Clock jumps']) == ('4', '1')
    assert partner.annotate(102.0, ['cup']).success


def test_simulated_time_that_starts_anew_clears_the_buffer(classifier):
    node, partner = classifier('use_sim_time:=true', 'warning_period:=0.0')
    clock = partner.node.create_publisher(Clock, '/clock', 10)
    partner.spin_until(clock.get_subscription_count)

    def tell(seconds: int) -> None:
        message = Clock()
        message.clock.sec = seconds
        clock.publish(message)
        partner.spin_for(0.3)
    for seconds in (98, 99, 100):  # the first may be told before the node hears
        tell(seconds)
    partner.predict(100.0, values_of(1))
    assert partner.annotate(100.0, ['cup']).success
    jumps = int(partner.diagnostics()['Clock jumps'])
    assert node.output.count('The clock jumped') == jumps
    tell(5)
    node.wait_for('The clock jumped')
    partner.diagnostics(lambda values: int(values['Clock jumps']) == jumps + 1)
    assert node.output.count('The clock jumped') == jumps + 1
    assert not partner.annotate(0.0, ['cup']).success
    partner.predict(6.0, values_of(2))
    assert partner.annotate(6.0, ['cup']).success


def test_a_clock_that_jumps_often_is_logged_sparingly(classifier):
    node, partner = classifier('use_sim_time:=true', 'warning_period:=60.0', 'query_rate:=0.0')
    clock = partner.node.create_publisher(Clock, '/clock', 10)
    partner.spin_until(clock.get_subscription_count)
    jumps = int(partner.diagnostics()['Clock jumps'])
    for number in range(100):
        message = Clock()
        message.clock.sec = 100 - number
        clock.publish(message)
        partner.send(100.0 - 2 * number if number < 50 else 1.0, values_of(number))
        partner.spin_for(0.02)
    partner.diagnostics(lambda values: int(values['Clock jumps']) > jumps + 50)
    assert node.output.count('The clock jumped') == 1
    assert node.output.count('jumped back') <= 1
