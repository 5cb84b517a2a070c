# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""An operator's node: hears the classifier in a thread of its own, acts from asyncio."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import try_shutdown

from proemlc_ros.nodes.operator_services import OperatorServices
from proemlc_ros.nodes.operator_topics import OperatorTopics
from proemlc_ros.nodes.parameter_table import Declared, ParameterTable
from proemlc_ros.nodes.process import MISTAKES, in_one_line
from proemlc_ros.operator.classifier_view import ClassifierView

# Seconds between looks at whether the classifier's services are there.
LOOK = 0.5
ENDING = (signal.SIGINT, signal.SIGTERM)
CLASSIFIER = Declared(
    'classifier', 'proemlc', 'name of the classifier node, absolute or in this namespace')


class OperatorNode(Node):
    """Listens to one classifier and calls its services. Made inside a running asyncio loop.

    Args:
        name: of the node.
        table: its parameters beside `classifier`.
        node_options: for rclpy's Node.

    Raises:
        ParameterError: a parameter's value is not allowed.
    """

    def __init__(self, name: str, table: Iterable[Declared], **node_options: Any) -> None:
        super().__init__(name, **node_options)
        self.settings = ParameterTable(self, (CLASSIFIER, *table), lambda values: None).values
        classifier = self.settings.classifier
        self.robot = ClassifierView()
        self._loop = asyncio.get_running_loop()
        self.topics = OperatorTopics(self, classifier, self.robot, self.post)
        self.actions = OperatorServices(self, classifier, self.robot)
        self.create_timer(LOOK, self._look)

    @property
    def classifier(self) -> str:
        """Full name of the classifier node."""
        return self.topics.classifier

    def post(self, function: Any, *arguments: Any) -> None:
        """Run a function in the asyncio loop; called from the node's thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _look(self) -> None:
        self.post(setattr, self.robot, 'reachable', self.actions.ready)


@contextmanager
def spinning(node: Node) -> Iterator[None]:
    """Spin a node in a thread of its own."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    stop = Future(executor=executor)
    thread = threading.Thread(
        target=executor.spin_until_future_complete, args=(stop,), name='spin', daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set_result(None)
        thread.join(timeout=5.0)
        node.destroy_node()


def run(program: str, work: Callable[[], None], args: list[str] | None) -> int:
    """Run an operator's program in ROS and return its exit code.

    Args:
        program: its name, for messages.
        work: what it does, until it is told to stop.
        args: of the command line.
    """
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        work()
    except KeyboardInterrupt:
        pass  # Ctrl-C before or after the time in which stop_event takes it.
    except MISTAKES as error:
        print(f'{program}: {in_one_line(error)}', file=sys.stderr)
        return 1
    finally:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        try_shutdown()
    return 0


def stop_event() -> asyncio.Event:
    """Return an event that SIGINT or SIGTERM sets; a second signal changes nothing."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, stop.set)
    return stop
