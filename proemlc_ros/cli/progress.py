# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A progress bar on the terminal; silent where there is none."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from typing import TextIO

_WIDTH = 30
_EVERY = 0.1


class ProgressBar(AbstractContextManager['ProgressBar']):
    """Shows how far a job has come, how fast it goes and how long it will take.

    Args:
        total: Steps in all; 0: not known.
        what: A word or two in front.
        shown: Whether to show it; None: where standard error is a terminal.
        stream: Where to draw it.

    """

    def __init__(
        self, total: int, what: str, shown: bool | None = None, stream: TextIO | None = None
    ) -> None:
        """Begin at zero."""
        self._stream = stream or sys.stderr
        self._total, self._what, self._done = total, what, 0
        self._shown = self._stream.isatty() if shown is None else shown
        self._start = self._drawn = time.monotonic()

    def __exit__(self, *_: object) -> None:
        """Wipe the bar off."""
        if self._shown:
            self._stream.write('\r\x1b[K')
            self._stream.flush()

    def advance(self, steps: int = 1) -> None:
        """Count steps, and draw now and then."""
        self._done += steps
        now = time.monotonic()
        if self._shown and now - self._drawn >= _EVERY:
            self._drawn = now
            self._stream.write(f'\r{self._line(now - self._start)}\x1b[K')
            self._stream.flush()

    def _line(self, seconds: float) -> str:
        rate = self._done / seconds if seconds > 0 else 0.0
        if not self._total:
            return f'{self._what} {self._done} ({rate:,.0f}/s)'
        share = min(1.0, self._done / self._total)
        full = round(share * _WIDTH)
        left = (self._total - self._done) / rate if rate else 0.0
        bar = '█' * full + '░' * (_WIDTH - full)
        return f'{self._what} {bar} {share:4.0%} {rate:,.0f}/s {max(0.0, left):.0f} s left'
