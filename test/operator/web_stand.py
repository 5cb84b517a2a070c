# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A dashboard over real HTTP and websockets; the test plays the classifier."""

import asyncio
import json
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace

import aiohttp
import numpy as np
import pytest
from recorder import Recorder
from ros_process import DEADLINE

from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.recent import PictureCache
from proemlc_ros.operator.web import guard
from proemlc_ros.operator.web.guard import Access
from proemlc_ros.operator.web.server import Dashboard, PageSettings
from proemlc_ros.records import StampedPrediction, StampedVector


@pytest.fixture
def no_time_passes(monkeypatch):
    """Keep the limits of clients from growing again while a busy machine takes its time."""
    monkeypatch.setattr(guard, 'time', SimpleNamespace(monotonic_ns=lambda: 0))


class Stand:
    """A dashboard between a view of the classifier and an HTTP client."""

    def __init__(self, access=None, tls=None, **settings):
        self._tls = tls
        self.view = ClassifierView()
        self.pictures = PictureCache()
        self.actions = Recorder(self.view)
        self.dashboard = Dashboard(
            self.view, self.pictures, self.actions, '/proemlc',
            PageSettings(access or Access(), port=0, **settings),
            lambda kind, text: self.warnings.append((kind, text)))
        self.warnings = []

    @asynccontextmanager
    async def open(self):
        port = await self.dashboard.start(self._tls)
        self.origin = f'http://127.0.0.1:{port}'
        try:
            async with aiohttp.ClientSession(
                    self.origin, cookie_jar=aiohttp.CookieJar(unsafe=True)) as self.browser:
                yield self
        finally:
            await self.dashboard.stop()

    def websocket(self, **headers):
        return self.browser.ws_connect('/ws', headers={'Origin': self.origin, **headers})

    async def connect(self, source='127.0.0.1'):
        """Open a connection from one of the loopback addresses."""
        host, port = self.origin.removeprefix('http://').split(':')
        return await asyncio.open_connection(host, port, local_addr=(source, 0))

    async def raw(self, data, source='127.0.0.1'):
        """Send bytes and return the status of the answer; 0 where the connection just ends."""
        reader, writer = await self.connect(source)
        try:
            writer.write(data.replace(b'HOST', self.origin.removeprefix('http://').encode()))
            line = await asyncio.wait_for(reader.readline(), DEADLINE)
        except ConnectionError:
            return 0
        finally:
            writer.close()
        return int(line.split()[1]) if line.startswith(b'HTTP/') else 0

    def see(self, stamp, predicted=('cup',)):
        self.view.on_vector(StampedVector(stamp, np.full(4, stamp % 97, np.float32), 'test/1'))
        self.view.on_prediction(
            StampedPrediction(stamp, predicted, np.array([0.5], np.float32), 0.2, 1),
            time.monotonic())


async def message_of(socket, kind):
    while True:
        message = await asyncio.wait_for(socket.receive(), DEADLINE)
        if kind == 'picture' and message.type is aiohttp.WSMsgType.BINARY:
            return message.data
        if message.type is aiohttp.WSMsgType.TEXT and json.loads(message.data)['type'] == kind:
            return json.loads(message.data)
        assert message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY), message


async def ask(socket, what, **content):
    await socket.send_json({'id': 1, 'do': what, **content})
    return await message_of(socket, 'reply')


def in_stand(test, *arguments, **settings):
    async def run():
        async with Stand(*arguments, **settings).open() as stand:
            await test(stand)
    asyncio.run(run())
