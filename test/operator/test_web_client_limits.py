# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Limits per client address."""

import pytest

pytest.importorskip('aiohttp')

from proemlc_ros.errors import RateExceededError
from proemlc_ros.operator.web.client_limits import MAX_CLIENTS, ClientLimits, client_of


def passed(limits, client, count=100):
    """Return how many of a number of tries at once pass."""
    for number in range(count):
        try:
            limits.check(client)
        except RateExceededError:
            return number
    return count


def test_each_client_has_a_limit_of_its_own():
    limits = ClientLimits(0.005, 100, 'tries')  # so slow that the test's time adds none
    assert passed(limits, 'a') == 1
    assert passed(limits, 'b') == 1 and passed(limits, 'a') == 0


def test_all_together_have_a_limit_too_and_no_client_uses_it_up_alone():
    limits = ClientLimits(0.001, 3.0, 'tries')
    assert passed(limits, 'a') == 1 and passed(limits, 'a') == 0
    assert sum(passed(limits, f'b{number}', 1) for number in range(20)) in (2, 3)


def test_memory_is_bounded():
    limits = ClientLimits(0.001, 0, 'tries')
    assert all(passed(limits, f'client {number}', 1) for number in range(3 * MAX_CLIENTS))
    assert len(limits) == MAX_CLIENTS
    assert passed(limits, f'client {3 * MAX_CLIENTS - 1}') == 0  # the newest are remembered


@pytest.mark.parametrize(('address', 'client'), [
    ('127.0.0.2', '127.0.0.2'), ('::ffff:10.1.2.3', '10.1.2.3'),
    ('fe80::1%eth0', 'fe80::/64'), ('2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'),
    (None, 'unknown'), ('', 'unknown'), ('/run/socket', 'unknown')])
def test_client_is_an_address_or_a_network(address, client):
    assert client_of(address) == client
