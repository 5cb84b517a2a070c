# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A log that writes lines of the same kind at most once per period, whatever is in them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from proemlc_ros.foreign_text import printable_line
from proemlc_ros.nodes.log_lines import log_error, log_warning


def warnings_of(logger: Any) -> Callable[[str], object]:
    """Return what writes warnings to a logger of rclpy."""
    return lambda text: log_warning(logger, text)


def errors_of(logger: Any) -> Callable[[str], object]:
    """Return what writes errors to a logger of rclpy."""
    return lambda text: log_error(logger, text)


class ThrottledLog:
    """Limits log lines by kind; the next line of a kind counts those that were held back.

    Args:
        write: takes a line, such as `warnings_of` a logger; called from any thread.
        period: seconds between lines of the same kind; may be changed while running.
        clock: monotonic, in seconds.
    """

    def __init__(self, write: Callable[[str], object], period: float,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.period = period
        self._write = write
        self._clock = clock
        self._last: dict[object, float] = {}
        self._held_back: dict[object, int] = {}
        self._lock = threading.Lock()

    def log(self, kind: object, text: str) -> None:
        """Write a line, or count it where one of its kind was written within the period.

        Args:
            kind: one of few, such as the cause of a rejection.
            text: the line; cut where it is long, with escapes for characters that do not show.
        """
        now = self._clock()
        with self._lock:
            if now - self._last.get(kind, -float('inf')) < self.period:
                self._held_back[kind] = self._held_back.get(kind, 0) + 1
                return
            self._last[kind] = now
            held_back = self._held_back.pop(kind, 0)
        more = f' ({held_back} more like it since the last line)' if held_back else ''
        self._write(printable_line(text) + more)
