# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What every HTTP request passes: limits, host, origin, session; and the sign-in."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import math
import secrets
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from proemlc_ros.classifier.validation import RateLimit
from proemlc_ros.errors import (
    OperatorRequestError,
    ParameterError,
    ProEMLCError,
    RateExceededError,
)
from proemlc_ros.operator.web.connection_table import ConnectionTable, Standing, client_of
from proemlc_ros.operator.web.payloads import Warn, in_short
from proemlc_ros.operator.web.requests import text, valid_text

# Clients that may use their whole allowance at the same time.
CLIENTS_AT_ONCE = 4
# Seconds that a wrong token beyond the limit waits for its answer.
GUESS_DELAY = 0.5
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Scripts, styles and pictures come from this server alone; nothing may frame the page.
HEADERS = {
    'Content-Security-Policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-cache',
}

MIN_TOKEN_LENGTH = 16
# Client addresses that are remembered; the one that was quiet for longest goes first.
MAX_CLIENTS = 1024


def is_loopback(address: str) -> bool:
    """Return whether only programs of this machine can reach an address."""
    if address == 'localhost':
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Access:
    """The rules of access.

    Args:
        address: that the server is bound to.
        token: that a browser must present; may be empty only on loopback.
        allowed_hosts: further names under which the page may be opened, such as a proxy's.

    Raises:
        ParameterError: no token, a guessable one, or one that cannot be typed.
    """

    address: str = '127.0.0.1'
    token: str = field(default='', repr=False)
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token and len(self.token) < MIN_TOKEN_LENGTH:
            raise ParameterError(
                f'the token has {len(self.token)} characters and could be guessed; use at least '
                f'{MIN_TOKEN_LENGTH}, such as from: openssl rand -hex 16')
        try:
            valid_text(self.token, 'token')
        except OperatorRequestError as error:
            raise ParameterError(f'nobody could present the token: {error}') from error
        if not self.token and not is_loopback(self.address):
            raise ParameterError(
                f'address {self.address!r} can be reached from other machines and needs a token: '
                'put one into a file (openssl rand -hex 16) and name it by the parameter '
                'token_file, or set PROEMLC_TOKEN; or use 127.0.0.1 and ssh -L')

    def host_allowed(self, host: str) -> bool:
        """Check a Host header, so that no foreign name can be pointed at this server.

        This prevents DNS rebinding.
        """
        parts = _host_of(host)
        if parts is None:
            return False
        name, _ = parts
        if name in self._names:
            return True
        # Rebinding needs a name; a bare address leads where it says.
        return not is_loopback(self.address) and _is_address(name)

    def origin_allowed(self, origin: str | None, host: str) -> bool:
        """Check that a request with effects comes from our own page."""
        if not origin:
            return False
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ('http', 'https') and parts.netloc.lower() == host.lower()

    def token_matches(self, given: str) -> bool:
        """Compare a token in constant time."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    @property
    def _names(self) -> set[str]:
        machine = socket.gethostname().lower()
        own: Iterable[str] = () if is_loopback(self.address) else (machine, f'{machine}.local')
        return {'localhost', '127.0.0.1', '::1', self.address.lower(), *own,
                *(name.lower() for name in self.allowed_hosts)}


class Sessions:
    """Cookies of admitted browsers: signed, and valid for a limited time.

    The key is made at each start, so that a restart of the dashboard ends all sessions.

    Args:
        lifetime: seconds that a cookie is valid for.
        clock: monotonic, in seconds.
    """

    def __init__(self, lifetime: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.lifetime = lifetime
        self._clock = clock
        self._key = secrets.token_bytes(32)

    def issue(self) -> str:
        """Return the cookie of a browser that has just presented the token."""
        end = f'{self._clock() + self.lifetime:.3f}'
        return f'{end}-{self._signature(end)}'

    def seconds_left(self, cookie: str | None) -> float:
        """Return how long a cookie is still valid; 0 where it is not one of ours or too old."""
        if cookie is None or not cookie.isascii():
            return 0.0
        end, _, signature = cookie.partition('-')
        if not hmac.compare_digest(signature, self._signature(end)):
            return 0.0
        return max(0.0, float(end) - self._clock())

    def _signature(self, end: str) -> str:
        return hmac.new(self._key, end.encode(), hashlib.sha256).hexdigest()


class _ClientLimits:
    """A rate for each client, and one for all of them together.

    Args:
        rate: per second and client.
        total_rate: per second, of all clients.
        what: names what is counted in the error.
    """

    def __init__(self, rate: float, total_rate: float, what: str) -> None:
        self._rate = rate
        self._what = what
        self._total = RateLimit(total_rate, what)
        self._clients: OrderedDict[str, RateLimit] = OrderedDict()

    def __len__(self) -> int:
        return len(self._clients)

    def check(self, client: str) -> None:
        """Count one of a client.

        Raises:
            RateExceededError: there were too many, of this client or of all.
        """
        limit = self._clients.setdefault(client, RateLimit(self._rate, self._what))
        self._clients.move_to_end(client)
        if len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        now = time.monotonic_ns()
        # The client's own first: what it has too many of must not count against the others.
        limit.check(now)
        self._total.check(now)


def _host_of(header: str) -> tuple[str, int | None] | None:
    """Return name and port of a Host header, or None where it is not one."""
    try:
        parts = urlsplit(f'//{header}')
        return None if parts.hostname is None else (parts.hostname, parts.port)
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class RequestGuard:
    """Passes requests that come from our own page, under our own host name, with a session.

    Strangers have limits of their own: however often they ask or guess, the right token and a
    valid cookie always pass.

    Args:
        access: the rules.
        sessions: cookies of admitted browsers.
        connections: that requests come by.
        max_rate: requests per second and client address.
        max_attempts: wrong tokens per second and client address.
        warn: takes the kind and the text of a log line.
    """

    def __init__(self, access: Access, sessions: Sessions, connections: ConnectionTable,
                 max_rate: float, max_attempts: float, warn: Warn) -> None:
        self._access = access
        self._sessions = sessions
        self._connections = connections
        self._warn = warn
        everybody = CLIENTS_AT_ONCE * max_rate
        self._strangers = _ClientLimits(max_rate, everybody, 'requests')
        self._operators = _ClientLimits(max_rate, 0, 'requests')
        self._guesses = _ClientLimits(max_attempts, CLIENTS_AT_ONCE * max_attempts, 'tokens')

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request, and set the headers of its answer."""
        try:
            self._check(request)
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        except ProEMLCError as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        except asyncio.TimeoutError as error:
            raise web.HTTPRequestTimeout(text='the request took too long') from error
        except ConnectionError as error:
            raise web.HTTPBadRequest(text='the request was not complete') from error
        except Exception as error:  # A fault of ours; a traceback each would fill the disk.
            self._warn('fault', f'An HTTP request failed: {in_short(error)}')
            raise web.HTTPInternalServerError(text='the dashboard failed') from error
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    def seconds_left(self, request: web.Request) -> float:
        """Return how long the browser may stay; 0: it must present the token first."""
        if not self._access.token:
            return math.inf
        try:
            cookie = request.cookies.get(self._cookie(request))
        except (CookieError, ValueError):
            return 0.0
        return self._sessions.seconds_left(cookie)

    def _check(self, request: web.Request) -> None:
        access, host = self._access, request.headers.get('Host', '')
        admitted = self.seconds_left(request) > 0
        self._connections.request_came(
            request.protocol, Standing.ADMITTED if admitted else Standing.UNKNOWN)
        self._count(request, admitted)
        if not access.host_allowed(host):
            raise web.HTTPForbidden(text='this host name is not served here; see allowed_hosts')
        has_effects = request.method != 'GET' or request.path == '/ws'
        if has_effects and not access.origin_allowed(request.headers.get('Origin'), host):
            raise web.HTTPForbidden(text='requests from other web sites are rejected')
        # Without a session only the files of the page itself are served, which lie at the top.
        is_public = request.path != '/ws' and request.path.count('/') == 1
        if not is_public and not admitted:
            raise web.HTTPUnauthorized(text='a token is needed')

    def _count(self, request: web.Request, admitted: bool) -> None:
        if request.method == 'POST' and request.path == '/sign_in' and not admitted:
            return  # Counted where the token is wrong.
        limits = self._operators if admitted else self._strangers
        try:
            limits.check(client_of(request.remote))
        except RateExceededError as error:
            raise web.HTTPTooManyRequests(text=str(error)) from error

    def _cookie(self, request: web.Request) -> str:
        # Browsers share cookies between the ports of a machine; two dashboards must not.
        host = _host_of(request.headers.get('Host', ''))
        port = host[1] if host else None
        return f'proemlc_{port or (443 if request.secure else 80)}'

    async def sign_in_state(self, request: web.Request) -> web.Response:
        """Answer whether the browser is signed in."""
        return web.json_response({'admitted': self.seconds_left(request) > 0})

    async def sign_in(self, request: web.Request) -> web.Response:
        """Give a browser that knows the token its cookie."""
        try:
            token = text(await _json_object(request), 'token')
        except OperatorRequestError as error:
            await self._count_failure(request)
            raise web.HTTPBadRequest(text=str(error)) from error
        if not self._access.token_matches(token):
            await self._count_failure(request)
            raise web.HTTPUnauthorized(text='this is not the token')
        self._connections.request_came(request.protocol, Standing.ADMITTED)
        response = web.json_response({'admitted': True})
        response.set_cookie(self._cookie(request), self._sessions.issue(), httponly=True,
                            samesite='Strict', secure=request.secure,
                            max_age=int(self._sessions.lifetime))
        return response

    async def _count_failure(self, request: web.Request) -> None:
        self._connections.request_came(request.protocol, Standing.REJECTED)
        client = client_of(request.remote)
        self._warn('wrong token', f'A wrong token was presented, from {client}')
        try:
            self._guesses.check(client)
        except RateExceededError as error:
            await asyncio.sleep(GUESS_DELAY)
            raise web.HTTPTooManyRequests(text='too many attempts; wait a second') from error


async def _json_object(request: web.Request) -> dict[str, Any]:
    """Return the JSON object in a request's body."""
    try:
        # Not request.json(): the client chooses the charset there.
        body = json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise OperatorRequestError('the body must be JSON') from error
    if not isinstance(body, dict):
        raise OperatorRequestError('the body must be a JSON object')
    return body
