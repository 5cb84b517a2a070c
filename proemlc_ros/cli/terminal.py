# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Output on a terminal: tables, curves of block characters, counted nouns, a progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TextIO, TypeVar

from proemlc_ros.operator.terminal.text import columns_of, printable

_Item = TypeVar('_Item')
_BLOCKS = ' ▁▂▃▄▅▆▇█'
_BAR_WIDTH = 30
# Seconds between two drawings of a bar.
_INTERVAL = 0.1


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> counted(1, 'bag'), counted(0, 'label')
    ('1 bag', '0 labels')
    """
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def show(text: str = '', stream: TextIO | None = None) -> None:
    """Print text in which nothing can move the cursor or colour the screen, whoever wrote it.

    Labels and topics of files may hold control characters. Line breaks stay.

    Args:
        text: Lines.
        stream: Where to print; None: standard output.
    """
    print('\n'.join(map(printable, text.split('\n'))), file=stream or sys.stdout)


def show_notes(notes: Iterable[str], rejects: Mapping[str, int] | None = None) -> None:
    """Print what a user should know of the input, and how much of it was rejected, by cause."""
    for note in notes:
        show(f'note: {note}')
    for cause, count in sorted((rejects or {}).items()):
        show(f'rejected {count}: {cause}')


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with aligned columns: words to the left, numbers to the right.

    >>> print(text_table(['label', 'F1'], [['cup', 0.5], ['robot', 12]]))
    label      F1
    cup    0.5000
    robot      12
    """
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max(columns_of(word) for word in column)
              for column in zip(header, *cells, strict=True)]
    numeric = [bool(rows) and all(isinstance(row[index], (int, float)) for row in rows)
               for index in range(len(header))]
    return '\n'.join(
        '  '.join(_pad(word, width, right)
                  for word, width, right in zip(line, widths, numeric, strict=True)).rstrip()
        for line in (header, *cells)
    )


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Return a curve as a line of block characters, from zero to the highest value.

    >>> sparkline([0, 1, 2, 4], 4)
    ' ▂▄█'
    """
    if not values:
        return ''
    columns = min(width, len(values))
    means = []
    for column in range(columns):
        part = values[column * len(values) // columns:(column + 1) * len(values) // columns]
        means.append(sum(part) / len(part))
    highest = max(means) or 1.0
    return ''.join(_BLOCKS[round(max(0.0, mean) / highest * 8)] for mean in means)


class ProgressBar(AbstractContextManager['ProgressBar']):
    """Shows the progress of a job, its rate and the time that is left.

    Args:
        total: Steps in all; 0: not known.
        what: A word or two in front.
        shown: Whether to show it; None: where the stream is a terminal.
        stream: Where to draw it; None: standard error.
        interval: Seconds between two drawings.
    """

    def __init__(self, total: int, what: str, shown: bool | None = None,
                 stream: TextIO | None = None, interval: float = _INTERVAL) -> None:
        """Start at zero."""
        self._stream = stream or sys.stderr
        self._total, self._what, self._done = total, printable(what), 0
        self._shown = self._stream.isatty() if shown is None else shown
        self._interval = interval
        self._start = self._drawn = time.monotonic()

    def __exit__(self, *_: object) -> None:
        """Erase the bar."""
        if self._shown:
            self._stream.write('\r\x1b[K')
            self._stream.flush()

    def advance(self, steps: int = 1) -> None:
        """Count steps, and draw when the interval is over."""
        self._done += steps
        now = time.monotonic()
        if self._shown and now - self._drawn >= self._interval:
            self._drawn = now
            self._stream.write(f'\r{self._line(now - self._start)}\x1b[K')
            self._stream.flush()

    def over(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield items, a step each."""
        for item in items:
            yield item
            self.advance()

    def _line(self, seconds: float) -> str:
        rate = self._done / seconds if seconds > 0 else 0.0
        if not self._total:
            return f'{self._what} {self._done} ({rate:,.0f}/s)'
        share = min(1.0, self._done / self._total)
        full = round(share * _BAR_WIDTH)
        left = (self._total - self._done) / rate if rate else 0.0
        bar = '█' * full + '░' * (_BAR_WIDTH - full)
        return f'{self._what} {bar} {share:4.0%} {rate:,.0f}/s {max(0.0, left):.0f} s left'


def _pad(word: str, width: int, right: bool) -> str:
    space = ' ' * (width - columns_of(word))
    return space + word if right else word + space


def _text(value: object) -> str:
    if isinstance(value, float):
        return '-' if value != value else f'{value:.4f}'
    return printable(str(value))
