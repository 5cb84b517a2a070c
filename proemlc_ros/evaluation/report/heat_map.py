# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A table of numbers as shaded squares, for confusions between labels."""

from __future__ import annotations

from collections.abc import Sequence

from proemlc_ros.evaluation.report.canvas import COLOURS, Canvas, number

_CELL = 26
_MOST_NUMBERS = 12


def heat_map(
    rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], title: str,
    x_label: str = '', y_label: str = '',
) -> str:
    """Draw a matrix; the darker, the larger.

    Args:
        rows: Names of the rows.
        columns: Names of the columns.
        values: The matrix, not negative.
        title: Title of the picture.
        x_label: What the columns are.
        y_label: What the rows are.

    Returns:
        The picture as SVG text.

    """
    left = 40 + 7 * min(20, max((len(name) for name in rows), default=4))
    below = 14 + 6 * min(20, max((len(name) for name in columns), default=4))
    size = (max(360, left + _CELL * len(columns) + 40), 34 + _CELL * len(rows) + below + 58)
    canvas = Canvas(title, (0, 1), (0, 1), size, left)
    highest = max((value for row in values for value in row), default=0) or 1
    _, top, _, _ = canvas.box
    for row, name in enumerate(rows):
        y = top + row * _CELL
        canvas.text(left - 6, y + 17, name[:20], 'end')
        for column, other in enumerate(columns):
            value = values[row][column]
            x = left + column * _CELL
            words = f'{name} / {other}: {number(value)}'
            canvas.rectangle(x, y, _CELL - 2, _CELL - 2, COLOURS[0], words, value / highest)
            if max(len(rows), len(columns)) <= _MOST_NUMBERS and value:
                canvas.text(x + _CELL / 2 - 1, y + 16, number(value), 'middle')
    bottom = top + len(rows) * _CELL
    for column, other in enumerate(columns):
        x, y = left + column * _CELL + 10, bottom + 8
        canvas.text(x, y, other[:20], 'start', f' transform="rotate(60 {x} {y})"')
    canvas.text(left, size[1] - 6, x_label)
    canvas.text(14, top + 40, y_label, 'middle', f' transform="rotate(-90 14 {top + 40})"')
    return canvas.svg()
