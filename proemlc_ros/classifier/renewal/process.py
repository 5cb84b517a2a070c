# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a renewal, seen from the node: started, waited for, ended."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from proemlc_ros.errors import RenewalError

if TYPE_CHECKING:
    import subprocess

    from proemlc_ros.classifier.renewal.task import RenewalResult, RenewalTask

# What the process runs; a module of bags/, since it reads the journal.
PROGRAM = 'proemlc_ros.classifier.renewal.renewal_process'
_LIBRARIES = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')


class RenewalProcess:
    """Runs one task at a time in a process of its own, at low priority and with one thread.

    The process ends with this one: it watches its standard input.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, task: RenewalTask) -> RenewalResult:
        """Run a task and wait for its result.

        Raises:
            RenewalError: it failed, or was stopped.
        """
        with self._lock:
            if self._stopped:
                raise RenewalError('the node is shut down')
            self._process = process = _start()
        # Only the line, not the end of the input: that would end the process.
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(task.to_json() + '\n')
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ''
        finally:
            self._end(process)
        if answer.startswith('{'):
            from proemlc_ros.classifier.renewal.task import RenewalResult

            return RenewalResult.from_json(answer)
        raise RenewalError(answer.strip() or 'the process of the renewal ended; is there enough '
                           'memory?')

    def stop(self) -> None:
        """End the process; nothing is renewed any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _end(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        with self._lock:
            self._process = None
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                continue  # What was not read any more.


def _start() -> subprocess.Popen[str]:
    import subprocess  # Here, since a node starts sooner without it.

    environment = {**os.environ, **dict.fromkeys(_LIBRARIES, '1'),
                   'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}
    try:
        return subprocess.Popen(
            [sys.executable, '-m', PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment)
    except OSError as error:
        raise RenewalError(f'cannot start a process: {error}') from error
