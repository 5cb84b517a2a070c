# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The door of the page: every request is checked here before anything else happens."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from proemlc_ros.classifier.validation import RateLimit
from proemlc_ros.errors import OperatorRequestError, RateExceededError
from proemlc_ros.operator.web.access import HEADERS, Access
from proemlc_ros.operator.web.requests import text

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RequestGuard:
    """Lets requests pass that come from our own page, under our own name, with the token.

    Args:
        access: the rules.
        max_rate: requests a second, of all browsers together.
        max_attempts: tokens that may be tried a second.
    """

    def __init__(self, access: Access, max_rate: float, max_attempts: float) -> None:
        self._access = access
        self._rate = RateLimit(max_rate, 'requests')
        self._attempts = RateLimit(max_attempts, 'tokens')

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request, and set the headers of its answer."""
        try:
            self._check(request)
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    def _check(self, request: web.Request) -> None:
        access = self._access
        try:
            self._rate.check(time.monotonic_ns())
        except RateExceededError as error:
            raise web.HTTPTooManyRequests(text=str(error)) from error
        if not access.host_allowed(request.host):
            raise web.HTTPForbidden(text='this host name is not served here; see allowed_hosts')
        has_effects = request.method != 'GET' or request.path == '/ws'
        if has_effects and not access.origin_allowed(request.headers.get('Origin'), request.host):
            raise web.HTTPForbidden(text='requests from other web sites are refused')
        is_private = request.path == '/ws' or request.path.startswith('/pictures/')
        if is_private and not access.admits(request.cookies.get(self._cookie(request))):
            raise web.HTTPUnauthorized(text='a token is needed')

    def _cookie(self, request: web.Request) -> str:
        # Browsers share cookies between the ports of a machine; two dashboards must not.
        return f'proemlc_{request.url.port}'

    async def session_state(self, request: web.Request) -> web.Response:
        """Tell a page whether it needs to ask for the token."""
        return web.json_response({
            'admitted': self._access.admits(request.cookies.get(self._cookie(request)))})

    async def sign_in(self, request: web.Request) -> web.Response:
        """Give a browser that knows the token its pass."""
        access = self._access
        try:
            self._attempts.check(time.monotonic_ns())
            token = text(await json_object(request), 'token')
        except RateExceededError as error:
            raise web.HTTPTooManyRequests(text='too many attempts; wait a moment') from error
        except OperatorRequestError as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        if not access.token_matches(token):
            raise web.HTTPUnauthorized(text='this is not the token')
        response = web.json_response({'admitted': True})
        response.set_cookie(self._cookie(request), access.pass_value, httponly=True,
                            samesite='Strict', secure=request.secure)
        return response


async def json_object(request: web.Request) -> dict[str, Any]:
    """Return the JSON object in a request's body."""
    try:
        body = await request.json()
    except ValueError as error:
        raise OperatorRequestError('the body must be JSON') from error
    if not isinstance(body, dict):
        raise OperatorRequestError('the body must be a JSON object')
    return body
