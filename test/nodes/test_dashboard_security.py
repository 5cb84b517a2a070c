# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Access to the page, tried with a real browser against the real node."""

import asyncio
import functools
import http.server
import shutil
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from dashboard_stand import DEADLINE, Page

aiohttp = pytest.importorskip('aiohttp')
pytestmark = pytest.mark.slow
TOKEN = 'a-token-that-nobody-guesses'

# Opens a websocket and tells how it ended.
OPEN = """(address) => new Promise((done) => {
  const socket = new WebSocket(address.replace('http', 'ws') + 'ws');
  socket.onopen = () => done('open');
  socket.onclose = (event) => done(`closed ${event.code}`);
})"""
FLOOD = """(address) => new Promise((done) => {
  const socket = new WebSocket(address.replace('http', 'ws') + 'ws');
  socket.onopen = () => {
    for (let id = 0; id < 5000; id += 1) socket.send(JSON.stringify({id, do: 'undo'}));
  };
  socket.onclose = (event) => done(`closed ${event.code} ${event.reason}`);
})"""


@pytest.fixture
def foreign_site(tmp_path):
    """Another web site on this machine."""
    (tmp_path / 'site').mkdir()
    (tmp_path / 'site' / 'index.html').write_text('<!doctype html><link rel=icon href=data:,>hi')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                                directory=str(tmp_path / 'site'))
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://localhost:{server.server_port}/'
    server.shutdown()


def test_token_origin_and_flood(browser, stand, foreign_site, tmp_path):
    secret = tmp_path / 'token'
    secret.write_text(TOKEN + '\n')
    dashboard, address = stand.start_dashboard('address:=0.0.0.0', f'token_file:={secret}')
    address = address.replace('0.0.0.0', '127.0.0.1')

    page = Page(browser, address)
    page.page.wait_for_selector('#token-dialog[open]')
    page.page.fill('#token', 'wrong')
    page.page.press('#token', 'Enter')
    page.expect('#token-error', 'not the token')
    assert page.page.evaluate(OPEN, address) == 'closed 1006'
    page.page.fill('#token', TOKEN)
    page.page.press('#token', 'Enter')
    page.ready()
    assert not [error for error in page.errors if '401' not in error and '/ws' not in error]

    linked = Page(browser, f'{address}#token={TOKEN}')  # as a link that the owner hands out
    linked.ready()
    assert TOKEN not in linked.page.url and linked.errors == []
    assert TOKEN not in dashboard.output

    foreign = linked.context.new_page()  # same browser, so that the cookie is there
    foreign.goto(foreign_site)
    assert foreign.evaluate(OPEN, address) == 'closed 1006'

    flooded = linked.page.evaluate(FLOOD, address)
    assert flooded.startswith('closed 1008') and 'requests per second' in flooded
    linked.teach('cup')  # others, and the same browser's page, go on
    page.expect_names('cup')
    assert dashboard.stop(signal.SIGINT, DEADLINE) == 0


def test_https(start_process, tmp_path):
    openssl = shutil.which('openssl') or pytest.skip('needs openssl, to make a certificate')
    key, certificate = tmp_path / 'key.pem', tmp_path / 'certificate.pem'
    subprocess.run(
        [openssl, 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost',
         '-keyout', key, '-out', certificate], check=True, capture_output=True)
    dashboard = start_process(
        'dashboard_node', '--ros-args', '-p', 'port:=0', '-p', f'tls_certificate:={certificate}',
        '-p', f'tls_key:={key}')
    address = dashboard.wait_for(r'Dashboard: (https://\S+)/', timeout=DEADLINE)[1]

    async def visit():
        async with aiohttp.ClientSession(address, headers={'Origin': address}) as browser, \
                browser.get('/', ssl=False) as answer, \
                browser.ws_connect('/ws', ssl=False) as page:
            return answer.status, (await page.receive(timeout=DEADLINE)).type

    # In a thread of its own: where a browser was opened before, this one has a loop that runs.
    with ThreadPoolExecutor() as pool:
        assert pool.submit(asyncio.run, visit()).result() == (200, aiohttp.WSMsgType.TEXT)
    assert dashboard.stop(signal.SIGTERM, DEADLINE) == 0


@pytest.mark.parametrize(('parameters', 'words'), [
    (('address:=0.0.0.0',), 'needs a token'),
    (('address:=0.0.0.0', 'token_file:=/nowhere'), 'cannot be read'),
    (('port:=99999',), 'port'),
    (('port:=[1',), 'dashboard_node:'),
    (('tls_certificate:=/nowhere.pem',), 'tls_certificate'),
    (('address:=203.0.113.1', 'token_file:=TOKEN'), 'cannot be used'),
])
def test_unsafe_or_impossible_settings_are_reported_in_words(
        start_process, tmp_path, parameters, words):
    secret = tmp_path / 'token'
    secret.write_text(TOKEN)
    arguments = [part for parameter in parameters
                 for part in ('-p', parameter.replace('TOKEN', str(secret)))]
    process = start_process('dashboard_node', '--ros-args', *arguments)
    assert process.wait(DEADLINE) == 1
    assert words in process.output and 'Traceback' not in process.output
