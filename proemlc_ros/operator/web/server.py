# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The web server of the page: static files, pictures, model files, one websocket per page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import mimetypes
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from proemlc_ros.classifier.validation import RateLimit, model_file_name
from proemlc_ros.errors import NoAnswerError, OperatorRequestError, ProEMLCError, RateExceededError
from proemlc_ros.operator.actions import ActionResult, Actions
from proemlc_ros.operator.classifier_view import ClassifierView, Connection, ViewPart
from proemlc_ros.operator.draft import NEAR_COPY
from proemlc_ros.operator.recent import PictureCache
from proemlc_ros.operator.web.connection_table import ConnectionTable, GuardedConnection
from proemlc_ros.operator.web.guard import HEADERS, Access, RequestGuard, Sessions
from proemlc_ros.operator.web.payloads import Payloads, Warn, as_json, in_short
from proemlc_ros.operator.web.requests import MAX_NAME, Requests, reply_of, valid_text

MAX_BODY = 2048
MAX_MESSAGE = 256 * 1024
# Connections taken per turn of the loop: the open pages have their turn in between, and a new
# connection is read before many newer ones could push it out of the table.
ACCEPTED_AT_ONCE = 4
# Connections that the system keeps waiting meanwhile.
BACKLOG = 128
# Seconds between two signs of life that are asked of a page.
HEARTBEAT = 10.0
# Seconds that a page has to confirm that it is closed.
CLOSING_TIME = 2.0
# Seconds between two checks of whether the classifier is still there.
CHECK_PERIOD = 0.25

# Bytes of an uploaded model file, and of a part that is read at a time; seconds that a transfer
# may take, and transfers at once.
MAX_UPLOAD, CHUNK = 2**28, 2**16
TRANSFER_TIME, MAX_TRANSFERS = 600.0, 4
# Of the classifier's own files, which nobody brings along.
RESERVED = ('snapshot', 'before_reset')

# Requests per second; a person with all ten fingers on the keys stays below.
MAX_REQUESTS = 40.0
# Requests that may wait for their answers, should the classifier be slow.
MAX_WAITING = 200
# What a page sends when it has shown a prediction; it gets no answer.
SHOWN = '{"do":"shown"}'
# The picture before its prediction, so that the page never shows one without the other.
ORDER = (ViewPart.LABELS, ViewPart.PICTURE, ViewPart.PREDICTION, ViewPart.QUERIES,
         ViewPart.ACTIVITY, ViewPart.CURVE, ViewPart.PROGRESS, ViewPart.SOURCE, ViewPart.HEALTH)


@dataclass(frozen=True)
class PageSettings:
    """How the page is served.

    Args:
        access: who may open it.
        port: 0 lets the system choose one.
        max_pages: open pages at once.
        max_rate: updates per second to each page.
        max_http_rate: requests per second outside the websockets, of one client address.
        max_attempts: wrong tokens per second, of one client address.
        session: seconds after which a browser must present the token again.
        max_connections: open connections beside the pages, of all clients.
        max_client_connections: the same, of one client address.
        request_timeout: seconds within which a connection must bring a whole request.
        burst_rate: samples per second while a label's key is held down.
        near_copy: samples of a burst that are nearer than this are left out; see NearCopies.
        model_directory: of the classifier; None: not on this machine, no file is transferred.
    """

    access: Access = field(default_factory=Access)
    port: int = 8642
    max_pages: int = 32
    max_rate: float = 20.0
    max_http_rate: float = 200.0
    max_attempts: float = 5.0
    session: float = 12 * 3600.0
    max_connections: int = 128
    max_client_connections: int = 32
    request_timeout: float = 15.0
    burst_rate: float = 10.0
    near_copy: float = NEAR_COPY
    model_directory: Path | None = None


class _PageConnection:
    """One page's websocket.

    A slow page misses intermediate states, never the last one: what waits is a set of parts of the
    view, and each is sent as it is when its turn comes. A page that says when it has shown a
    prediction gets nothing before: else more and more would be under way to one that is slower
    than the stream, and what it shows would be minutes old.

    Args:
        socket: the open websocket.
        payloads: makes the messages.
        requests: answers the page.
        max_rate: updates per second.
    """

    def __init__(self, socket: web.WebSocketResponse, payloads: Payloads, requests: Requests,
                 max_rate: float) -> None:
        self._socket = socket
        self._payloads = payloads
        self._requests = requests
        self._period = 1 / max_rate
        self._changed = set(ViewPart)
        self._wake = asyncio.Event()
        self._wake.set()
        self._limit = RateLimit(MAX_REQUESTS, 'requests')
        self._shown = asyncio.Event()
        self._says_shown = False
        self._waiting: asyncio.Queue[tuple[Any] | None] = asyncio.Queue()

    def notify(self, part: ViewPart) -> None:
        """Send a part of the view that changed."""
        self._changed.add(part)
        self._wake.set()

    async def run(self) -> None:
        """Serve the page until it goes away or misbehaves."""
        sender = asyncio.create_task(self._send_changes())
        server = asyncio.create_task(self._serve())
        try:
            await asyncio.wait({sender, server}, return_when=asyncio.FIRST_COMPLETED)
            # A fault of ours ends the connection: a page that gets no updates must reconnect.
            if not sender.done() or sender.exception() is None:
                await server
        finally:
            sender.cancel()
            server.cancel()
            await asyncio.gather(sender, server, return_exceptions=True)
        if not sender.cancelled():
            sender.result()

    async def _send_changes(self) -> None:
        while True:
            await self._wake.wait()
            if self._says_shown:
                await self._shown.wait()
            self._wake.clear()
            changed, self._changed = self._changed, set()
            try:
                await self._send(changed)
            except ConnectionError:
                return  # The page has gone, or is being closed: the other task will notice.
            await asyncio.sleep(self._period)

    async def _send(self, parts: set[ViewPart]) -> None:
        # Made together: while one is sent, a newer prediction or picture may arrive.
        messages = {part: self._payloads.payload(part) for part in ORDER if part in parts}
        if messages.get(ViewPart.PREDICTION) is not None:
            self._shown.clear()
        for message in messages.values():
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            elif message is not None:
                await self._socket.send_str(message)

    async def _serve(self) -> None:
        """Take and answer requests in two tasks: a slow answer must not look like a dead page."""
        taker = asyncio.create_task(self._take_requests())
        answerer = asyncio.create_task(self._answer_requests())
        try:
            await asyncio.wait({taker, answerer}, return_when=asyncio.FIRST_COMPLETED)
            # Requests that were taken are carried out, even if the page has gone meanwhile.
            self._waiting.put_nowait(None)
            await answerer
        finally:
            taker.cancel()
            answerer.cancel()
            await asyncio.gather(taker, answerer, return_exceptions=True)

    async def _take_requests(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                await self._reject('only text is understood')
                return
            if message.data == SHOWN and not self._shown.is_set():
                self._says_shown = True
                self._shown.set()
                continue
            try:
                self._limit.check(time.monotonic_ns())
            except RateExceededError as error:
                await self._reject(str(error))
                return
            try:
                request = json.loads(message.data)
            except (ValueError, RecursionError):
                await self._reject('a request must be JSON')
                return
            if self._waiting.qsize() >= MAX_WAITING:
                await self._reject('too many requests wait for their answers')
                return
            self._waiting.put_nowait((request,))

    async def _answer_requests(self) -> None:
        while (waiting := await self._waiting.get()) is not None:
            answer = await self._requests.answer(waiting[0])
            with contextlib.suppress(ConnectionError):  # The page has gone.
                await self._socket.send_str(as_json('reply', **answer))

    async def _reject(self, reason: str) -> None:
        await self._socket.close(code=WSCloseCode.POLICY_VIOLATION, message=reason.encode()[:120])


class _ModelFiles:
    """Downloads and uploads of model files.

    Args:
        folder: the classifier's model directory; None: it is not on this machine.
        load: has the classifier load a file, for an operator.
        table: of the connections; a transfer may take longer than another request.
    """

    def __init__(self, folder: Path | None, load: Callable[[str, str], Awaitable[ActionResult]],
                 table: ConnectionTable) -> None:
        self._folder = folder
        self._load = load
        self._table = table
        self._under_way = 0

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Send a file of the model directory."""
        path = self._path(request)
        if path.is_symlink() or not path.is_file():
            raise web.HTTPNotFound(text=f'there is no {path.name!r}')
        response = web.StreamResponse(headers={
            **HEADERS, 'Content-Type': 'application/octet-stream',
            'Content-Disposition': 'attachment'})
        response.force_close()  # Where it ends early, nothing can follow.

        async def send() -> None:
            with path.open('rb') as file:
                response.content_length = os.fstat(file.fileno()).st_size
                await response.prepare(request)
                while chunk := await asyncio.to_thread(file.read, CHUNK):
                    await response.write(chunk)
            await response.write_eof()
        with self._transfer(request), contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            await asyncio.wait_for(send(), TRANSFER_TIME)
        return response

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """Take a new file into the model directory and have it loaded; else it goes again."""
        path = self._path(request)
        who = valid_text(request.query.get('who', ''), 'who')[:MAX_NAME]
        if path.name.startswith(RESERVED):
            raise OperatorRequestError(f'{path.name} is a name of the classifier’s own files')
        with self._transfer(request):
            await asyncio.wait_for(_receive(request, path), TRANSFER_TIME)
            result = ActionResult(False, '')
            try:
                result = await self._load(who, path.name)
            except NoAnswerError:
                result = ActionResult(True, '')  # It may be loaded all the same.
                raise
            finally:
                if not result.done:
                    path.unlink()
        return web.json_response(reply_of(result))

    def _path(self, request: web.Request) -> Path:
        if self._folder is None:
            raise web.HTTPNotFound(text='the model directory is not on this machine; see the '
                                        'parameter model_directory of the dashboard')
        return self._folder / model_file_name(request.match_info['name'])

    @contextlib.contextmanager
    def _transfer(self, request: web.Request) -> Iterator[None]:
        if self._under_way >= MAX_TRANSFERS:
            raise web.HTTPServiceUnavailable(text='other files are under way; try again')
        self._under_way += 1
        self._table.set_page(request.protocol, True)
        try:
            yield
        finally:
            self._under_way -= 1
            self._table.set_page(request.protocol, False)


async def _receive(request: web.Request, path: Path) -> None:
    """Write the body of a request to a file, whole or not at all, and never over another one."""
    temporary = path.with_name(f'.{path.name}.{os.urandom(4).hex()}.tmp')
    size = request.content_length or 0
    try:
        with temporary.open('xb') as file:
            while size <= MAX_UPLOAD and (chunk := await request.content.read(CHUNK)):
                await asyncio.to_thread(file.write, chunk)
                size = max(size, file.tell())
            if size > MAX_UPLOAD:
                raise OperatorRequestError(f'more than {MAX_UPLOAD >> 20} MB are not taken')
            file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())
        os.link(temporary, path)
    except FileExistsError as error:
        raise OperatorRequestError(f'{path.name} exists already; give another name') from error
    except OSError as error:
        raise OperatorRequestError(f'{path.name} is not written: {error.strerror}') from error
    finally:
        temporary.unlink(missing_ok=True)


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
        self._payloads.burst_rate = settings.burst_rate
        self._payloads.transfers = settings.model_directory is not None
        self._connections: set[_PageConnection] = set()
        self._sockets: set[web.WebSocketResponse] = set()
        self._opened = 0
        self._files = _static_files()
        self._table = ConnectionTable(settings.max_connections, settings.max_client_connections,
                                      settings.request_timeout)
        self._guard = RequestGuard(settings.access, Sessions(settings.session), self._table,
                                   settings.max_http_rate, settings.max_attempts, warn)
        self._models = _ModelFiles(settings.model_directory,
                                  lambda who, name: self._actions.load(who, name), self._table)
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._ticker: asyncio.Task[None] | None = None
        view.on_change = self.changed

    def changed(self, part: ViewPart) -> None:
        """Send a part of the view that changed to every page."""
        if part is ViewPart.PREDICTION:
            self.changed(ViewPart.PICTURE)
        if part is ViewPart.LABELS:  # The next step of a beginner; queries wait for a label.
            self.changed(ViewPart.HEALTH)
            self.changed(ViewPart.QUERIES)
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
        logger = logging.Logger('dashboard', logging.WARNING)
        logger.addHandler(_LineHandler(self._warn))
        # No access log: it would add nothing to the activity log, and fill disks.
        self._runner = web.AppRunner(self._application(), access_log=None, logger=logger,
                                     auto_decompress=False)
        await self._runner.setup()
        new_handler = self._runner.server
        assert new_handler is not None  # Made by setup().
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: GuardedConnection(new_handler(), self._table, tls),
            self._settings.access.address, self._settings.port, backlog=ACCEPTED_AT_ONCE)
        for listening in self._listener.sockets:
            with listening.dup() as same:
                same.listen(BACKLOG)
        self._ticker = asyncio.create_task(self._tick())
        return int(self._listener.sockets[0].getsockname()[1])

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[self._guard.guard], client_max_size=MAX_BODY)
        app.router.add_get('/sign_in', self._guard.sign_in_state)
        app.router.add_post('/sign_in', self._guard.sign_in)
        app.router.add_get('/ws', self._websocket)
        app.router.add_get('/pictures/{stamp:[0-9]{1,19}}.jpg', self._picture)
        app.router.add_get('/samples/{number:[0-9]{1,15}}.jpg', self._sample_picture)
        app.router.add_get('/models/{name}', self._models.download, allow_head=False)
        app.router.add_post('/models/{name}', self._models.upload)
        app.router.add_get('/{name:[a-z_]*(?:\\.[a-z]+)?}', self._file)
        return app

    async def stop(self) -> None:
        """Close the pages and stop to serve."""
        if self._ticker is not None:
            self._ticker.cancel()
        if self._listener is not None:
            self._listener.close()
        for socket in list(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY, message=b'the dashboard stops')
        self._table.drop_all()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _tick(self) -> None:
        """Send the health once per second, and at once when the classifier goes or comes.

        Connections whose time is over are dropped.
        """
        before: tuple[Connection, int] | None = None
        while True:
            now = self._view.connection(time.monotonic()), int(time.monotonic())
            if now != before:
                before = now
                self.changed(ViewPart.HEALTH)
            self._table.drop_slow()
            await asyncio.sleep(CHECK_PERIOD)

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info['name'] or 'index.html'
        if name not in self._files:
            raise web.HTTPNotFound(text='no such page')
        body, kind = self._files[name]
        return web.Response(body=body, content_type=kind, charset='utf-8')

    async def _picture(self, request: web.Request) -> web.Response:
        picture = self._pictures.find(int(request.match_info['stamp']))
        return _jpeg(None if picture is None else picture.jpeg)

    async def _sample_picture(self, request: web.Request) -> web.Response:
        try:
            return _jpeg(await self._actions.picture(int(request.match_info['number'])))
        except ProEMLCError:
            return _jpeg(None)  # The page says elsewhere that the classifier does not answer.

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        if len(self._sockets) >= self._settings.max_pages:
            raise web.HTTPServiceUnavailable(text='too many pages are open')
        socket = web.WebSocketResponse(max_msg_size=MAX_MESSAGE, heartbeat=HEARTBEAT,
                                       timeout=CLOSING_TIME)
        self._sockets.add(socket)
        try:
            await _open(socket, request)
            self._table.set_page(request.protocol, True)
            await self._serve(socket, self._guard.seconds_left(request))
        except ConnectionError:
            # The page went away in the middle of a message; it will come back by itself.
            pass
        finally:
            self._sockets.discard(socket)
            self._table.set_page(request.protocol, False)
        return socket

    async def _serve(self, socket: web.WebSocketResponse, seconds: float) -> None:
        self._opened += 1
        requests = Requests(self._view, self._pictures, self._actions,
                            who=f'operator {self._opened}', warn=self._warn,
                            near_copy=self._settings.near_copy)
        connection = _PageConnection(socket, self._payloads, requests, self._settings.max_rate)
        end = asyncio.create_task(_close_after(socket, seconds))
        self._connections.add(connection)
        self._count_operators()
        try:
            await connection.run()
        finally:
            end.cancel()
            self._connections.discard(connection)
            self._count_operators()

    def _count_operators(self) -> None:
        self._payloads.operators = len(self._connections)
        self.changed(ViewPart.HEALTH)


def _jpeg(picture: bytes | None) -> web.Response:
    """Answer with a picture, or that there is none: one that is gone is no error of the page."""
    if picture is None:
        return web.Response(status=204)
    return web.Response(body=picture, content_type='image/jpeg')


async def _open(socket: web.WebSocketResponse, request: web.Request) -> None:
    try:
        await socket.prepare(request)
    except ValueError as error:  # Such as a key that is not ASCII.
        raise web.HTTPBadRequest(text='this is not a websocket handshake') from error


async def _close_after(socket: web.WebSocketResponse, seconds: float) -> None:
    """Close a page when its session ends; it asks for the token again."""
    if not math.isinf(seconds):
        await asyncio.sleep(seconds)
        await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b'the session has ended')


class _LineHandler(logging.Handler):
    """Writes what aiohttp reports of malformed requests: one line, no traceback."""

    def __init__(self, warn: Warn) -> None:
        super().__init__()
        self._warn = warn

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        reason = f' ({in_short(error)})' if isinstance(error, Exception) else ''
        self._warn('http', record.getMessage() + reason)


def _static_files() -> dict[str, tuple[bytes, str]]:
    """Return the page's files and their types, read once: no path of a request meets the disk."""
    return {
        entry.name: (entry.read_bytes(), mimetypes.guess_type(entry.name)[0] or 'text/plain')
        for entry in (files('proemlc_ros.operator.web') / 'static').iterdir() if entry.is_file()
    }
