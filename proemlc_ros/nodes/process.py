# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs nodes as processes that end cleanly, however often they are signalled.

The main thread waits for SIGINT and SIGTERM while another one spins, and blocks them while it
ends. So no signal can interrupt the saving of a model; a second Ctrl-C, which `ros2 launch` may
send, has no effect.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol, cast

import rclpy
from rclpy.exceptions import NameValidationException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import try_shutdown

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.nodes.garbage import collect_rarely
from proemlc_ros.nodes.watchdog import watched

# Errors that a wrong command line or parameter file causes; reported in one line.
MISTAKES = (ProEMLCError, NameValidationException, rclpy_implementation.RCLError,
            rclpy_implementation.UnknownROSArgsError)
_ENDING = {signal.SIGINT, signal.SIGTERM}
# Seconds that a thread which predicts waits for one that reads or writes files in Python; Python's
# own 5 ms are more than a prediction takes.
_SWITCH = 0.001


class RunnableNode(Protocol):
    """What `run` needs of a node; a node with nothing to prepare or save may inherit it."""

    def start(self) -> bool:
        """Begin to work, before anything is received; false ends the process."""
        return True

    def finish(self) -> None:
        """Save everything; nothing is received any more."""


class Signals:
    """Waits for the signals that end a process. Made before any thread begins."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in _ENDING:
            # Also undoes that a shell starts background jobs with SIGINT ignored.
            signal.signal(number, lambda *_: None)
        # Each thread inherits the mask of the one that starts it, so only this one is interrupted.
        self._block()

    def wait(self) -> None:
        """Return at the next signal; one that came before counts."""
        self._unblock()
        os.read(self._reader, 1)
        self._block()

    async def wait_async(self) -> None:
        """Return at the next signal, in the asyncio loop of the main thread."""
        import asyncio  # by those who have a loop; a node alone starts sooner without it

        came = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._reader, came.set)
        self._unblock()
        try:
            await came.wait()
        finally:
            self._block()
            loop.remove_reader(self._reader)

    def end(self) -> None:
        """End the wait as a signal would; called from any thread."""
        os.write(self._writer, b'\0')

    def _block(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)

    def _unblock(self) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def run(make_node: Callable[[], RunnableNode], args: Sequence[str] | None = None,
        work: Callable[[Any], Coroutine[Any, Any, None]] | None = None,
        watch: bool = False) -> int:
    """Run a node until a signal comes, or until its work is done.

    Args:
        make_node: makes the node; it has the methods of RunnableNode.
        args: of the command line.
        work: coroutine function of the node that the process ends with; None: a signal ends it.
        watch: whether a node that stands still ends the process.

    Returns:
        The exit code: 0, or 1 where the node could not start or its work was interrupted.
    """
    return run_program(lambda signals: _run_node(make_node, work, signals, watch), args)


def run_program(work: Callable[[Signals], bool], args: Sequence[str] | None = None) -> int:
    """Run a program in ROS.

    Args:
        work: what it does; returns whether it succeeded.
        args: of the command line.

    Returns:
        The exit code: 0 or 1.
    """
    signals = Signals()
    try:
        rclpy.init(args=None if args is None else list(args),
                   signal_handler_options=SignalHandlerOptions.NO)
        return 0 if work(signals) else 1
    except MISTAKES as error:
        program = Path(sys.argv[0]).stem
        get_logger(program).fatal(f'Cannot run {program}: {in_one_line(error)}')
        return 1
    finally:
        try_shutdown()


@contextmanager
def spinning(node: Node, signals: Signals) -> Iterator[Executor]:
    """Spin a node in a thread of its own.

    Raises:
        RuntimeError: a callback failed; this also ends the wait for a signal.
    """
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    stop = Future(executor=executor)
    failures: list[BaseException] = []

    def spin() -> None:
        try:
            executor.spin_until_future_complete(stop)
        except BaseException as error:
            failures.append(error)
            signals.end()

    thread = threading.Thread(target=spin, name='spin', daemon=True)
    thread.start()
    try:
        yield executor
    finally:
        stop.set_result(None)
        thread.join()
        executor.shutdown()
    if failures:
        raise RuntimeError('a callback of the node failed') from failures[0]


def in_one_line(error: Exception) -> str:
    """Return the text of an error; rcl's without the places in its source."""
    return ' '.join(re.sub(r', at /\S+:\d+', '', str(error)).split())


def _run_node(make_node: Callable[[], RunnableNode],
              work: Callable[[Any], Coroutine[Any, Any, None]] | None, signals: Signals,
              watch: bool) -> bool:
    sys.setswitchinterval(_SWITCH)
    runnable = make_node()
    # Types cannot say "a Node with these methods as well".
    node = cast(Node, runnable)
    done = runnable.start()
    collect_rarely()
    try:
        if done:
            with (watched(node) if watch else nullcontext(),
                  spinning(node, signals) as executor):
                task = executor.create_task(work(runnable)) if work else None
                if task is not None:
                    task.add_done_callback(lambda _: signals.end())
                signals.wait()
            done = task is None or bool(task.done())
    finally:
        runnable.finish()
        node.destroy_node()
    return done
