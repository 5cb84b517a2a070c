# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Who may open the page."""

import pytest

pytest.importorskip('aiohttp')

from proemlc_ros.errors import ParameterError
from proemlc_ros.operator.web.access import Access, Sessions

TOKEN = '0123456789abcdef'


@pytest.mark.parametrize('address', ['0.0.0.0', '192.168.1.5', '::', 'robot.local'])
def test_address_beyond_loopback_needs_a_token(address):
    with pytest.raises(ParameterError, match='token_file'):
        Access(address)
    Access(address, TOKEN)


def test_guessable_token_is_rejected():
    with pytest.raises(ParameterError, match='at least 16'):
        Access('0.0.0.0', 'secret')


@pytest.mark.parametrize('host', [
    'localhost', 'localhost:8642', '127.0.0.1:8642', '[::1]:8642', 'LOCALHOST:1'])
def test_loopback_serves_its_own_names(host):
    assert Access().host_allowed(host)


@pytest.mark.parametrize('host', [
    'evil.example', 'evil.example:8642', '127.0.0.1.evil.example', 'localhost.evil.example',
    '192.168.1.5', '', '[', 'a b'])
def test_loopback_rejects_every_other_name(host):
    assert not Access().host_allowed(host)


def test_beyond_loopback_addresses_pass_and_foreign_names_do_not():
    access = Access('0.0.0.0', TOKEN, ('kitchen.lan',))
    assert access.host_allowed('192.168.1.5:8642')
    assert access.host_allowed('kitchen.lan:8642')
    assert not access.host_allowed('evil.example:8642')


@pytest.mark.parametrize(('origin', 'allowed'), [
    ('http://localhost:8642', True), ('https://localhost:8642', True),
    ('http://LOCALHOST:8642', True), ('http://localhost:9999', False),
    ('http://evil.example', False), ('null', False), ('', False), (None, False),
    ('file://localhost:8642', False)])
def test_only_our_own_origin_may_act(origin, allowed):
    assert Access().origin_allowed(origin, 'localhost:8642') is allowed


def test_origin_that_is_no_address_is_rejected():
    assert not Access().origin_allowed('http://[', 'localhost:8642')


@pytest.mark.parametrize('token', [
    'x' * 201, 'a token\x00 nobody can type', 'half of a surrogate pair \ud800'])
def test_token_that_nobody_could_present_is_rejected(token):
    with pytest.raises(ParameterError, match='nobody could present'):
        Access('0.0.0.0', token)


def test_token_is_compared_and_never_shown():
    access = Access('0.0.0.0', TOKEN)
    assert access.token_matches(TOKEN) and not access.token_matches(TOKEN + 'x')
    assert TOKEN not in repr(access)


def test_cookie_is_valid_for_its_time_and_of_this_start_alone():
    now = [100.0]
    sessions = Sessions(60.0, clock=lambda: now[0])
    cookie = sessions.issue()
    assert sessions.seconds_left(cookie) == 60.0
    now[0] += 59.0
    assert sessions.seconds_left(cookie) == pytest.approx(1.0)
    now[0] += 1.0
    assert sessions.seconds_left(cookie) == 0.0
    later = sessions.issue()
    assert sessions.seconds_left(later) == 60.0
    assert Sessions(60.0, clock=lambda: now[0]).seconds_left(later) == 0.0


def test_forged_cookie_is_worth_nothing():
    sessions = Sessions(60.0)
    end, _, signature = sessions.issue().partition('-')
    for forged in (None, '', '-', 'x', 'ü', '\udcff', end, signature, f'9{end}-{signature}',
                   f'inf-{signature}', f'{end}-{signature}0', f'{end}-{signature[:-1]}'):
        assert sessions.seconds_left(forged) == 0.0
