# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Line and bar charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proemlc_ros.evaluation.report.canvas import Canvas, colour, number

# More points than pixels only make the file larger.
_MOST_POINTS = 1000


@dataclass(frozen=True)
class Series:
    """One curve: its name for the legend, and its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Mark:
    """A vertical line at an x value, with a word to it."""

    x: float
    text: str


def line_chart(
    series: Sequence[Series], title: str, x_label: str = '', y_label: str = '',
    marks: Sequence[Mark] = (), y_range: tuple[float, float] | None = None,
) -> str:
    """Draw curves.

    Args:
        series: The curves; points that are not finite interrupt a curve.
        title: Title of the picture.
        x_label: What the x axis shows.
        y_label: What the y axis shows.
        marks: Points to mark, such as the introduction of a label.
        y_range: Lowest and highest y value; None: from zero, or the lowest, to the highest.

    Returns:
        The picture as SVG text.

    """
    xs = list(_finite(x for one in series for x in one.x)) or [0.0, 1.0]
    canvas = Canvas(title, (min(xs), max(xs)), y_range or _y_range(series))
    canvas.x_axis(x_label)
    canvas.y_axis(y_label)
    _draw_marks(canvas, marks)
    for index, one in enumerate(series):
        stride = max(1, math.ceil(len(one.x) / _MOST_POINTS))
        canvas.curve(one.x[::stride], one.y[::stride], colour(index))
    canvas.legend([one.name for one in series])
    return canvas.svg()


def bar_chart(
    names: Sequence[str], values: Sequence[Sequence[float]], title: str, y_label: str = '',
    series: Sequence[str] = ('',),
) -> str:
    """Draw groups of bars.

    Args:
        names: One word per group.
        values: For each series, one value per group.
        title: Title of the picture.
        y_label: What the y axis shows.
        series: Names of the series for the legend.

    Returns:
        The picture as SVG text.

    """
    highest = max(_finite(value for one in values for value in one), default=1.0)
    canvas = Canvas(title, (0, max(1, len(names))), (0, highest * 1.05 or 1.0))
    canvas.y_axis(y_label)
    bottom = canvas.box[3]
    breadth = (canvas.x(1) - canvas.x(0)) * 0.8 / max(1, len(values))
    for group, name in enumerate(names):
        for index, one in enumerate(values):
            if math.isfinite(one[group]):
                left = canvas.x(group + 0.1) + index * breadth
                top = canvas.y(one[group])
                words = f'{name} {series[index]}: {number(one[group])}'
                canvas.rectangle(left, top, breadth, bottom - top, colour(index), words)
        canvas.text(canvas.x(group + 0.5), bottom + 16, name[:16], 'middle')
    canvas.legend(series)
    return canvas.svg()


def _draw_marks(canvas: Canvas, marks: Sequence[Mark]) -> None:
    _, top, _, bottom = canvas.box
    free_from = [-math.inf, -math.inf, -math.inf]
    for mark in marks:
        x = canvas.x(mark.x)
        canvas.line(x, top, x, bottom, 'mark')
        # Text goes to the first of three lines where it does not cover another mark's.
        for row, start in enumerate(free_from):
            if x >= start:
                canvas.text(x + 3, top + 10 + 13 * row, mark.text)
                free_from[row] = x + 10 + 6.5 * len(mark.text)
                break


def _y_range(series: Sequence[Series]) -> tuple[float, float]:
    ys = list(_finite(y for one in series for y in one.y)) or [0.0, 1.0]
    low, high = min(0.0, min(ys)), max(ys)
    return low, (low + (high - low) * 1.05) if high > low else low + 1.0


def _finite(values: Iterable[float]) -> Iterable[float]:
    return (value for value in values if math.isfinite(value))
