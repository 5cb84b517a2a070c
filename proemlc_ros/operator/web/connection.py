# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One open page: sends it what changed, and answers its requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from proemlc_ros.classifier.validation import RateLimit
from proemlc_ros.errors import RateExceededError
from proemlc_ros.operator.classifier_view import ViewPart
from proemlc_ros.operator.web.payloads import Payloads, as_json
from proemlc_ros.operator.web.requests import Requests

# Requests per second; a person with all ten fingers on the keys stays below.
MAX_REQUESTS = 40.0
# Requests that may wait for their answers, should the classifier be slow.
MAX_WAITING = 200
# The picture before its prediction, so that the page never shows one without the other.
ORDER = (ViewPart.LABELS, ViewPart.PICTURE, ViewPart.PREDICTION, ViewPart.QUERIES,
         ViewPart.ACTIVITY, ViewPart.CURVE, ViewPart.PROGRESS, ViewPart.SOURCE, ViewPart.HEALTH)


class PageConnection:
    """One page's websocket.

    A slow page misses intermediate states, never the last one: what waits is a set of parts of the
    view, and each is sent as it is when its turn comes.

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
            self._wake.clear()
            changed, self._changed = self._changed, set()
            try:
                await self._send(changed)
            except ConnectionError:
                return  # The page has gone, or is being closed: the other task will notice.
            await asyncio.sleep(self._period)

    async def _send(self, parts: set[ViewPart]) -> None:
        # Made together: while one is sent, a newer prediction or picture may arrive.
        messages = [self._payloads.payload(part) for part in ORDER if part in parts]
        for message in messages:
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
