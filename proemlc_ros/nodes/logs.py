# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines of a node: written without a search through all imports, and not too often.

A logger of rclpy asks `inspect` for the source of the line that logs. With its first line, and
whenever more was imported since, that resolves the path of every module: 50 ms in a classifier,
in which none of its threads does anything else.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

# The only way to log without that search.
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import LoggingSeverity

from proemlc_ros.foreign_text import printable_line


def log_info(logger: Any, text: str) -> None:
    """Write what people may want to know to a logger of rclpy."""
    _write(logger, LoggingSeverity.INFO, text)


def log_warning(logger: Any, text: str) -> None:
    """Write a warning, likewise."""
    _write(logger, LoggingSeverity.WARN, text)


def log_error(logger: Any, text: str) -> None:
    """Write an error, likewise."""
    _write(logger, LoggingSeverity.ERROR, text)


def _write(logger: Any, severity: LoggingSeverity, text: str) -> None:
    if logger.is_enabled_for(severity):
        caller = sys._getframe(2)  # of log_info and the others
        rclpy_implementation.rclpy_logging_rcutils_log(
            severity, logger.name, text, caller.f_code.co_name, caller.f_code.co_filename,
            caller.f_lineno)


def warnings_of(logger: Any) -> Callable[[str], object]:
    """Return what writes warnings to a logger of rclpy."""
    return lambda text: log_warning(logger, text)


def errors_of(logger: Any) -> Callable[[str], object]:
    """Return what writes errors to a logger of rclpy."""
    return lambda text: log_error(logger, text)


def fault_text(error: BaseException) -> str:
    """Return a fault of ours and where it was raised, in one line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f'{error!r} in {place.name}, {place.filename}:{place.lineno}'


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
