# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Clocks that jump: a recording that loops, a simulation that starts anew."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import values_of
from rosgraph_msgs.msg import Clock

pytestmark = pytest.mark.slow


def test_a_clock_that_nobody_publishes_is_warned_of(classifier):
    node, _ = classifier('use_sim_time:=true')
    node.wait_for('use_sim_time is true, but nobody publishes /clock')


def test_a_clock_that_jumps_back_clears_the_buffer(classifier):
    node, partner = classifier('query_rate:=0.0')
    for _ in range(2):
        for number in range(100, 104):
            partner.heard['predictions'].clear()
            partner.predict(float(number), values_of(number))
    node.wait_for('jumped back')
    partner.spin_for(0.5)
    assert node.output.count('jumped back') == 1
    # A vector is kept after its prediction is published.
    values = partner.diagnostics(lambda values: int(values['Buffered vectors']) >= 4)
    assert (values['Buffered vectors'], values['Clock jumps']) == ('4', '1')
    assert partner.annotate(102.0, ['cup']).success


def test_simulated_time_that_starts_anew_clears_the_buffer(classifier):
    node, partner = classifier('use_sim_time:=true', 'warning_period:=0.0')
    clock = partner.node.create_publisher(Clock, '/clock', 10)
    partner.spin_until(clock.get_subscription_count)

    def tell(seconds: int) -> int:
        """Tell the time until the node has it, and return how often its clock has jumped."""
        message = Clock()
        message.clock.sec = seconds
        partner.spin_until(lambda: clock.publish(message) or [
            heard for heard in partner.heard['diagnostics'] if heard.header.stamp.sec == seconds],
            what='the time')
        return int(partner.diagnostics(since=float(seconds))['Clock jumps'])
    jumps = tell(100)
    partner.predict(100.0, values_of(1))
    assert partner.annotate(100.0, ['cup']).success
    assert node.output.count('The clock jumped') == jumps
    assert tell(5) == jumps + 1
    assert node.output.count('The clock jumped') == jumps + 1
    assert not partner.annotate(0.0, ['cup']).success
    partner.predict(6.0, values_of(2))
    assert partner.annotate(6.0, ['cup']).success


def test_a_clock_that_jumps_often_is_logged_sparingly(classifier):
    node, partner = classifier('use_sim_time:=true', 'warning_period:=3600.0', 'query_rate:=0.0')
    clock = partner.node.create_publisher(Clock, '/clock', 10)
    partner.spin_until(clock.get_subscription_count)
    seconds = itertools.count(100_000, -2)

    def jumped_often() -> bool:
        """Let time and stamps jump once more; either may be lost on the way."""
        message = Clock()
        message.clock.sec = next(seconds)
        clock.publish(message)
        partner.send(float(message.clock.sec), values_of(1))
        heard = partner.heard['diagnostics']
        return bool(heard) and any(
            entry.key == 'Clock jumps' and int(entry.value) > 50
            for entry in heard[-1].status[0].values)
    partner.spin_until(jumped_often)
    assert node.output.count('The clock jumped') == 1
    assert node.output.count('jumped back') <= 1
