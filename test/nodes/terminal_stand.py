# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: a program in it, and what is on its screen."""

import os
import re
import sys
import threading
import time

from ros_process import DEADLINE


class Terminal:
    """Runs a program in a pseudo-terminal, the way ssh does, and reads its screen."""

    def __init__(self, *command, size=(24, 80), **environment):
        # Not at the top: those who have neither must still be able to collect the tests.
        import pexpect
        import pyte

        self._lock = threading.Lock()
        self._screen = pyte.Screen(size[1], size[0])
        self._stream = pyte.ByteStream(self._screen)
        self.child = pexpect.spawn(
            sys.executable, list(map(str, command)), dimensions=size, timeout=DEADLINE,
            env={**os.environ, 'TERM': 'xterm-256color', 'LANG': 'C.UTF-8', 'LC_ALL': 'C.UTF-8',
                 **environment})
        # A child on a busy machine takes its time to end, even when it is killed.
        self.child.ptyproc.delayafterterminate = 2.0
        self.child.delaybeforesend = None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            try:
                data = self.child.read_nonblocking(4096, timeout=None)
            except Exception:  # The program has ended, or the terminal was closed.
                return
            with self._lock:
                self._stream.feed(data)

    @property
    def text(self):
        """What is on the screen."""
        with self._lock:
            return '\n'.join(line.rstrip() for line in self._screen.display)

    def styles(self):
        """Return the colours in use."""
        with self._lock:
            return {cell.fg for row in self._screen.buffer.values() for cell in row.values()}

    def send(self, keys):
        self.child.send(keys)

    def wait_for(self, pattern, timeout=DEADLINE):
        """Wait until the screen shows a regular expression, and return the match."""
        deadline = time.monotonic() + timeout
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, f'no {pattern!r} on the screen:\n{self.text}'
            time.sleep(0.02)
        return found

    def resize(self, height, width):
        """Change the size, and empty the screen: what is on it later was drawn for this size."""
        with self._lock:
            self._screen.resize(height, width)
            self._screen.erase_in_display(2)
        self.child.setwinsize(height, width)

    def wait(self, timeout=DEADLINE):
        """Return the exit code, once the program has ended."""
        deadline = time.monotonic() + timeout
        while self.child.isalive():
            assert time.monotonic() < deadline, f'still runs:\n{self.text}'
            time.sleep(0.05)
        return self.child.exitstatus

    def close(self):
        self.child.close(force=True)
