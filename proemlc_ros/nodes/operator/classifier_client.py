# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's services, called from an asyncio loop, and noticed when it goes away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from rclpy.client import Client
from rclpy.node import Node

from proemlc_ros.errors import ClassifierUnavailableError, NoAnswerError
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.classifier_view import ClassifierView, Connection

# Seconds to wait for an answer; saving a large model to a slow card takes the longest.
TIMEOUT = 30.0
# Seconds between checks of whether the classifier is still there.
CHECK_PERIOD = 0.25
# Seconds that a restart may take before an annotation without an answer is given up.
RETURN_TIMEOUT = 10.0


class ClassifierClient:
    """Makes clients for the services of a classifier, and calls them.

    Args:
        node: to call with; spun in another thread.
        classifier: name of the classifier node, absolute or relative to the node's namespace.
        view: what is known of the classifier.
    """

    def __init__(self, node: Node, classifier: str, view: ClassifierView) -> None:
        self._node = node
        self._classifier = classifier
        self._view = view

    def of(self, kind: type, name: str) -> Client:
        """Return a client of one service."""
        return self._node.create_client(kind, f'{self._classifier}/{name}')

    async def act(self, client: Client, request: Any) -> ActionResult:
        """Call a service that does something; return what came of it."""
        response = await self.call(client, request)
        return ActionResult(response.success, response.message)

    async def call(self, client: Client, request: Any) -> Any:
        """Call a service and wait for its answer.

        Raises:
            ClassifierUnavailableError: the classifier is not there.
            NoAnswerError: no answer came.
        """
        name = client.srv_name.rpartition('/')[0]
        # After a crash DDS offers the services for some 20 s more; silence shows it earlier.
        if not client.service_is_ready() or not self.alive():
            raise ClassifierUnavailableError(
                f'the classifier {name} does not answer; nothing was sent')
        return await wait_for_answer(client, request, self.alive)

    async def comes_back(self, client: Client) -> bool:
        """Wait for a classifier that went away, and tell whether it is there again."""
        return await comes_true(lambda: client.service_is_ready() and self.alive())

    def alive(self) -> bool:
        """Whether the classifier has given a sign of life lately."""
        return self._view.connection(time.monotonic()) is Connection.LIVE


async def comes_true(condition: Callable[[], bool]) -> bool:
    """Wait for a node that went away or has yet to come, and tell whether it is there."""
    deadline = time.monotonic() + RETURN_TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(CHECK_PERIOD)
    return True


async def wait_for_answer(client: Client, request: Any, alive: Callable[[], bool]) -> Any:
    """Send a request, and wait for its answer as long as the node is alive.

    Raises:
        NoAnswerError: no answer came.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()
    future = client.call_async(request)
    future.add_done_callback(
        lambda done: loop.call_soon_threadsafe(_hand_over, done, answer))
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and alive():
        await asyncio.wait([answer], timeout=CHECK_PERIOD)
        if answer.done():
            return answer.result()
    client.remove_pending_request(future)
    raise NoAnswerError(
        f'the node {client.srv_name.rpartition("/")[0]} went away before it answered; '
        'the number of samples shows whether it was done')


def _hand_over(done: Any, answer: asyncio.Future[Any]) -> None:
    if answer.done():
        return
    if done.exception() is not None:
        answer.set_exception(done.exception())
    else:
        answer.set_result(done.result())
