# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs nodes as processes, in a ROS domain of their own: started, watched and ended together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, NoReturn

from proemlc_ros.errors import DemoError

# Seconds that a process gets to save and end before it is killed.
_STOP_TIMEOUT = 15
# A node that a signal ended is started again, so often within so many seconds.
_RESTARTS, _WITHIN = 3, 60.0
# Above 101 the UDP ports of a domain reach into the range that Linux hands out to anyone; people
# choose low numbers.
_DOMAINS = range(41, 102)
_DOMAIN = 'ROS_DOMAIN_ID'
_ENDING = (signal.SIGINT, signal.SIGTERM)


class Processes:
    """Runs modules of the package as processes, each with its output in a file of the folder.

    Use it in a with statement: whatever happens, no process is left behind. Ctrl-C and SIGTERM
    raise KeyboardInterrupt there; a second one does not keep it from ending them in order.
    """

    def __init__(self, folder: Path, local: bool = True, remappings: Sequence[str] = (),
                 restarted: Callable[[str], None] | None = None) -> None:
        """Begin without any process.

        Args:
            folder: gets the log files.
            local: whether nodes of other machines are left alone, unless the user wants them.
            remappings: of all nodes, such as __ns:=/robot1.
            restarted: told of a node that was killed and started again; None: that is an error.
        """
        self._folder = folder
        self._remappings = [word for name in remappings for word in ('-r', name)]
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._restarted = restarted
        self._restarts: dict[str, list[float]] = {}
        self._interrupts = _Interrupts()
        # Two BLAS libraries with a pool of threads each slow one another down.
        self.environment: dict[str, str] = {
            **({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'} if local else {}),
            'OPENBLAS_NUM_THREADS': '1', 'RCUTILS_COLORIZED_OUTPUT': '0', **os.environ,
            'PYTHONUNBUFFERED': '1', 'ROS_LOG_DIR': str(folder / 'ros')}

    def __enter__(self) -> Processes:
        """Return itself."""
        self._interrupts.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all processes."""
        self.stop()
        self._interrupts.__exit__(kind, error, trace)

    def start(self, module: str, *arguments: object, piped: bool = False,
              **parameters: object) -> None:
        """Start a module of proemlc_ros.nodes.

        Args:
            module: its name.
            arguments: of its command line.
            piped: whether to keep its output for `lines`.
            parameters: of the node; an empty text leaves the default.
        """
        self._log(module).write_text('')
        words = [*arguments, '--ros-args', *self._remappings, *_ros_parameters(parameters)]
        self._launch(module, [sys.executable, '-m', f'proemlc_ros.nodes.{module}',
                              *map(str, words)], piped)

    def _launch(self, module: str, command: Any, piped: bool = False) -> None:
        with self._log(module).open('a') as log, self._interrupts.deferred():
            self._running[module] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else log, stderr=log,
                env=self.environment, text=True,
                # Ctrl-C in the terminal is for the demo, which then ends them in order.
                start_new_session=True)

    @property
    def pids(self) -> dict[str, int]:
        """Process numbers by module."""
        return {name: process.pid for name, process in self._running.items()}

    def lines(self, module: str) -> Iterator[str]:
        """Yield what a piped process prints, line by line, until it ends.

        Raises:
            DemoError: it failed, or another process ended before it.
        """
        process = self._running[module]
        output: IO[Any] | None = process.stdout
        for line in output or ():
            self.check(module)
            yield line.rstrip()
        if process.wait() != 0:
            raise DemoError(self._ending(module, process.returncode))

    def wait_for_interrupt(self) -> NoReturn:
        """Let everything run on until Ctrl-C.

        Raises:
            KeyboardInterrupt: it came, or SIGTERM.
            DemoError: a process ended by itself.
        """
        while True:
            self.check('demo_operator')
            time.sleep(0.5)

    def stop(self) -> dict[str, int]:
        """End all processes, the last started first, and return their exit codes."""
        with self._interrupts.ignored():
            for process in reversed(self._running.values()):
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
            return {name: self._ended(self._running.pop(name))
                    for name in reversed(list(self._running))}

    @staticmethod
    def _ended(process: subprocess.Popen[str]) -> int:
        """Return the exit code of a process that was asked to end."""
        try:
            return process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def check(self, module: str = '') -> None:
        """Check that all processes run, except maybe one; start those again that were killed.

        A node that stood still ends by SIGALRM and is always started again; one that another
        signal ended, where `restarted` was given and it does not happen again and again.

        Raises:
            DemoError: one has ended; tells its last line.
        """
        for name, process in list(self._running.items()):
            if self._starts_again(name, process.poll()):
                self._launch(name, process.args)
            elif name != module and process.returncode is not None:
                raise DemoError(self._ending(name, process.returncode))

    def _starts_again(self, name: str, code: int | None) -> bool:
        if code is None or code >= 0:
            return False
        if code == -signal.SIGALRM:  # see nodes/process.py
            return True
        now = time.monotonic()
        recent = [at for at in self._restarts.get(name, ()) if at > now - _WITHIN]
        if self._restarted is None or len(recent) >= _RESTARTS:
            return False
        self._restarts[name] = [*recent, now]
        self._restarted(name)
        return True

    def _ending(self, module: str, code: int) -> str:
        lines = self._log(module).read_text(errors='replace').strip().splitlines()
        last = lines[-1] if lines else 'it printed nothing'
        return f'{module} ended with exit code {code}: {last} (see {self._log(module)})'

    def _log(self, module: str) -> Path:
        return self._folder / f'{module}.log'


def _ros_parameters(values: Mapping[str, object]) -> list[str]:
    """Return the words that set parameters."""
    words = []
    for name, value in values.items():
        if value != '':
            text = str(value).lower() if isinstance(value, bool) else str(value)
            # A path of digits, such as camera 0, must stay a text.
            words += ['-p', f"{name}:='{text}'" if name == 'path' else f'{name}:={text}']
    return words


class _Interrupts:
    """Raises KeyboardInterrupt for both signals, but not in the middle of a step.

    Interrupted between the start of a process and the note of it, a program would leave that
    process behind. Use it in a with statement; outside of the main thread it does nothing, since
    signals are handled there alone.
    """

    def __init__(self) -> None:
        self._earlier: dict[int, Any] = {}
        self._waits = False
        self._came = False

    def __enter__(self) -> _Interrupts:
        """Handle the signals; one that is ignored, as in a shell's background job, stays so."""
        if threading.current_thread() is threading.main_thread():
            self._earlier = {number: signal.signal(number, self._on_signal)
                             for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Handle them as before."""
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Do something to its end; a signal that came meanwhile is raised then."""
        with self.ignored():
            yield
            came = self._came
        if came:
            raise KeyboardInterrupt

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """Do something to its end, and forget the signals that came meanwhile."""
        self._waits, self._came = True, False
        try:
            yield
        finally:
            self._waits = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if not self._waits:
            raise KeyboardInterrupt


@contextmanager
def own_domain() -> Iterator[int]:
    """Use a domain that no other run on this machine uses, unless the user has chosen one.

    Raises:
        DemoError: all are in use.
    """
    if os.environ.get(_DOMAIN, '').isdigit():
        yield int(os.environ[_DOMAIN])
        return
    with reserved_domain(_DOMAINS) as domain:
        os.environ[_DOMAIN] = str(domain)
        try:
            yield domain
        finally:
            del os.environ[_DOMAIN]


@contextmanager
def reserved_domain(among: Iterable[int]) -> Iterator[int]:
    """Reserve the first of these domains that nobody on this machine has reserved or talks in.

    Whoever listens at the domain's first TCP port has it: DDS itself uses UDP alone, and a port is
    the same for all users and folders and free again when the process dies, however that happens.

    Raises:
        DemoError: all are in use.
    """
    for domain in among:
        with socket.socket() as reservation:
            ports = range(7400 + 250 * domain, 7400 + 250 * (domain + 1))
            try:
                reservation.bind(('127.0.0.1', ports[0]))
                reservation.listen(1)
                # A node that is there already, such as one that was started by hand.
                for port in ports:
                    with socket.socket(type=socket.SOCK_DGRAM) as probe:
                        probe.bind(('', port))
            except OSError:
                continue
            yield domain
            return
    raise DemoError(f'all ROS domains of this machine are in use; choose a {_DOMAIN} yourself')
