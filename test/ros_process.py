# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A program in a process of its own: started, watched and ended by a test."""

import importlib.util
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_numbers = itertools.count(1)
# Seconds that anything may take, also beside a busy process on each core.
DEADLINE = 240.0


class RosProcess:
    """Runs one command with its output in a file; ends it at the end of the `with` block.

    Args:
        command: An executable of the package such as 'classifier_node', or any program, and
            its arguments.
        folder: Where the output is written.
        environment: Variables set on top of the test's own.
    """

    def __init__(self, command: Iterable[object], folder: Path, *,
                 environment: dict[str, str] | None = None) -> None:
        program, *arguments = map(str, command)
        self.log = folder / f'{Path(program).name}-{next(_numbers)}.log'
        with self.log.open('wb') as output:
            self.process = subprocess.Popen(
                [*_program(program), *arguments], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, preexec_fn=_hear_interrupts,
                # Unbuffered, so that a killed process leaves all that it printed.
                env={**_as_users_have_it(), 'PYTHONUNBUFFERED': '1',
                     'PYTHONFAULTHANDLER': '1',
                     'ROS_HOME': str(folder / 'ros_home'),
                     'RCUTILS_COLORIZED_OUTPUT': '0', **(environment or {})})

    def __enter__(self) -> 'RosProcess':
        """Return the process itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ask the process to end, and kill it where it does not."""
        if self.running:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.kill()
        # For the report of a test that failed; pytest shows no other.
        print(f'{self.log.name}, which ended with {self.process.returncode}:', self.output[-4000:])

    @property
    def running(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    @property
    def output(self) -> str:
        """All that the process has printed so far."""
        return self.log.read_text(encoding='utf-8', errors='replace')

    def wait_for(self, pattern: str, timeout: float = DEADLINE) -> re.Match[str]:
        """Return the first match of a regular expression in the output, once there is one."""
        deadline = time.monotonic() + timeout
        while not (match := re.search(pattern, self.output)):
            if not self.running and not re.search(pattern, self.output):
                raise AssertionError(f'ended with {self.process.returncode} before printing '
                                     f'{pattern!r}:\n{self.output}')
            if time.monotonic() > deadline:
                # Python programs then print where they stand.
                self.process.send_signal(signal.SIGABRT)
                self.process.wait()
                raise AssertionError(
                    f'did not print {pattern!r} in {timeout} s, but:\n{self.output}')
            time.sleep(0.02)
        return match

    def wait(self, timeout: float = DEADLINE) -> int:
        """Return the exit code, once the process has ended."""
        return self.process.wait(timeout)

    def stop(self, number: int = signal.SIGINT, timeout: float = DEADLINE) -> int:
        """Send a signal, wait for the end and return the exit code."""
        self.process.send_signal(number)
        return self.wait(timeout)

    def kill(self) -> None:
        """End the process at once, as a power cut would."""
        self.process.kill()
        self.process.wait()


def _as_users_have_it() -> dict[str, str]:
    """Return the test's environment without the limit on threads, which users do not set."""
    return {name: value for name, value in os.environ.items() if name != 'OPENBLAS_NUM_THREADS'}


def _hear_interrupts() -> None:
    """Undo that a suite started in the background, as by a CI, hands down a deaf SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _program(name: str) -> list[str]:
    """Return how to start a program; the package's nodes are run from the source folder."""
    if name == 'python':
        return [sys.executable]
    module = 'proemlc_ros.cli.main' if name == 'proemlc' else f'proemlc_ros.nodes.{name}'
    if name.isidentifier() and importlib.util.find_spec(module):
        return [sys.executable, '-m', module]
    return [shutil.which(name) or name]
