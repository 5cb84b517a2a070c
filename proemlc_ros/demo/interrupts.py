# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM for a program that has processes of its own to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Raises KeyboardInterrupt for both signals, but not in the middle of a step.

    Interrupted between the start of a process and the note of it, a program would leave that
    process behind. Use it in a with statement; outside of the main thread it does nothing, since
    signals are handled there alone.
    """

    def __init__(self) -> None:
        self._earlier: dict[int, Any] = {}
        self._waits = False
        self._came = False

    def __enter__(self) -> Interrupts:
        """Handle the signals; one that is ignored, as in a shell's background job, stays so."""
        if threading.current_thread() is threading.main_thread():
            self._earlier = {number: signal.signal(number, self._on_signal)
                             for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}
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
