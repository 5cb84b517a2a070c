# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs nodes as processes that end cleanly and in time, however often they are signalled.

SIGINT and SIGTERM are blocked in all threads but one, which waits for them. So no signal can
interrupt the saving of a model; a second Ctrl-C, which `ros2 launch` may send, has no effect. A
process that has not ended some seconds after the first signal ends at once, whatever it does: what
was acknowledged is in the journal.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, Protocol, cast

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import NameValidationException
from rclpy.executors import Executor, SingleThreadedExecutor

# rclpy has no public name for the errors of rcl: an invalid name, a wrong command line, a topic
# that the security policy does not allow.
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import try_shutdown

from proemlc_ros.errors import ProEMLCError

RCLError: type[Exception] = rclpy_implementation.RCLError
# Of a service, publisher or node that was destroyed.
InvalidHandle: type[Exception] = rclpy_implementation.InvalidHandle
# Errors that a wrong command line or parameter file causes; reported in one line.
MISTAKES = (ProEMLCError, NameValidationException, RCLError,
            rclpy_implementation.UnknownROSArgsError)
_ENDING = {signal.SIGINT, signal.SIGTERM}
# Seconds that a node waits for a publisher of /clock.
_CLOCK_TIMEOUT = 4.0
# Seconds from the first signal to the end.
_TIME_TO_END = 4.0
# Seconds that a thread which predicts waits for one that reads or writes files in Python; Python's
# own 5 ms are more than a prediction takes.
_SWITCH = 0.001
# New objects after which the youngest are looked through while a node runs; Python's own choice
# is 700.
_NEW_OBJECTS = 20_000
# Seconds that a node runs without a turn of its executor; a slow network may take some for one
# picture.
PATIENCE = 30
# Ends a process in which no Python runs any more. It counts seconds in which both run: a process
# that is stopped (Ctrl-Z, a debugger), or paused together with its container, is not stuck.
_WATCHER = """
import os, select, signal, sys
process, patience, silent = int(sys.argv[1]), int(sys.argv[2]), 0
while True:
    if select.select([0], [], [], 1.0)[0]:
        if not os.read(0, 4096):
            break
        silent = 0
        continue
    try:
        with open(f'/proc/{process}/stat') as stat:
            stopped = stat.read().rpartition(') ')[2][0] in 'Tt'
    except OSError:
        stopped = False
    silent = 0 if stopped else silent + 1
    if silent >= patience:
        os.kill(process, signal.SIGALRM)
        break
"""
_MAPS = Path('/proc/self/maps')
_LIBRARY = re.compile('lib.*blas')
# Builds of OpenBLAS mark their functions: those of NumPy and SciPy, and those for long integers.
_SETTERS = tuple(f'{prefix}openblas_set_num_threads{suffix}'
                 for prefix in ('scipy_', '') for suffix in ('64_', '', '_64'))


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
        self._signalled, wakeup = os.pipe()
        for writer in (self._writer, wakeup):
            os.set_blocking(writer, False)
        # Written to in whichever thread a signal arrives: those of libraries that began before
        # this one have it unblocked.
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in _ENDING:
            # Also undoes that a shell starts background jobs with SIGINT ignored.
            signal.signal(number, lambda *_: None)
        # Each thread inherits the mask of the one that starts it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        threading.Thread(target=self._receive, name='signals', daemon=True).start()

    def wait(self) -> None:
        """Return at the next signal; one that came before counts."""
        os.read(self._reader, 1)

    async def wait_async(self) -> None:
        """Return at the next signal, in the asyncio loop of the main thread."""
        import asyncio  # by those who have a loop; a node alone starts sooner without it

        came = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._reader, came.set)
        try:
            await came.wait()
        finally:
            loop.remove_reader(self._reader)

    def end(self) -> None:
        """End the wait as a signal would; called from any thread."""
        with suppress(BlockingIOError):  # Nobody has read the many that came before.
            os.write(self._writer, b'\0')

    def _receive(self) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        os.read(self._signalled, 1)
        self.end()
        timer = threading.Timer(_TIME_TO_END, _end_now)
        timer.daemon = True
        timer.start()
        while True:  # Those that follow have no effect.
            os.read(self._signalled, 100)


def _end_now() -> None:
    """End the process although something has not ended: a disk, a long computation."""
    print(f'{Path(sys.argv[0]).stem}: not done {_TIME_TO_END:g} s after the signal; ending all '
          'the same. Everything acknowledged is in the journal.', file=sys.stderr, flush=True)
    os._exit(0)


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
        get_logger(program).fatal(f'Cannot run {program}: {_in_one_line(error)}')
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
    _warn_without_clock(node)
    stop: Future = Future(executor=executor)
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


def _warn_without_clock(node: Node) -> None:
    """Warn where a node waits for a time that nobody gives."""
    def look() -> None:
        node.destroy_timer(timer)
        if node.get_parameter('use_sim_time').value and not node.count_publishers('/clock'):
            node.get_logger().warning(
                'use_sim_time is true, but nobody publishes /clock: time stands still at 0. Start '
                'the simulation, play the bag with --clock, or set use_sim_time to false.')
    timer = node.create_timer(_CLOCK_TIMEOUT, look, clock=Clock(clock_type=ClockType.STEADY_TIME))


def _in_one_line(error: Exception) -> str:
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
    _collect_rarely()
    try:
        if done:
            with (watched(node) if watch else nullcontext(),
                  spinning(node, signals) as executor):
                task = executor.create_task(work, runnable) if work else None
                if task is not None:
                    task.add_done_callback(lambda _: signals.end())
                signals.wait()
            done = task is None or bool(task.done())
    finally:
        runnable.finish()
        node.destroy_node()
    return done


@contextmanager
def watched(node: Node | None, patience: int = PATIENCE) -> Iterator[None]:
    """End the process when a node stands still; what it did goes to standard error.

    A call into the middleware that never returns holds the interpreter; subscriptions.py tells of
    one. Then no timer and no other thread runs, and Ctrl-C is not heard. So another process
    watches for signs of life, and ends this one by SIGALRM.

    Args:
        node: that is spun meanwhile; None: it is enough that any Python code runs.
        patience: seconds that the process runs.
    """
    import subprocess  # by those who are watched

    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    with subprocess.Popen((sys.executable, '-I', '-S', '-c', _WATCHER, str(os.getpid()),
                           str(patience)), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as watcher:
        pipe = cast(IO[bytes], watcher.stdin).fileno()

        def show_life() -> None:
            with suppress(OSError):  # It was killed.
                os.write(pipe, b'.')

        def show_life_until_ended() -> None:
            while not ended.wait(1.0):
                show_life()

        ended = threading.Event()
        timer = None
        if node is None:
            threading.Thread(target=show_life_until_ended, name='watched', daemon=True).start()
        else:
            timer = node.create_timer(1.0, show_life,
                                      clock=Clock(clock_type=ClockType.STEADY_TIME))
        try:
            yield
        finally:
            ended.set()
            if node is not None and timer is not None:
                node.destroy_timer(timer)


def _collect_rarely() -> None:
    """Let garbage collection pass over what is there, and wait for more new objects.

    Each wait of rclpy's executor makes hundreds of objects that need no collection, and a look
    through all that a node was made of stops its threads for 30 ms. So what is there is not
    collected once: a start leaves a few kilobytes of garbage, which are kept.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


def limit_blas_threads(threads: int) -> int:
    """Limit the threads that matrix products use, in every OpenBLAS that is loaded.

    The matrices of one classifier are too small to be shared out. Threads that wait for each other
    take the processor from the other nodes, and on busy cores make each product many times slower.
    NumPy and SciPy bring libraries of their own, each with its own threads.

    Args:
        threads: 1 or more; 0 leaves it to the libraries.

    Returns:
        How many libraries were limited; 0 where another BLAS is used.
    """
    if threads < 1:
        return 0
    from proemlc_ros.core.compiled import library  # The nodes without a learner have no use.

    library('blas')  # SciPy's is loaded with the first module that needs it.
    setters = [setter for path in _loaded_libraries() if (setter := _setter(path)) is not None]
    for setter in setters:
        setter(threads)
    return len(setters)


def _loaded_libraries() -> set[str]:
    try:
        lines = _MAPS.read_text(errors='replace').splitlines()
    except OSError:
        return set()  # Not Linux.
    paths = {line[line.index('/'):] for line in lines if '/' in line}
    return {path for path in paths if _LIBRARY.match(path.rpartition('/')[2])}


def _setter(path: str) -> Callable[[int], None] | None:
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for name in _SETTERS:
        setter: Callable[[int], None] | None = getattr(library, name, None)
        if setter is not None:
            return setter
    return None
