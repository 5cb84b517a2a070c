# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Malformed requests, guesses of strangers, and sessions; over real HTTP."""

import asyncio
import logging

import pytest

aiohttp = pytest.importorskip('aiohttp')

from web_stand import DEADLINE, Stand, ask, in_stand, message_of, no_time_passes  # noqa: F401

from proemlc_ros.operator.web.guard import Access

TOKEN = 'correct horse battery staple'
SECRET = Access('0.0.0.0', TOKEN)
STRANGER, NEIGHBOUR = '127.0.0.2', '127.0.0.3'
START = b'GET /ws HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nConnection: close\r\n'
POST = b'POST /sign_in HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\n'
UPGRADE = (b'GET /ws HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nUpgrade: websocket\r\n'
           b'Connection: Upgrade\r\n')


def body(content, *headers):
    lines = [*headers, f'Content-Length: {len(content)}'.encode(), b'', content]
    return POST + b'\r\n'.join(lines)


MALFORMED = {
    'cookie of a byte': (START + b'Cookie: proemlc_PORT=\xff\r\n\r\n', 401),
    'cookie of bytes': (START + b'Cookie: \xff\xfe=\x80; a=\xff\r\n\r\n', 401),
    'cookie of separators': (START + b'Cookie: ;;==;"";,=\r\n\r\n', 401),
    'unclosed cookie': (START + b'Cookie: proemlc_PORT="\\377\r\n\r\n', 401),
    'charset': (body(b'{}', b'Content-Type: application/json; charset=klingon'), 400),
    'charset of a byte': (body(b'{}', b'Content-Type: application/json; charset=\xff'), 400),
    'body of bytes': (body(b'\xff\xfe\x00'), 400),
    'body with a surrogate': (body(b'{"token": "\\ud800"}'), 400),
    'deep body': (body(b'[' * 2000), 400),
    'large number': (body(b'{"token": ' + b'9' * 1900 + b'}'), 400),
    'compressed body': (body(b'\x1f\x8bnot gzip', b'Content-Encoding: gzip'), 400),
    'oversized body': (body(b'x' * 3000), 413),
    'expectation': (body(b'{}', b'Expect: miracles'), 417),
    'no host': (b'GET / HTTP/1.0\r\n\r\n', 403),
    'empty host': (b'GET / HTTP/1.1\r\nHost:\r\n\r\n', 403),
    'host of a byte': (b'GET / HTTP/1.1\r\nHost: \xff\r\n\r\n', 403),
    'port of the host': (b'GET / HTTP/1.1\r\nHost: 127.0.0.1:99999\r\n\r\n', 403),
    'bracket in the host': (b'GET / HTTP/1.1\r\nHost: [\r\n\r\n', 403),
    'bracket in the origin': (b'GET /ws HTTP/1.1\r\nHost: HOST\r\nOrigin: http://[\r\n\r\n', 403),
    'origin of a byte': (b'GET /ws HTTP/1.1\r\nHost: HOST\r\nOrigin: \xff\r\n\r\n', 403),
    'method': (b'PROPFIND / HTTP/1.1\r\nHost: HOST\r\n\r\n', 403),
    'method of bytes': (b'\xff\xfe / HTTP/1.1\r\nHost: HOST\r\n\r\n', 400),
    'other protocol': (b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400),
    'version': (b'GET / HTTP/9.9\r\nHost: HOST\r\n\r\n', 400),
    'line without colon': (b'GET / HTTP/1.1\r\nHost: HOST\r\nnonsense\r\n\r\n', 400),
    'null in a header': (b'GET / HTTP/1.1\r\nHost: HOST\r\nX: \x00\r\n\r\n', 400),
    'length': (POST + b'Content-Length: -5\r\n\r\n', 400),
    'lengths': (POST + b'Content-Length: 5\r\nContent-Length: 6\r\n\r\n', 400),
    'chunks': (POST + b'Transfer-Encoding: chunked\r\n\r\nnonsense\r\n', 400),
    'long path': (b'GET /' + b'x' * 9000 + b' HTTP/1.1\r\nHost: HOST\r\n\r\n', 400),
    'long header': (b'GET / HTTP/1.1\r\nHost: HOST\r\nX: ' + b'x' * 9000 + b'\r\n\r\n', 400),
    'path of bytes': (b'GET /%ff%fe.js HTTP/1.1\r\nHost: HOST\r\n\r\n', 404),
    'path out of the folder': (b'GET /../../etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n', 401),
    'null in the path': (b'GET /%00 HTTP/1.1\r\nHost: HOST\r\n\r\n', 404),
    'star': (b'GET * HTTP/1.1\r\nHost: HOST\r\n\r\n', 400),
    'stamp': (b'GET /pictures/%d9%a3.jpg HTTP/1.1\r\nHost: HOST\r\n\r\n', 401),
    'websocket without a cookie': (
        UPGRADE + b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n', 401),
}


@pytest.mark.parametrize('name', MALFORMED)
def test_malformed_request_is_rejected_without_a_traceback(name, caplog):
    data, status = MALFORMED[name]

    async def test(stand):
        port = stand.origin.rpartition(':')[2].encode()
        assert await stand.raw(data.replace(b'PORT', port)) == status
        assert await stand.raw(b'GET / HTTP/1.1\r\nHost: HOST\r\n\r\n') == 200
        assert 'fault' not in {kind for kind, _ in stand.warnings}
        assert all('\n' not in text and len(text) < 500 for _, text in stand.warnings)
    with caplog.at_level(logging.INFO):
        in_stand(test, SECRET, max_attempts=100.0)
    assert caplog.records == []


HANDSHAKES = {
    'no upgrade': (START + b'\r\n', {400, 426}),
    'no key': (UPGRADE + b'Sec-WebSocket-Version: 13\r\n\r\n', {400}),
    'bad key': (UPGRADE + b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \xff\r\n\r\n',
                {400}),
    'bad version': (UPGRADE + b'Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: AAAA\r\n\r\n',
                    {400, 426}),
}


@pytest.mark.parametrize('name', HANDSHAKES)
def test_malformed_handshake_is_rejected_without_a_traceback(name, caplog):
    data, statuses = HANDSHAKES[name]

    async def test(stand):
        assert await stand.raw(data) in statuses
        assert 'fault' not in {kind for kind, _ in stand.warnings}
    with caplog.at_level(logging.INFO):
        in_stand(test)
    assert caplog.records == []


@pytest.mark.parametrize('frame', [
    b'\x81\x02hi', b'\xff\x80\0\0\0\0', b'\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0',
    b'\x81\x81\0\0\0\0\xff', b'\x83\x80\0\0\0\0', b'\x88\x81\0\0\0\0x', b'\x80\x80\0\0\0\0',
    b'\x89\xfe\x01\x00\0\0\0\0', b'\xc1\x84\0\0\0\0junk'],
    ids=['unmasked', 'reserved bits', 'huge', 'not utf-8', 'reserved code', 'short close',
         'nothing to continue', 'long ping', 'not deflate'])
def test_malformed_frame_closes_its_own_page_alone(frame, caplog):
    async def test(stand):
        async with stand.websocket() as calm:
            reader, writer = await stand.connect()
            writer.write((
                f'GET /ws HTTP/1.1\r\nHost: {stand.origin[7:]}\r\nOrigin: {stand.origin}\r\n'
                'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
                'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n').encode())
            assert b' 101 ' in await reader.readline()
            writer.write(frame)
            while len(stand.dashboard._sockets) > 1:
                await asyncio.wait_for(reader.read(65536), DEADLINE)
            writer.close()
            assert (await ask(calm, 'similar', label='x'))['done']
            assert 'fault' not in {kind for kind, _ in stand.warnings}
    with caplog.at_level(logging.INFO):
        in_stand(test)
    assert caplog.records == []


async def sign_in(stand, token, source='127.0.0.1'):
    content = b'{"token": "%s"}' % token.encode()
    return await stand.raw(body(content), source)


@pytest.mark.usefixtures('no_time_passes')
@pytest.mark.parametrize('operator', [NEIGHBOUR, STRANGER], ids=['other address', 'same address'])
def test_guesses_of_a_stranger_do_not_lock_the_operator_out(operator):
    async def guess(stand, statuses):
        while True:
            statuses.append(await sign_in(stand, 'a wrong token', STRANGER))

    async def test(stand):
        statuses = []
        guessers = [asyncio.create_task(guess(stand, statuses)) for _ in range(10)]
        while statuses.count(429) < 10:
            await asyncio.sleep(0.01)
        came_in = [await sign_in(stand, TOKEN, operator) for _ in range(20)]
        for guesser in guessers:
            guesser.cancel()
        assert came_in == [200] * 20
        assert statuses.count(401) <= 2
    in_stand(test, Access('0.0.0.0', TOKEN), max_attempts=2.0)


@pytest.mark.usefixtures('no_time_passes')
def test_requests_of_a_stranger_do_not_use_up_those_of_others():
    page = b'GET /icon.svg HTTP/1.1\r\nHost: HOST\r\n\r\n'

    async def test(stand):
        assert 429 in [await stand.raw(page, STRANGER) for _ in range(30)]
        assert await stand.raw(page, NEIGHBOUR) == 200
        assert await sign_in(stand, TOKEN, STRANGER) == 200
        async with stand.browser.post('/sign_in', json={'token': TOKEN},
                                      headers={'Origin': stand.origin}):
            pass
        for number in range(2, 40):  # all strangers together use up what all may have
            await stand.raw(page, f'127.0.1.{number}')
        assert await stand.raw(page, '127.0.2.1') == 429
        async with stand.browser.get('/icon.svg') as answer:
            assert answer.status == 200
    in_stand(test, Access('0.0.0.0', TOKEN), max_http_rate=5.0)


def test_session_ends_with_its_time_and_the_page_with_it():
    async def test(stand):
        # Set by hand: a busy machine may take longer to open the page than its session lasts.
        now = [100.0]
        stand.dashboard._guard._sessions._clock = lambda: now[0]
        async with stand.browser.post('/sign_in', json={'token': TOKEN},
                                      headers={'Origin': stand.origin}) as answer:
            cookie = answer.headers['Set-Cookie']
        assert 'HttpOnly' in cookie and 'SameSite=Strict' in cookie and 'Max-Age=1;' in cookie
        assert TOKEN not in cookie
        value = cookie.split(';')[0]
        async with stand.websocket() as socket:
            await message_of(socket, 'health')
            while (message := await asyncio.wait_for(
                    socket.receive(), DEADLINE)).type is aiohttp.WSMsgType.TEXT:
                pass
            assert (socket.close_code, message.extra) == (1008, 'the session has ended')
        now[0] += 1.0
        with pytest.raises(aiohttp.WSServerHandshakeError, match='401'):
            await stand.websocket(Cookie=value)
    in_stand(test, Access('0.0.0.0', TOKEN), session=1.0)


def test_restart_ends_all_sessions():
    async def cookie_of(stand):
        async with stand.browser.post('/sign_in', json={'token': TOKEN},
                                      headers={'Origin': stand.origin}) as answer:
            return answer.headers['Set-Cookie'].split(';')[0].split('=')[1]

    async def run():
        async with Stand(SECRET).open() as stand:
            cookie = await cookie_of(stand)
        async with Stand(SECRET).open() as stand:
            port = stand.origin.rpartition(':')[2]
            with pytest.raises(aiohttp.WSServerHandshakeError, match='401'):
                await stand.websocket(Cookie=f'proemlc_{port}={cookie}')
    asyncio.run(run())


pytest.importorskip('aiohttp')

from proemlc_ros.errors import ParameterError
from proemlc_ros.operator.web.guard import Access, Sessions


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


pytest.importorskip('aiohttp')

from proemlc_ros.errors import RateExceededError
from proemlc_ros.operator.web.guard import MAX_CLIENTS, _ClientLimits, client_of


def passed(limits, client, count=100):
    """Return how many of a number of tries at once pass."""
    for number in range(count):
        try:
            limits.check(client)
        except RateExceededError:
            return number
    return count


def test_each_client_has_a_limit_of_its_own():
    limits = _ClientLimits(0.005, 100, 'tries')  # so slow that the test's time adds none
    assert passed(limits, 'a') == 1
    assert passed(limits, 'b') == 1 and passed(limits, 'a') == 0


def test_all_together_have_a_limit_too_and_no_client_uses_it_up_alone():
    limits = _ClientLimits(0.001, 3.0, 'tries')
    assert passed(limits, 'a') == 1 and passed(limits, 'a') == 0
    assert sum(passed(limits, f'b{number}', 1) for number in range(20)) in (2, 3)


def test_memory_is_bounded():
    limits = _ClientLimits(0.001, 0, 'tries')
    assert all(passed(limits, f'client {number}', 1) for number in range(3 * MAX_CLIENTS))
    assert len(limits) == MAX_CLIENTS
    assert passed(limits, f'client {3 * MAX_CLIENTS - 1}') == 0  # the newest are remembered


@pytest.mark.parametrize(('address', 'client'), [
    ('127.0.0.2', '127.0.0.2'), ('::ffff:10.1.2.3', '10.1.2.3'),
    ('fe80::1%eth0', 'fe80::/64'), ('2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'),
    (None, 'unknown'), ('', 'unknown'), ('/run/socket', 'unknown')])
def test_client_is_an_address_or_a_network(address, client):
    assert client_of(address) == client


def test_pictures_of_samples_need_a_session_too():
    async def test(stand):
        for path in ('/samples/1.jpg', '/pictures/1.jpg', '/ws'):
            async with stand.browser.get(path, headers={'Origin': stand.origin}) as answer:
                assert answer.status == 401, path
    in_stand(test, SECRET)
