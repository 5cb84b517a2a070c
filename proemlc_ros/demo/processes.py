# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The processes of the demo: started together, watched, and ended together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn

from proemlc_ros.demo.interrupts import Interrupts
from proemlc_ros.errors import DemoError

# Seconds that a process gets to save and end before it is killed.
STOP_TIMEOUT = 15


class Processes:
    """Runs modules of the package as processes, each with its output in a file of the folder.

    Use it in a with statement: whatever happens, no process is left behind. Ctrl-C and SIGTERM
    raise KeyboardInterrupt there; a second one does not keep it from ending them in order.
    """

    def __init__(self, folder: Path, local: bool = True) -> None:
        """Begin without any process.

        Args:
            folder: gets the log files.
            local: whether nodes of other machines are left alone, unless the user wants them.
        """
        self._folder = folder
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._interrupts = Interrupts()
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

    def start(self, module: str, *arguments: object, piped: bool = False) -> None:
        """Start a module of proemlc_ros.nodes; `piped` keeps its output for `lines`."""
        self._log(module).write_text('')
        self._launch(module, [sys.executable, '-m', f'proemlc_ros.nodes.{module}',
                              *map(str, arguments)], piped)

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
            return process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def check(self, module: str = '') -> None:
        """Check that all processes run, except maybe one; start those again that stood still.

        Raises:
            DemoError: one has ended; tells its last line.

        """
        for name, process in list(self._running.items()):
            if process.poll() == -signal.SIGALRM:  # see nodes/watchdog.py
                self._launch(name, process.args)
            elif name != module and process.returncode is not None:
                raise DemoError(self._ending(name, process.returncode))

    def _ending(self, module: str, code: int) -> str:
        lines = self._log(module).read_text(errors='replace').strip().splitlines()
        last = lines[-1] if lines else 'it printed nothing'
        return f'{module} ended with exit code {code}: {last} (see {self._log(module)})'

    def _log(self, module: str) -> Path:
        return self._folder / f'{module}.log'
