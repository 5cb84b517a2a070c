# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a node as a process that ends cleanly, however often it is told to.

The main thread waits for the signals while another one spins, and blocks them while it ends. So
none of them can interrupt the saving of a model; a second Ctrl-C, which `ros2 launch` likes to
send, is nothing.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import rclpy
from rclpy.exceptions import NameValidationException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from proemlc_ros.errors import ProEMLCError

# What a command line or a parameter file may bring about that cannot be used.
MISTAKES = (ProEMLCError, NameValidationException, rclpy_implementation.RCLError,
            rclpy_implementation.UnknownROSArgsError)
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
    signals = _Signals()
    try:
        try:
            rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
            node = make_node()
        except MISTAKES as error:
            get_logger('proemlc_ros').fatal(f'Cannot start: {in_one_line(error)}')
            return 1
        started = node.start()
        try:
            if started:
                _spin_until(signals, node)
        finally:
            node.finish()
            node.destroy_node()
        return 0 if started else 1
    finally:
        rclpy.try_shutdown()


def in_one_line(error: Exception) -> str:
    """Return the words of an error; rcl's without the places in its source."""
    return ' '.join(re.sub(r', at /\S+:\d+', '', str(error)).split())


class _Signals:
    """Waits for the signals that end a process; made before any thread begins."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in _ENDING:
            # Also undoes that a shell starts background jobs with SIGINT ignored.
            signal.signal(number, lambda *_: None)
        # Each thread inherits the mask of the one that starts it, so only this one will hear.
        self._block()

    def wait(self) -> None:
        """Return at the next signal; one that came before counts."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        os.read(self._reader, 1)
        self._block()

    def _block(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)


def _spin_until(signals: _Signals, node: Node) -> None:
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    stop = Future(executor=executor)
    failures: list[BaseException] = []
    thread = threading.Thread(
        target=_spin, args=(executor, stop, failures), name='spin', daemon=True)
    thread.start()
    signals.wait()
    stop.set_result(None)
    thread.join()
    if failures:
        raise failures[0]


def _spin(executor: Executor, stop: Future, failures: list[BaseException]) -> None:
    try:
        executor.spin_until_future_complete(stop)
    except BaseException as error:
        failures.append(error)
        # Wakes the main thread, which raises it.
        os.kill(os.getpid(), signal.SIGTERM)
