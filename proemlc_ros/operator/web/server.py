# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The web server of the page: static files, pictures, and one websocket per page."""

from __future__ import annotations

import asyncio
import mimetypes
import ssl
import time
from dataclasses import dataclass, field
from importlib.resources import files

from aiohttp import WSCloseCode, web

from proemlc_ros.operator.actions import Actions
from proemlc_ros.operator.classifier_view import ClassifierView, Connection, ViewPart
from proemlc_ros.operator.pictures import PictureCache
from proemlc_ros.operator.web.access import Access, RequestGuard
from proemlc_ros.operator.web.connection import PageConnection
from proemlc_ros.operator.web.payloads import Payloads, Warn
from proemlc_ros.operator.web.requests import Requests

MAX_BODY = 2048
MAX_MESSAGE = 256 * 1024
# Seconds between two checks of whether the classifier is still there.
CHECK_PERIOD = 0.25


@dataclass(frozen=True)
class PageSettings:
    """How the page is served.

    Args:
        access: who may open it.
        port: 0 lets the system choose one.
        max_pages: open pages at once.
        max_rate: updates per second to each page.
        max_http_rate: requests per second outside the websockets, of all browsers together.
        max_attempts: tokens that may be tried per second.
    """

    access: Access = field(default_factory=Access)
    port: int = 8642
    max_pages: int = 32
    max_rate: float = 20.0
    max_http_rate: float = 200.0
    max_attempts: float = 5.0


class Dashboard:
    """The server. Everything runs in one asyncio loop, the view's on_change function too.

    Args:
        view: what is known of the classifier; its changes reach every open page.
        pictures: the camera's pictures.
        actions: the classifier's services.
        classifier: full name of the classifier node, for people.
        settings: how it is served.
        warn: takes the kind and the text of a log line; limits how many of a kind are written.
    """

    def __init__(self, view: ClassifierView, pictures: PictureCache, actions: Actions,
                 classifier: str, settings: PageSettings,
                 warn: Warn = lambda kind, text: None) -> None:
        self._view = view
        self._pictures = pictures
        self._actions = actions
        self._settings = settings
        self._warn = warn
        self._payloads = Payloads(view, pictures, classifier, warn)
        self._connections: set[PageConnection] = set()
        self._sockets: set[web.WebSocketResponse] = set()
        self._opened = 0
        self._files = static_files()
        self._runner: web.AppRunner | None = None
        self._ticker: asyncio.Task[None] | None = None
        view.on_change = self.changed

    def changed(self, part: ViewPart) -> None:
        """Send a part of the view that changed to every page."""
        if part is ViewPart.PREDICTION:
            self.changed(ViewPart.PICTURE)
        if part is ViewPart.QUERIES:
            for query in self._view.queries:
                self._pictures.hold(query.vector.stamp)
        self._payloads.forget(part)
        for connection in self._connections:
            connection.notify(part)

    async def start(self, tls: ssl.SSLContext | None = None) -> int:
        """Start to serve and return the port.

        Raises:
            OSError: the address or port cannot be used.
        """
        settings = self._settings
        guard = RequestGuard(settings.access, settings.max_http_rate, settings.max_attempts)
        app = web.Application(middlewares=[guard.guard], client_max_size=MAX_BODY)
        app.router.add_get('/sign_in', guard.sign_in_state)
        app.router.add_post('/sign_in', guard.sign_in)
        app.router.add_get('/ws', self._websocket)
        app.router.add_get('/pictures/{stamp}.jpg', self._picture)
        app.router.add_get('/{name:[a-z_]*(?:\\.[a-z]+)?}', self._file)
        # No access log: it would add nothing to the activity log, and fill disks.
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, settings.access.address, settings.port, ssl_context=tls)
        await site.start()
        self._ticker = asyncio.create_task(self._tick())
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close the pages and stop to serve."""
        if self._ticker is not None:
            self._ticker.cancel()
        for socket in list(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY, message=b'the dashboard stops')
        if self._runner is not None:
            await self._runner.cleanup()

    async def _tick(self) -> None:
        """Send the health once per second, and at once when the classifier goes or comes."""
        before: tuple[Connection, int] | None = None
        while True:
            now = self._view.connection(time.monotonic()), int(time.monotonic())
            if now != before:
                before = now
                self.changed(ViewPart.HEALTH)
            await asyncio.sleep(CHECK_PERIOD)

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info['name'] or 'index.html'
        if name not in self._files:
            raise web.HTTPNotFound(text='no such page')
        body, kind = self._files[name]
        return web.Response(body=body, content_type=kind, charset='utf-8')

    async def _picture(self, request: web.Request) -> web.Response:
        stamp = request.match_info['stamp']
        known = stamp.isascii() and stamp.isdigit() and len(stamp) < 20
        picture = self._pictures.find(int(stamp)) if known else None
        if picture is None:
            raise web.HTTPNotFound(text='no picture with this stamp')
        return web.Response(body=picture.jpeg, content_type='image/jpeg')

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        if len(self._sockets) >= self._settings.max_pages:
            raise web.HTTPServiceUnavailable(text='too many pages are open')
        socket = web.WebSocketResponse(max_msg_size=MAX_MESSAGE, heartbeat=10.0)
        self._sockets.add(socket)
        try:
            await socket.prepare(request)
            self._opened += 1
            requests = Requests(self._view, self._pictures, self._actions,
                                who=f'operator {self._opened}', warn=self._warn)
            await self._serve(PageConnection(
                socket, self._payloads, requests, self._settings.max_rate))
        except ConnectionError:
            # The page went away in the middle of a message; it will come back by itself.
            pass
        finally:
            self._sockets.discard(socket)
        return socket

    async def _serve(self, connection: PageConnection) -> None:
        self._connections.add(connection)
        self._count_operators()
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            self._count_operators()

    def _count_operators(self) -> None:
        self._payloads.operators = len(self._connections)
        self.changed(ViewPart.HEALTH)


def static_files() -> dict[str, tuple[bytes, str]]:
    """Return the page's files and their types, read once: no path of a request meets the disk."""
    return {
        entry.name: (entry.read_bytes(), mimetypes.guess_type(entry.name)[0] or 'text/plain')
        for entry in (files('proemlc_ros.operator.web') / 'static').iterdir() if entry.is_file()
    }
