# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines about refused messages, one kind at a time and not too often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from proemlc_ros.teaching.intake import cause_of, text_of


class RefusalLog:
    """Says why messages were refused; repeats are counted and told with the next line.

    Args:
        write: takes a line.
        period: seconds between lines about the same cause.
    """

    def __init__(self, write: Callable[[str], None], period: float) -> None:
        self.period = period
        self._write = write
        self._last: dict[str, float] = {}
        self._silent: dict[str, int] = {}
        self._lock = threading.Lock()

    def refused(self, error: Exception) -> None:
        """Tell about a refusal, or count it."""
        cause = cause_of(error)
        now = time.monotonic()
        with self._lock:
            if now - self._last.get(cause, -float('inf')) < self.period:
                self._silent[cause] = self._silent.get(cause, 0) + 1
                return
            self._last[cause] = now
            repeats = self._silent.pop(cause, 0)
        more = f' ({repeats} more like it since the last line)' if repeats else ''
        self._write(f'Refused, {cause}: {text_of(error)}{more}')
