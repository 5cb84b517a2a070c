# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a node as a process that ends cleanly, however often it is told to.

The signals are blocked in every thread and waited for in the main one. So none of them can
interrupt the saving of a model, and a second Ctrl-C, which `ros2 launch` likes to send, is nothing.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

_ENDING = {signal.SIGINT, signal.SIGTERM}


class Process(Protocol):
    """What a node needs to be run."""

    def start(self) -> bool:
        """Begin to work, before anything is received; false ends the process."""

    def finish(self) -> None:
        """Save everything; nothing is received any more."""


def run(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Run a node until it is told to end.

    Args:
        make_node: makes the node, which has the methods of Process.
        args: of the command line.

    Returns:
        The exit code: 0, or 1 where the node could not start.
    """
    for number in _ENDING:
        # A shell starts background jobs with SIGINT ignored; what is ignored cannot be waited for.
        signal.signal(number, signal.SIG_DFL)
    # Before any thread begins, since each inherits the mask of the one that starts it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make_node()
        started = node.start()
        try:
            if started:
                _spin_until_signal(node)
        finally:
            node.finish()
            node.destroy_node()
        return 0 if started else 1
    finally:
        rclpy.try_shutdown()


def _spin_until_signal(node: Node) -> None:
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    stop = Future(executor=executor)
    failures: list[BaseException] = []
    thread = threading.Thread(
        target=_spin, args=(executor, stop, failures), name='spin', daemon=True)
    thread.start()
    signal.sigwait(_ENDING)
    stop.set_result(None)
    thread.join()
    if failures:
        raise failures[0]


def _spin(executor: Executor, stop: Future, failures: list[BaseException]) -> None:
    try:
        executor.spin_until_future_complete(stop)
    except BaseException as error:
        failures.append(error)
    finally:
        # Wakes the main thread where spinning ended for a reason of its own.
        os.kill(os.getpid(), signal.SIGTERM)
