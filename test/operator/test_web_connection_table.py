# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Many connections and slow ones; over real sockets."""

import asyncio
import logging
import shutil
import ssl
import subprocess
import time

import pytest

pytest.importorskip('aiohttp')

from web_stand import DEADLINE, ask, in_stand

from proemlc_ros.operator.web.connection_table import ConnectionTable, Standing
from proemlc_ros.operator.web.guard import Access

TOKEN = 'correct horse battery staple'
PAGE = b'GET /icon.svg HTTP/1.1\r\nHost: HOST\r\n\r\n'
HALF = {
    'nothing': b'', 'half a line': b'GET / HT', 'half a header': b'GET / HTTP/1.1\r\nHost: HO',
    'no body': b'POST /sign_in HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\n'
               b'Content-Length: 100\r\n\r\n{',
    'answered, then half a line': PAGE + b'GET / HT',
}


class Fake:
    """A connection of a client."""

    def __init__(self, table, client, dropped):
        self.client, self.handler, self.since = client, object(), 0.0
        self.standing, self.is_page = Standing.UNKNOWN, False
        self._table, self._dropped = table, dropped

    def drop(self):
        self._table.remove(self)
        self._dropped.append(self)


@pytest.fixture
def world():
    """Return a clock, the dropped connections, a table, and what opens a connection in it."""
    now, dropped = [0.0], []
    table = ConnectionTable(6, 3, 10.0, clock=lambda: now[0])

    def connect(client):
        now[0] += 1.0
        connection = Fake(table, client, dropped)
        table.add(connection)
        return connection
    return now, dropped, table, connect


def test_client_with_too_many_connections_loses_its_own_oldest(world):
    _, dropped, table, connect = world
    other = connect('b')
    mine = [connect('a') for _ in range(5)]
    assert dropped == mine[:2] and len(table) == 4
    table.request_came(mine[2].handler, Standing.UNKNOWN)
    connect('a')
    assert dropped == [*mine[:2], mine[3]] and other not in dropped


def test_full_table_drops_of_the_client_that_has_most(world):
    _, dropped, table, connect = world
    connect('b')
    greedy = [connect('a') for _ in range(3)]
    connect('c')
    connect('d')
    connect('e')
    assert dropped == [greedy[0]] and len(table) == 6


def test_connection_that_presented_a_wrong_token_goes_first(world):
    _, dropped, table, connect = world
    connect('a')
    guesser = connect('a')
    connect('a')
    table.request_came(guesser.handler, Standing.REJECTED)
    connect('a')
    assert dropped == [guesser]


def test_admitted_connections_and_pages_stay(world):
    now, dropped, table, connect = world
    page, admitted = connect('a'), connect('a')
    table.set_page(page.handler, True)
    table.request_came(admitted.handler, Standing.ADMITTED)
    for _ in range(20):
        connect('a')
    assert page not in dropped and admitted not in dropped
    now[0] += 11.0
    table.drop_slow()
    assert list(table._open.values()) == [page]
    table.set_page(page.handler, False)
    now[0] += 11.0
    table.drop_slow()
    assert len(table) == 0


def test_time_begins_again_with_a_whole_request_only(world):
    now, dropped, table, connect = world
    slow, quick = connect('a'), connect('a')
    now[0] += 9.0
    table.request_came(quick.handler, Standing.UNKNOWN)
    now[0] += 5.0
    table.drop_slow()
    assert dropped == [slow]


@pytest.mark.parametrize('name', HALF)
def test_half_sent_request_is_ended(name):
    async def test(stand):
        before = time.monotonic()  # the page counts from the moment it accepts
        reader, writer = await stand.connect()
        writer.write(HALF[name].replace(b'HOST', stand.origin[7:].encode()))
        while True:
            try:
                if not await asyncio.wait_for(reader.read(65536), DEADLINE):
                    break
            except ConnectionError:
                break
        assert 0.5 <= time.monotonic() - before < DEADLINE
        writer.close()
        assert await stand.raw(PAGE) == 200
    in_stand(test, Access('0.0.0.0', TOKEN), request_timeout=0.5)


def test_bytes_one_by_one_gain_no_time():
    async def test(stand):
        before = time.monotonic()
        reader, writer = await stand.connect()
        ended = asyncio.create_task(reader.read())
        writer.write(b'GET / HTTP/1.1\r\nX: ')
        while not ended.done() and time.monotonic() - before < DEADLINE:
            writer.write(b'x')
            await asyncio.sleep(0.02)
        await asyncio.gather(ended, return_exceptions=True)
        assert 0.5 <= time.monotonic() - before < DEADLINE
        writer.close()
    in_stand(test, Access('0.0.0.0', TOKEN), request_timeout=0.5)


async def until_empty(stand):
    async def wait():
        while len(stand.dashboard._table):
            await asyncio.sleep(0.05)
    await asyncio.wait_for(wait(), DEADLINE)


def test_client_that_does_not_read_is_ended():
    async def test(stand):
        stand.dashboard._files['large.js'] = (b'x' * 30_000_000, 'text/javascript')
        _, writer = await stand.connect()
        writer.transport.pause_reading()
        writer.write(b'GET /large.js HTTP/1.1\r\nHost: %s\r\n\r\n' % stand.origin[7:].encode())
        while not len(stand.dashboard._table):
            await asyncio.sleep(0.01)
        await until_empty(stand)
        writer.close()
    in_stand(test, request_timeout=0.5)


def test_idle_connections_do_not_keep_the_operator_out():
    async def test(stand):
        async with stand.websocket() as page:
            idle = [await stand.connect(f'127.0.0.{2 + number % 50}') for number in range(400)]
            assert len(stand.dashboard._table) <= 41
            assert (await ask(page, 'similar', label='x'))['done']
            async with stand.websocket() as another:
                assert (await ask(another, 'similar', label='x'))['done']
            for _, writer in idle:
                writer.close()
    in_stand(test, max_connections=40, max_client_connections=10)


def test_many_connections_of_one_address_leave_a_place_for_the_operator_behind_it():
    async def test(stand):
        idle = [await stand.connect() for _ in range(100)]
        assert len(stand.dashboard._table) == 10
        async with stand.websocket() as page:
            assert (await ask(page, 'similar', label='x'))['done']
        for _, writer in idle:
            writer.close()
    in_stand(test, max_connections=40, max_client_connections=10)


@pytest.fixture(scope='module')
def tls(tmp_path_factory):
    openssl = shutil.which('openssl') or pytest.skip('needs openssl, to make a certificate')
    folder = tmp_path_factory.mktemp('tls')
    key, certificate = folder / 'key.pem', folder / 'certificate.pem'
    subprocess.run(
        [openssl, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1',
         '-nodes', '-subj', '/CN=localhost', '-keyout', key, '-out', certificate],
        check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def test_connections_count_before_and_during_the_handshake_of_tls(tls, caplog):
    async def test(stand):
        silent = [await stand.connect() for _ in range(20)]
        assert len(stand.dashboard._table) == 10
        assert await stand.raw(PAGE) == 0  # not TLS
        secure = stand.origin.replace('http:', 'https:')
        async with stand.browser.post(f'{secure}/sign_in', json={'token': TOKEN}, ssl=False,
                                      headers={'Origin': secure}) as answer:
            assert answer.status == 200 and 'Secure' in answer.headers['Set-Cookie']
        async with stand.browser.ws_connect(f'{secure}/ws', ssl=False,
                                            headers={'Origin': secure}) as page:
            assert (await ask(page, 'similar', label='x'))['done']
        await stand.browser.close()
        await until_empty(stand)
        for _, writer in silent:
            writer.close()
    with caplog.at_level(logging.INFO):
        in_stand(test, Access('0.0.0.0', TOKEN), tls=tls, request_timeout=5.0,
                 max_connections=40, max_client_connections=10)
    assert caplog.records == []
