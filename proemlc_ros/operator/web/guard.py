# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What every HTTP request passes: limits, host, origin, session; and the sign-in."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from http.cookies import CookieError
from typing import Any

from aiohttp import web

from proemlc_ros.errors import OperatorRequestError, RateExceededError
from proemlc_ros.operator.web.access import Access, Sessions, host_of
from proemlc_ros.operator.web.client_limits import ClientLimits, client_of
from proemlc_ros.operator.web.connection_table import ConnectionTable, Standing
from proemlc_ros.operator.web.payloads import Warn, in_short
from proemlc_ros.operator.web.request_fields import text

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
        self._strangers = ClientLimits(max_rate, everybody, 'requests')
        self._operators = ClientLimits(max_rate, 0, 'requests')
        self._guesses = ClientLimits(max_attempts, CLIENTS_AT_ONCE * max_attempts, 'tokens')

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request, and set the headers of its answer."""
        try:
            self._check(request)
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
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
        is_private = request.path == '/ws' or request.path.startswith('/pictures/')
        if is_private and not admitted:
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
        host = host_of(request.headers.get('Host', ''))
        port = host[1] if host else None
        return f'proemlc_{port or (443 if request.secure else 80)}'

    async def sign_in_state(self, request: web.Request) -> web.Response:
        """Answer whether the browser is signed in."""
        return web.json_response({'admitted': self.seconds_left(request) > 0})

    async def sign_in(self, request: web.Request) -> web.Response:
        """Give a browser that knows the token its cookie."""
        try:
            token = text(await json_object(request), 'token')
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


async def json_object(request: web.Request) -> dict[str, Any]:
    """Return the JSON object in a request's body."""
    try:
        # Not request.json(): the client chooses the charset there.
        body = json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise OperatorRequestError('the body must be JSON') from error
    if not isinstance(body, dict):
        raise OperatorRequestError('the body must be a JSON object')
    return body
