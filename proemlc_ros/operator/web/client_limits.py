# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How often each client address may try something; no client spends the share of another."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict

from proemlc_ros.classifier.validation import RateLimit

# Client addresses that are remembered; the one that was quiet for longest goes first.
MAX_CLIENTS = 1024


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


class ClientLimits:
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
