# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One open page: tells it what changed, and takes its requests."""

from __future__ import annotations

import asyncio
import json
import time

from aiohttp import WSCloseCode, WSMsgType, web

from proemlc_ros.errors import RateExceededError
from proemlc_ros.operator.robot import Topic
from proemlc_ros.operator.web.payloads import Payloads, as_json
from proemlc_ros.operator.web.requests import Requests
from proemlc_ros.teaching.limits import RateLimit

# A person with all ten fingers on the keys stays below this many requests a second.
MAX_REQUESTS = 40.0
# The picture before what is said of it, so that the page never shows one without the other.
ORDER = (Topic.LABELS, Topic.PICTURE, Topic.SIGHT, Topic.QUESTIONS, Topic.ACTIVITY, Topic.CURVE,
         Topic.HEALTH)


class Session:
    """One page's websocket.

    A slow page misses intermediate states, never the last one: what waits is a set of topics, and
    each is told as it is when its turn comes.

    Args:
        socket: the open websocket.
        payloads: makes the messages.
        requests: answers the page.
        max_rate: updates a second.
    """

    def __init__(self, socket: web.WebSocketResponse, payloads: Payloads, requests: Requests,
                 max_rate: float) -> None:
        self._socket = socket
        self._payloads = payloads
        self._requests = requests
        self._period = 1 / max_rate
        self._changed = set(Topic)
        self._wake = asyncio.Event()
        self._wake.set()
        self._limit = RateLimit(MAX_REQUESTS)

    def notify(self, topic: Topic) -> None:
        """Say that a topic changed."""
        self._changed.add(topic)
        self._wake.set()

    async def run(self) -> None:
        """Serve the page until it goes away or misbehaves."""
        sender = asyncio.create_task(self._send_changes())
        taker = asyncio.create_task(self._take_requests())
        try:
            await asyncio.wait({sender, taker}, return_when=asyncio.FIRST_COMPLETED)
            # A fault of ours ends the session: a page that is told nothing must connect anew.
            if not sender.done() or sender.exception() is None:
                await taker
        finally:
            sender.cancel()
            taker.cancel()
            await asyncio.gather(sender, taker, return_exceptions=True)
        if not sender.cancelled():
            sender.result()

    async def _send_changes(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            changed, self._changed = self._changed, set()
            try:
                await self._tell(changed)
            except ConnectionError:
                return  # The page has gone, or is being sent away: the other task will notice.
            await asyncio.sleep(self._period)

    async def _tell(self, topics: set[Topic]) -> None:
        for topic in ORDER:
            message = self._payloads.payload(topic) if topic in topics else None
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            elif message is not None:
                await self._socket.send_str(message)

    async def _take_requests(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                await self._refuse('only text is understood')
                return
            try:
                self._limit.check(time.monotonic_ns(), 'requests')
            except RateExceededError as error:
                await self._refuse(str(error))
                return
            try:
                request = json.loads(message.data)
            except (ValueError, RecursionError):
                await self._refuse('a request must be JSON')
                return
            await self._socket.send_str(
                as_json('reply', **await self._requests.answer(request)))

    async def _refuse(self, reason: str) -> None:
        await self._socket.close(code=WSCloseCode.POLICY_VIOLATION, message=reason.encode()[:120])
