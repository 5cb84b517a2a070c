# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Calls the services of a classifier from an asyncio loop; operator/actions.py has their use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from rclpy.client import Client
from rclpy.node import Node

from proemlc_ros.conversions import new_header, region_message
from proemlc_ros.errors import ClassifierUnavailableError, NoAnswerError, OperatorRequestError
from proemlc_ros.msg import RegionArray
from proemlc_ros.nodes.process import RCLError
from proemlc_ros.nodes.ros_messages import SERVICE_QOS, SERVICES, RosMessages
from proemlc_ros.operator.classifier_view import ClassifierView, Connection
from proemlc_ros.records import WHOLE, Region
from proemlc_ros.srv import ControlSource

# Seconds to wait for an answer; saving a large model to a slow card takes the longest.
TIMEOUT = 30.0
# Seconds between checks of whether the classifier is still there.
CHECK_PERIOD = 0.25
# Seconds that a restart may take before an annotation without an answer is given up.
RETURN_TIMEOUT = 10.0
# The value among the diagnostics that tells of long work.
WORK_KEY = 'Background work'
OPERATORS_SERVICES = ('annotate', 'undo', 'rename_label', 'predict', 'list_samples', 'get_sample',
                      'list_history', 'list_models', 'change_sample', 'undo_change',
                      'redo_change')
# Those that the security policy reserves to the owner: their clients are made when somebody wants
# them, since DDS may refuse.
OWNERS_SERVICES = ('change_samples', 'merge_labels', 'remove_label', 'save_model', 'load_model')


class ClassifierClient:
    """Calls the services of a classifier.

    Args:
        node: to call with; spun in another thread.
        classifier: name of the classifier node, absolute or relative to the node's namespace.
        view: what is known of the classifier.

    Attributes:
        messages: makes the messages of the requests.
    """

    def __init__(self, node: Node, classifier: str, view: ClassifierView) -> None:
        self.messages = RosMessages()
        self._node = node
        self._classifier = classifier
        self._view = view
        self._clients = {name: self._client(name) for name in OPERATORS_SERVICES}
        self._source: Any = node.create_client(ControlSource, 'source/control')
        self._regions: Any = None

    @property
    def ready(self) -> bool:
        """Whether the classifier offers its services."""
        return bool(self._clients['annotate'].service_is_ready())

    async def call(self, service: str, **fields: Any) -> Any:
        """Call a service by its name with the fields of the request; return the response.

        Raises:
            ClassifierUnavailableError: the classifier is not there.
            NoAnswerError: no answer came.
            OperatorRequestError: the security policy does not allow it.
        """
        client = self._clients.get(service) or self._owners_client(service)
        # DDS finds topics and services one by one: a classifier that has just come back gives
        # signs of life some time before its services are there.
        await _comes_true(lambda: client.service_is_ready() or not self._alive())
        # After a crash DDS offers the services for some 20 s more; silence shows it earlier.
        if not client.service_is_ready() or not self._alive():
            raise ClassifierUnavailableError(
                f'the classifier {client.srv_name.rpartition("/")[0]} does not answer; nothing '
                'was sent')
        return await _wait_for_answer(client, fields, self._alive, self._works)

    async def comes_back(self) -> bool:
        """Wait for a classifier that went away, and tell whether it is there again."""
        return await _comes_true(lambda: self.ready and self._alive())

    async def control_source(self, **fields: Any) -> Any:
        """Call the source of the pictures, which answers also without a classifier."""
        if not self._source.service_is_ready():
            raise ClassifierUnavailableError('the source of the pictures does not answer')
        return await _wait_for_answer(self._source, fields, lambda: True, lambda: False)

    def enable_drawing(self, topic: str) -> None:
        """Let boxes be drawn; the feature node keeps pictures from then on."""
        self._regions = self._node.create_publisher(RegionArray, topic, 10)

    async def draw(self, stamp: int, region: Region) -> None:
        """Have a box of a picture classified; WHOLE only keeps the picture for later.

        Raises:
            ClassifierUnavailableError: no feature node takes boxes.
        """
        if self._regions is None:
            return
        # What is published before DDS has matched the feature node is lost.
        if region != WHOLE and not await _comes_true(
                lambda: bool(self._regions.get_subscription_count())):
            raise ClassifierUnavailableError(
                f'no feature node takes boxes on {self._regions.topic_name}; nothing was sent')
        self._regions.publish(RegionArray(
            header=new_header(self.messages, stamp),
            regions=[] if region == WHOLE else [region_message(self.messages, region)]))

    def _client(self, name: str) -> Client:
        return self._node.create_client(
            SERVICES[name], f'{self._classifier}/{name}', qos_profile=SERVICE_QOS)

    def _owners_client(self, service: str) -> Client:
        """Make the client of a service that the security policy may reserve."""
        try:
            client = self._client(service)
        except RCLError as error:
            raise OperatorRequestError(
                f'the security policy reserves {service} to the owner: {error}') from error
        self._clients[service] = client
        return client

    def _alive(self) -> bool:
        """Whether the classifier has given a sign of life lately."""
        return self._view.connection(time.monotonic()) is Connection.LIVE

    def _works(self) -> bool:
        """Whether the classifier says that it is at long work, and how far it is."""
        return dict(self._view.health.values).get(WORK_KEY, 'none') != 'none'


async def _comes_true(condition: Callable[[], bool]) -> bool:
    """Wait for a node that went away or has yet to come, and tell whether it is there."""
    deadline = time.monotonic() + RETURN_TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(CHECK_PERIOD)
    return True


async def _wait_for_answer(client: Client, fields: dict[str, Any],
                           alive: Callable[[], bool], works: Callable[[], bool]) -> Any:
    """Send a request, and wait for the answer while the node is alive, and while it works.

    Raises:
        NoAnswerError: no answer came.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()
    kind: Any = client.srv_type
    future = client.call_async(kind.Request(**fields))

    def hand_over(done: Any) -> None:
        loop.call_soon_threadsafe(_hand_over, done, answer)

    future.add_done_callback(hand_over)
    deadline = time.monotonic() + TIMEOUT
    while alive() and (time.monotonic() < deadline or works()):
        await asyncio.wait([answer], timeout=CHECK_PERIOD)
        if answer.done():
            return answer.result()
    client.remove_pending_request(future)
    raise NoAnswerError(
        f'the node {client.srv_name.rpartition("/")[0]} went away, or gave no answer; '
        'the number of samples shows whether it was done')


def _hand_over(done: Any, answer: asyncio.Future[Any]) -> None:
    if answer.done():
        return
    if done.exception() is not None:
        answer.set_exception(done.exception())
    else:
        answer.set_result(done.result())
