# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The server's open connections: how many there may be, and how long each may take.

A client that opens many or sends slowly loses its own oldest connection; it does not keep others
out.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import cast


def client_of(address: str | None) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 network of an IPv6 one.

    >>> client_of('192.168.1.5'), client_of('::ffff:192.168.1.5'), client_of('2001:db8::1:2')
    ('192.168.1.5', '192.168.1.5', '2001:db8::/64')
    """
    try:
        # Without the zone of a link-local address.
        found = ipaddress.ip_address((address or '').partition('%')[0])
    except ValueError:
        return 'unknown'
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


class Standing(IntEnum):
    """What a connection has shown of its client; of too many, the lowest goes first."""

    REJECTED = 0
    UNKNOWN = 1
    ADMITTED = 2


class ConnectionTable:
    """Bounds the connections that are not open pages; pages are counted by the server.

    Args:
        max_count: connections of all clients.
        max_per_client: connections of one client address.
        timeout: seconds within which a connection must bring a whole request, the first and each
            later one, and take its answer.
        clock: monotonic, in seconds.
    """

    def __init__(self, max_count: int, max_per_client: int, timeout: float,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._max_count = max_count
        self._max_per_client = max_per_client
        self._timeout = timeout
        self._clock = clock
        self._open: dict[asyncio.BaseProtocol, GuardedConnection] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: GuardedConnection) -> None:
        """Take a new connection in; where there are too many, the least useful one goes."""
        others = [other for other in self._open.values() if not other.is_page]
        same = [other for other in others if other.client == connection.client]
        if len(same) >= self._max_per_client:
            self._drop(same)
        elif len(others) >= self._max_count:
            # Of the client that has most: nobody can fill the table and keep others out.
            counts = Counter(other.client for other in others)
            most = max(counts.values())
            self._drop(other for other in others if counts[other.client] == most)
        connection.since = self._clock()
        self._open[connection.handler] = connection

    def remove(self, connection: GuardedConnection) -> None:
        """Forget a connection that has ended."""
        self._open.pop(connection.handler, None)

    def request_came(self, handler: asyncio.BaseProtocol, standing: Standing) -> None:
        """Note a whole request, and whether its client may open the page."""
        connection = self._open.get(handler)
        if connection is not None:
            connection.since = self._clock()
            connection.standing = standing

    def set_page(self, handler: asyncio.BaseProtocol, is_page: bool) -> None:
        """Note that a connection has become an open page, or is one no longer."""
        connection = self._open.get(handler)
        if connection is not None:
            connection.since = self._clock()
            connection.is_page = is_page

    def drop_slow(self) -> None:
        """Drop the connections whose time is over; called several times per second."""
        last = self._clock() - self._timeout
        for connection in list(self._open.values()):
            if connection.since < last and not connection.is_page:
                connection.drop()

    def drop_all(self) -> None:
        """Drop every connection."""
        for connection in list(self._open.values()):
            connection.drop()

    def _drop(self, candidates: Iterable[GuardedConnection]) -> None:
        min(candidates, key=lambda one: (one.standing, one.since)).drop()


class GuardedConnection(asyncio.Protocol):
    """One TCP connection, between the transport and the protocol that understands HTTP.

    The table has it from the first moment on, before TLS and before the first byte.

    Args:
        handler: of HTTP.
        table: of all connections.
        tls: for https; None: http.
    """

    def __init__(self, handler: asyncio.Protocol, table: ConnectionTable,
                 tls: ssl.SSLContext | None) -> None:
        self.handler = handler
        self.client = ''
        self.since = 0.0
        self.standing = Standing.UNKNOWN
        self.is_page = False
        self._table = table
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._tls_start: asyncio.Task[None] | None = None
        self._has_handler = False

    def drop(self) -> None:
        """End the connection at once, whatever is still to be sent."""
        self._table.remove(self)
        if self._tls_start is not None:
            self._tls_start.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection into the table, and start HTTP or TLS."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info('peername')
        self.client = client_of(peer[0] if peer else None)
        self._table.add(self)
        if self._tls is None:
            self._start_handler(transport)
        else:
            self._transport.pause_reading()
            self._tls_start = asyncio.create_task(self._start_tls(self._transport, self._tls))

    async def _start_tls(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        secured = None
        with contextlib.suppress(OSError):  # Not a client of https.
            secured = await asyncio.get_running_loop().start_tls(
                transport, self, tls, server_side=True)
        if secured is None:
            self.drop()
        else:
            self._start_handler(secured)

    def _start_handler(self, transport: asyncio.BaseTransport) -> None:
        self._has_handler = True
        self.handler.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Hand the end on."""
        self._table.remove(self)
        if self._has_handler:
            self.handler.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand data on."""
        self.handler.data_received(data)

    def eof_received(self) -> bool | None:
        """Hand the end of the data on."""
        return self.handler.eof_received()

    def pause_writing(self) -> None:
        """Hand on that the client reads too slowly."""
        self.handler.pause_writing()

    def resume_writing(self) -> None:
        """Hand on that the client reads again."""
        self.handler.resume_writing()
