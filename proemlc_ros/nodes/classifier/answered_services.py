# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Services of the classifier: how they are made, taken down, and answered when work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.service import Service

from proemlc_ros.errors import ProEMLCError, text_of
from proemlc_ros.nodes.classifier.deferred import DeferredResponse, allow_deferred
from proemlc_ros.nodes.classifier.topics import ClassifierTopics

# Name, type and callback of a service.
ServiceRow = tuple[str, Any, Callable[[Any, Any], Any]]
# Requests and responses that wait on either side; rclpy's default of 10 loses those of a burst.
_QOS = QoSProfile(depth=1000)


class AnsweredServices:
    """Some services of the classifier; responses have the fields success and message.

    Args:
        node: on which they are created.
        topics: are told of what is rejected.
        rows: the services.
    """

    def __init__(self, node: Node, topics: ClassifierTopics, rows: Iterable[ServiceRow]) -> None:
        self._node = node
        self._topics = topics
        self._services: list[Service] = [
            allow_deferred(node.create_service(kind, f'~/{name}', callback, qos_profile=_QOS))
            for name, kind, callback in rows]

    def destroy(self) -> None:
        """Take the services down."""
        for service in self._services:
            self._node.destroy_service(service)

    def _reject(self, response: Any, error: BaseException) -> Any:
        """Return the response to a request that is not done, and tell everybody."""
        self._topics.reject(error)
        return fill(response, False, reason(error))

    def _defer(self, response: Any, work: Future[Any],
               done: Callable[[Any], Any]) -> DeferredResponse:
        """Answer once work is done.

        Args:
            response: to fill.
            work: ends in a result or an error; an error is the answer.
            done: is given the result and returns the response.
        """
        deferred = DeferredResponse()

        def respond(future: Future[Any]) -> None:
            error = future.exception()
            deferred.resolve(done(future.result()) if error is None
                             else self._reject(response, error))
        work.add_done_callback(respond)
        return deferred


def fill(response: Any, success: bool, message: str) -> Any:
    """Return a response with what every response has."""
    response.success = success
    response.message = message
    return response


def reason(error: BaseException) -> str:
    """Return why something was not done, for people, with the remedy."""
    if isinstance(error, FileNotFoundError):
        return f'{error.filename}: there is no such file'
    if isinstance(error, OSError):
        return (f'cannot write {error.filename}: {error.strerror}; check the disk for space and '
                'the folder for write permission')
    if isinstance(error, ProEMLCError):
        return text_of(error)
    return f'internal error: {error!r}'
