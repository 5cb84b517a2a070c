# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Who may open the page: loopback by default, a token beyond it, and no other web site."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from proemlc_ros.classifier.validation import RateLimit
from proemlc_ros.errors import OperatorRequestError, ParameterError, RateExceededError
from proemlc_ros.operator.web.requests import text

MIN_TOKEN_LENGTH = 16
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
        ParameterError: no token, or a guessable one, for an address beyond loopback.
    """

    address: str = '127.0.0.1'
    token: str = field(default='', repr=False)
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token and len(self.token) < MIN_TOKEN_LENGTH:
            raise ParameterError(
                f'the token has {len(self.token)} characters and could be guessed; use at least '
                f'{MIN_TOKEN_LENGTH}, such as from: openssl rand -hex 16')
        if not self.token and not is_loopback(self.address):
            raise ParameterError(
                f'address {self.address!r} can be reached from other machines and needs a token: '
                'put one into a file (openssl rand -hex 16) and name it by the parameter '
                'token_file, or set PROEMLC_TOKEN; or use 127.0.0.1 and ssh -L')

    def host_allowed(self, host: str) -> bool:
        """Check a Host header, so that no foreign name can be pointed at this server.

        This prevents DNS rebinding.
        """
        name = _name_of(f'//{host}')
        if name is None:
            return False
        if name in self._names:
            return True
        # Rebinding needs a name; a bare address leads where it says.
        return not is_loopback(self.address) and _is_address(name)

    def origin_allowed(self, origin: str | None, host: str) -> bool:
        """Check that a request with effects comes from our own page."""
        if not origin:
            return False
        parts = urlsplit(origin)
        return parts.scheme in ('http', 'https') and parts.netloc.lower() == host.lower()

    def token_matches(self, given: str) -> bool:
        """Compare a token in constant time."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    @property
    def cookie_value(self) -> str:
        """Cookie of an admitted browser: proves the token without revealing it."""
        return hmac.new(self.token.encode(), b'proemlc dashboard', hashlib.sha256).hexdigest()

    def admits(self, cookie: str | None) -> bool:
        """Return whether a browser with this cookie may open the page."""
        if not self.token:
            return True
        return cookie is not None and hmac.compare_digest(
            cookie.encode(), self.cookie_value.encode())

    @property
    def _names(self) -> set[str]:
        machine = socket.gethostname().lower()
        own: Iterable[str] = () if is_loopback(self.address) else (machine, f'{machine}.local')
        return {'localhost', '127.0.0.1', '::1', self.address.lower(), *own,
                *(name.lower() for name in self.allowed_hosts)}


class RequestGuard:
    """Passes requests that come from our own page, under our own host name, with the token.

    Args:
        access: the rules.
        max_rate: requests per second, of all browsers together.
        max_attempts: tokens that may be tried per second.
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
            raise web.HTTPForbidden(text='requests from other web sites are rejected')
        is_private = request.path == '/ws' or request.path.startswith('/pictures/')
        if is_private and not access.admits(request.cookies.get(self._cookie(request))):
            raise web.HTTPUnauthorized(text='a token is needed')

    def _cookie(self, request: web.Request) -> str:
        # Browsers share cookies between the ports of a machine; two dashboards must not.
        return f'proemlc_{request.url.port}'

    async def sign_in_state(self, request: web.Request) -> web.Response:
        """Answer whether the browser is signed in."""
        return web.json_response({
            'admitted': self._access.admits(request.cookies.get(self._cookie(request)))})

    async def sign_in(self, request: web.Request) -> web.Response:
        """Give a browser that knows the token its cookie."""
        access = self._access
        try:
            self._attempts.check(time.monotonic_ns())
            token = text(await json_object(request), 'token')
        except RateExceededError as error:
            raise web.HTTPTooManyRequests(text='too many attempts; wait a second') from error
        except OperatorRequestError as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        if not access.token_matches(token):
            raise web.HTTPUnauthorized(text='this is not the token')
        response = web.json_response({'admitted': True})
        response.set_cookie(self._cookie(request), access.cookie_value, httponly=True,
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


def _name_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
