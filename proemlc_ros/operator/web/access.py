# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Who may open the page: loopback by default, a token beyond it, and no foreign web site."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from proemlc_ros.errors import ParameterError

MIN_TOKEN_LENGTH = 16

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
    """Tell whether only programs of this machine can reach an address."""
    if address == 'localhost':
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Access:
    """The rules of the door.

    Args:
        address: that the server is bound to.
        token: that a browser must present; may be empty on loopback alone.
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
        """Check a Host header, so that no foreign name can be pointed at us (DNS rebinding)."""
        name = _name_of(f'//{host}')
        if name is None:
            return False
        if name in self._names:
            return True
        # Rebinding needs a name; a bare address cannot lie about where it leads.
        return not is_loopback(self.address) and _is_address(name)

    def origin_allowed(self, origin: str | None, host: str) -> bool:
        """Check that a request with effects comes from our own page."""
        if not origin:
            return False
        parts = urlsplit(origin)
        return parts.scheme in ('http', 'https') and parts.netloc.lower() == host.lower()

    def token_matches(self, given: str) -> bool:
        """Compare a token, in a time that tells nothing about it."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    @property
    def pass_value(self) -> str:
        """What the cookie of an admitted browser holds: proves the token, does not tell it."""
        return hmac.new(self.token.encode(), b'proemlc dashboard', hashlib.sha256).hexdigest()

    def admits(self, cookie: str | None) -> bool:
        """Tell whether a browser with this cookie may come in."""
        if not self.token:
            return True
        return cookie is not None and hmac.compare_digest(
            cookie.encode(), self.pass_value.encode())

    @property
    def _names(self) -> set[str]:
        machine = socket.gethostname().lower()
        own: Iterable[str] = () if is_loopback(self.address) else (machine, f'{machine}.local')
        return {'localhost', '127.0.0.1', '::1', self.address.lower(), *own,
                *(name.lower() for name in self.allowed_hosts)}


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
