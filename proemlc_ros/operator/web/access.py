# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Who may open the page: loopback by default, a token beyond it, and no other web site."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from proemlc_ros.errors import OperatorRequestError, ParameterError
from proemlc_ros.operator.web.request_fields import valid_text

MIN_TOKEN_LENGTH = 16


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
        parts = host_of(host)
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


def host_of(header: str) -> tuple[str, int | None] | None:
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
