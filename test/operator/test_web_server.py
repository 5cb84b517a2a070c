# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Who may open the page, and how much of it; over real HTTP and websockets."""

import asyncio
import time

import pytest

aiohttp = pytest.importorskip('aiohttp')

from web_stand import DEADLINE, ask, in_stand, message_of, no_time_passes  # noqa: F401

from proemlc_ros.operator.pictures import CameraPicture
from proemlc_ros.operator.web.access import Access
from proemlc_ros.operator.web.guard import GUESS_DELAY

TOKEN = 'correct horse battery staple'


def test_page_and_its_files_are_served_with_strict_headers():
    async def test(stand):
        for path in ('/', '/index.html', '/app.js', '/style.css', '/icon.svg'):
            async with stand.browser.get(path) as answer:
                assert answer.status == 200 and await answer.read()
                policy = answer.headers['Content-Security-Policy']
                assert "default-src 'none'" in policy and 'unsafe' not in policy
                assert answer.headers['X-Content-Type-Options'] == 'nosniff'
        for path in ('/nothing.js', '/../server.py', '/%2e%2e/server.py', '/pictures/x.jpg'):
            async with stand.browser.get(path) as answer:
                assert answer.status == 404
    in_stand(test)


def test_foreign_host_and_origin_are_rejected():
    async def test(stand):
        async with stand.browser.get('/', headers={'Host': 'evil.example'}) as answer:
            assert answer.status == 403
        for origin in ('http://evil.example', 'null'):
            with pytest.raises(aiohttp.WSServerHandshakeError, match='403'):
                await stand.websocket(Origin=origin)
        with pytest.raises(aiohttp.WSServerHandshakeError, match='403'):
            await stand.browser.ws_connect('/ws')
        async with stand.browser.post('/sign_in', json={'token': TOKEN},
                                      headers={'Origin': 'http://evil.example'}) as answer:
            assert answer.status == 403
    in_stand(test)


def test_token_opens_the_page_and_nothing_else_does():
    async def sign_in(stand, **content):
        async with stand.browser.post('/sign_in', headers={'Origin': stand.origin},
                                      **content) as answer:
            return answer.status

    async def test(stand):
        stand.pictures.add(CameraPicture(7, b'jpeg'))
        for wrong in ({'json': {'token': 'wrong'}}, {'json': {'token': ''}}):
            assert await sign_in(stand, **wrong) == 401
        for bad in ({'json': {'token': 5}}, {'json': []}, {'data': b'{'}):
            assert await sign_in(stand, **bad) == 400
        assert await sign_in(stand, data=b'x' * 5000) == 413
        with pytest.raises(aiohttp.WSServerHandshakeError, match='401'):
            await stand.websocket()
        async with stand.browser.get('/pictures/7.jpg') as answer:
            assert answer.status == 401
        assert await sign_in(stand, json={'token': TOKEN}) == 200
        async with stand.browser.get('/pictures/7.jpg') as answer:
            assert answer.status == 200
        async with stand.websocket() as socket:
            await message_of(socket, 'health')
    in_stand(test, Access('0.0.0.0', TOKEN), max_attempts=100.0)


@pytest.mark.usefixtures('no_time_passes')
def test_guessing_tokens_is_slowed_down():
    async def test(stand):
        async def guess():
            async with stand.browser.post('/sign_in', json={'token': 'guess'},
                                          headers={'Origin': stand.origin}) as answer:
                return answer.status

        assert await guess() == 401
        before = time.monotonic()
        statuses = await asyncio.gather(*(guess() for _ in range(19)))
        assert statuses.count(429) == 18 and time.monotonic() - before >= GUESS_DELAY
        assert {kind for kind, _ in stand.warnings} == {'wrong token'}
    in_stand(test, Access('0.0.0.0', TOKEN), max_attempts=2.0)


async def closing_code(socket):
    while (message := await asyncio.wait_for(socket.receive(), DEADLINE)).type not in (
            aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR):
        pass
    return socket.close_code or message.data


def test_flood_is_cut_off_and_others_go_on():
    async def test(stand):
        async with stand.websocket() as flooder, stand.websocket() as calm:
            for number in range(2000):
                await flooder.send_json({'id': number, 'do': 'similar', 'label': 'x'})
                if flooder.closed:
                    break
            assert await closing_code(flooder) == aiohttp.WSCloseCode.POLICY_VIOLATION
            assert (await ask(calm, 'similar', label='x'))['done']
    in_stand(test)


# A server that stops reading may reset the connection before its reason (1009) arrives: 1006.
@pytest.mark.parametrize(('sent', 'codes'), [
    ('{' * 10, {1008}), ('[' * 100_000, {1008}), (b'bytes', {1008}),
    ('"' + 'x' * 300_000 + '"', {1009, 1006})], ids=['broken', 'deep', 'binary', 'oversized'])
def test_invalid_request_ends_the_connection(sent, codes):
    async def test(stand):
        async with stand.websocket() as socket:
            await (socket.send_str if isinstance(sent, str) else socket.send_bytes)(sent)
            assert await closing_code(socket) in codes
            assert stand.actions.asked == []
    in_stand(test)


@pytest.mark.usefixtures('no_time_passes')
def test_number_of_pages_and_of_requests_is_limited():
    async def test(stand):
        async with stand.websocket(), stand.websocket():
            with pytest.raises(aiohttp.WSServerHandshakeError, match='503'):
                await stand.websocket()
        statuses = set()
        for _ in range(60):
            async with stand.browser.get('/icon.svg') as answer:
                statuses.add(answer.status)
        assert statuses == {200, 429}
    in_stand(test, max_pages=2, max_http_rate=5.0)
