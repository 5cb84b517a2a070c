# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Service answers that come later, from another thread, while the node goes on.

rclpy's own way, a coroutine, makes its executors poll until the answer is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.service import Service


class DeferredResponse:
    """Returned by a service callback in place of a response that is not known yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._response: Any = None
        self._send: Callable[[Any], None] | None = None

    def resolve(self, response: Any) -> None:
        """Give the response; from any thread, once."""
        with self._lock:
            self._response = response
            send = self._send
        if send is not None:
            send(response)

    def bind(self, send: Callable[[Any], None]) -> None:
        """Say how to send the response; called by the service."""
        with self._lock:
            self._send = send
            response = self._response
        if response is not None:
            send(response)


def allow_deferred(service: Service) -> Service:
    """Let the callback of a service return a DeferredResponse.

    Executors hand whatever the callback returns to `send_response`, with the header that names
    the caller; that is where a response that is not there yet is put aside.
    """
    send_now = service.send_response

    def send_response(response: Any, header: Any) -> None:
        if isinstance(response, DeferredResponse):
            response.bind(lambda answer: send_now(answer, header))
        else:
            send_now(response, header)

    setattr(service, 'send_response', send_response)  # noqa: B010 - a method, for mypy
    return service
