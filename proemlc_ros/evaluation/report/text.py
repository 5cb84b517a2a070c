# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and small pictures for the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_BLOCKS = ' ▁▂▃▄▅▆▇█'


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with aligned columns: words to the left, numbers to the right.

    >>> print(text_table(['label', 'F1'], [['cup', 0.5], ['robot', 12]]))
    label      F1
    cup    0.5000
    robot      12
    """
    cells = [[_text(value) for value in row] for row in rows]
    widths = [
        max(display_width(word) for word in column)
        for column in zip(header, *cells, strict=True)
    ]
    numeric = [
        bool(rows) and all(isinstance(row[index], (int, float)) for row in rows)
        for index in range(len(header))
    ]
    return '\n'.join(
        '  '.join(_pad(word, width, right)
                  for word, width, right in zip(line, widths, numeric, strict=True)).rstrip()
        for line in (header, *cells)
    )


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Return a curve as a line of blocks, from zero to the highest value.

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


def display_width(text: str) -> int:
    """Return the columns that a text takes in a terminal; East Asian letters take two."""
    return sum(
        0 if unicodedata.combining(letter)
        else 1 + (unicodedata.east_asian_width(letter) in 'WF')
        for letter in text
    )


def _pad(word: str, width: int, right: bool) -> str:
    space = ' ' * (width - display_width(word))
    return space + word if right else word + space


def _text(value: object) -> str:
    if isinstance(value, float):
        return '-' if value != value else f'{value:.4f}'
    return str(value)
