# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration on the terminal: one line that moves, and lines for what is worth a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from proemlc_ros.demo.curriculum import Curriculum

BAR = 24
# Seconds between lines where the output is a file and nothing can move.
QUIET_PERIOD = 5.0


class Display:
    """Shows labels known, Hamming loss so far and messages a second while the session runs."""

    def __init__(self, curriculum: Curriculum, stream: TextIO | None = None) -> None:
        """Begin with nothing told."""
        self._curriculum = curriculum
        self._stream = stream or sys.stdout
        self._moving = self._stream.isatty()
        self._lesson = -1
        self._slip_told = False
        self._last_line = 0.0

    def line(self, text: str) -> None:
        """Print a line that stays."""
        start = '\r\x1b[K' if self._moving else ''
        self._stream.write(f'{start}{text}\n')
        self._stream.flush()

    def progress(self, state: Mapping[str, Any]) -> None:
        """Show where the session stands (see RunLog.progress)."""
        if state['seen'] and state['lesson'] != self._lesson:
            self._lesson = state['lesson']
            self.line(self._lesson_line(state))
        if state['slip'] and not self._slip_told:
            self._slip_told = True
            self.line(slip_line(state['slip'], state['seconds']))
        status = status_line(state)
        if self._moving:
            self._stream.write(f'\r{status}\x1b[K')
            self._stream.flush()
        elif time.monotonic() - self._last_line > QUIET_PERIOD:
            self._last_line = time.monotonic()
            self.line(status)

    def _lesson_line(self, state: Mapping[str, Any]) -> str:
        at = f'{state["seconds"]:5.1f} s'
        if self._lesson == len(self._curriculum.labels):
            return f'{at}  exam: {self._curriculum.exam_pictures} pictures that nobody teaches'
        name = self._curriculum.labels[self._lesson]
        return f'{at}  lesson {self._lesson + 1}: the operator teaches a new label, {name}'


def slip_line(slip: Mapping[str, Any], seconds: float) -> str:
    """Tell of the operator's mistake."""
    wrong = ', '.join(slip['labels'])
    return (f'{seconds:5.1f} s  the operator mistyped "{wrong}": {slip["labels_during"]} labels; '
            f'undone: {slip["labels_after"]}, scores as before to {slip["difference"]:.0e}')


def status_line(state: Mapping[str, Any]) -> str:
    """Return the line that moves."""
    share = state['seen'] / state['pictures']
    bar = '#' * round(share * BAR)
    loss = '-' if state['hamming'] is None else f'{state["hamming"]:.3f}'
    return (f'[{bar:<{BAR}}] {share:4.0%}  labels known {len(state["labels"])}  '
            f'Hamming loss so far {loss}  {state["rate"]:.0f} messages/s')
