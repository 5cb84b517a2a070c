# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Access to the page, tried with a real browser against the real node."""

import asyncio
import functools
import http.server
import math
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import rclpy
from browser import Page
from builtin_interfaces.msg import Time
from dashboard_stand import DEADLINE, LATCHED
from proemlc_ros.msg import LabelSet, Prediction
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import Header

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
    // What was taken is carried out later, so it must not change anything.
    for (let id = 0; id < 5000; id += 1) socket.send(JSON.stringify({id, do: 'history'}));
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
    dashboard, address = stand.start_dashboard(
        'address:=0.0.0.0', f'token_file:={secret}', 'allowed_hosts:=robot.test')
    assert 'NOT ENCRYPTED' in dashboard.output and 'tls_certificate' in dashboard.output
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

    assert linked.page.locator('#not-encrypted').is_hidden()  # within this machine
    remote = Page(browser, address.replace('127.0.0.1', 'robot.test'))
    remote.expect('#token-not-encrypted', 'not encrypted')
    remote.page.fill('#token', TOKEN)
    remote.page.press('#token', 'Enter')
    remote.ready()
    assert remote.page.locator('#not-encrypted').is_visible()
    remote.close()

    foreign = linked.context.new_page()  # same browser, so that the cookie is there
    foreign.goto(foreign_site)
    assert foreign.evaluate(OPEN, address) == 'closed 1006'

    flooded = linked.page.evaluate(FLOOD, address)
    assert flooded.startswith('closed 1008') and 'requests per second' in flooded
    linked.teach('cup')  # others, and the same browser's page, go on
    page.expect_names('cup')
    assert dashboard.stop(signal.SIGINT, DEADLINE) == 0


def test_page_survives_values_that_are_not_finite_and_damaged_pictures(
        browser, ros, start_process):
    dashboard = start_process('dashboard_node', '--ros-args', '-p', 'port:=0', '-p',
                              'image_topic:=camera')
    address = dashboard.wait_for(r'Dashboard: (http\S+)', timeout=DEADLINE)[1]
    node = rclpy.create_node('peer', context=ros)
    labels = node.create_publisher(LabelSet, 'proemlc/labels', LATCHED)
    predictions = node.create_publisher(Prediction, 'proemlc/predictions', 10)
    pictures = node.create_publisher(CompressedImage, 'camera', 10)
    labels.publish(LabelSet(
        names=['cup'], counts=[3], thresholds=[math.nan], samples=3, version=1))
    page = Page(browser, address)

    def shown(stamp, score, novelty, unknown=False):
        """Publish until the page shows it: best effort may lose some."""
        header = Header(stamp=Time(sec=stamp))
        deadline = time.monotonic() + DEADLINE
        while page.page.get_attribute('#camera', 'data-stamp') != str(stamp * 10**9):
            assert time.monotonic() < deadline, f'{stamp} was not shown: {page.errors}'
            pictures.publish(CompressedImage(
                header=header, format='jpeg', data=b'\xff\xd8 no picture \xff\xd9'))
            predictions.publish(Prediction(
                header=header, labels=[] if unknown else ['cup'], scores=[score],
                novelty=novelty, label_set_version=1, unknown=unknown))
            page.page.wait_for_timeout(50)

    shown(5, 0.75, 0.5)
    page.expect('#label-list .facts', '88 %')
    for stamp, value in ((6, math.nan), (7, math.inf), (8, -math.inf)):
        shown(stamp, value, value)
        page.expect('#novelty', '–')
    shown(9, 0.25, 0.9)
    page.expect('#label-list .facts', '6[23] %')
    page.expect('#novelty', 'partly new')
    shown(10, 0.25, 0.99, unknown=True)
    page.expect('#sees', 'I don’t know')
    page.expect('#sees .none', 'cup\\?')
    page.expect('#novelty', 'new to it')
    assert page.errors == []
    node.destroy_node()
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
    (('address:=0.0.0.0', 'token_file:=BYTES'), 'not text in UTF-8'),
    (('port:=99999',), 'port'),
    (('port:=[1',), 'dashboard_node:'),
    (('tls_certificate:=/nowhere.pem',), 'tls_certificate'),
    (('address:=203.0.113.1', 'token_file:=TOKEN'), 'cannot be used'),
])
def test_unsafe_or_impossible_settings_are_reported_in_words(
        start_process, tmp_path, parameters, words):
    secret = tmp_path / 'token'
    secret.write_text(TOKEN)
    (tmp_path / 'bytes').write_bytes(b'\xff\xfe' * 20)
    arguments = [part for parameter in parameters for part in ('-p', parameter.replace(
        'TOKEN', str(secret)).replace('BYTES', str(tmp_path / 'bytes')))]
    process = start_process('dashboard_node', '--ros-args', *arguments)
    assert process.wait(DEADLINE) == 1
    assert words in process.output and 'Traceback' not in process.output
