# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG, without a plotting library: curves, bars and matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

# Okabe and Ito's colours, which colour-blind readers can tell apart as well.
COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#7f7f7f', '#a58f00')

_STYLE = (
    '<style>text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:14px;font-weight:600}'
    '.grid{stroke:#8884;stroke-width:1}.mark{stroke:#888;stroke-dasharray:4 3}'
    '.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.dashed{stroke-dasharray:6 4}'
    '@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>'
)


def colour(index: int) -> str:
    """Return the colour of the nth series."""
    return COLOURS[index % len(COLOURS)]


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers that divide a range into about so many parts.

    >>> _ticks(0, 0.21)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1, 2, 2.5, 5) if m * power >= raw * 0.999), 10 * power)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def number(value: float) -> str:
    """Write a number briefly, as on an axis."""
    return f'{value:,.0f}' if abs(value) >= 10_000 else f'{value:.4g}'


class _Canvas:
    """An SVG picture under construction, with a plot area inside its margins.

    Args:
        title: Shown on top, and read out by screen readers.
        x_range: Lowest and highest x value of the plot area.
        y_range: Lowest and highest y value.
        size: Width and height in pixels; the picture scales.
        left: Margin for the words of the y axis.
        legend: Names of the series, to be written below the x axis in their colours.
    """

    def __init__(
        self, title: str, x_range: tuple[float, float], y_range: tuple[float, float],
        size: tuple[int, int] = (720, 300), left: int = 64, legend: Sequence[str] = (),
    ) -> None:
        """Start a picture."""
        self.width, self.height = size
        self._title = title
        self._x, self._y = x_range, y_range
        self._parts: list[str] = []
        lines = self._legend_lines(legend, left)
        self.height += 17 * max(0, len(lines) - 1)
        self._box = (left, 34, self.width - 16, size[1] - 58)
        for number, line in enumerate(reversed(lines)):
            for x, index, name in line:
                self.rectangle(x, self.height - 13 - 17 * number, 10, 10, colour(index))
                self.text(x + 14, self.height - 4 - 17 * number, name)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the plot area in pixels."""
        return self._box

    def x(self, value: float) -> float:
        """Return the pixel column of an x value."""
        low, high = self._x
        return self._box[0] + (value - low) / ((high - low) or 1) * (self._box[2] - self._box[0])

    def y(self, value: float) -> float:
        """Return the pixel row of a y value."""
        low, high = self._y
        return self._box[3] - (value - low) / ((high - low) or 1) * (self._box[3] - self._box[1])

    def text(self, x: float, y: float, words: str, anchor: str = 'start', extra: str = '') -> None:
        """Write text; `extra` holds more attributes."""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Draw a straight line in pixels."""
        self._parts.append(
            f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def curve(self, xs: Sequence[float], ys: Sequence[float], stroke: str,
              dashed: bool = False) -> None:
        """Draw a curve through values; it is interrupted where a value is not finite."""
        kind = 'line dashed' if dashed else 'line'
        runs: list[list[str]] = [[]]
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                runs[-1].append(f'{self.x(x):.1f},{self.y(y):.1f}')
            elif runs[-1]:
                runs.append([])
        self._parts += [
            f'<polyline class="{kind}" stroke="{stroke}" points="{" ".join(run)}"/>'
            for run in runs if run
        ]

    def rectangle(
        self, x: float, y: float, width: float, height: float, fill: str, words: str = '',
        opacity: float = 1.0,
    ) -> None:
        """Draw a filled rectangle in pixels; `words` appear under the mouse."""
        shade = '' if opacity == 1.0 else f' fill-opacity="{opacity:.3f}"'
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{fill}"{shade}><title>{escape(words)}</title></rect>')

    def x_axis(self, label: str) -> None:
        """Draw numbers and grid lines along the bottom."""
        left, top, right, bottom = self._box
        for value in _ticks(*self._x, about=8):
            self.line(self.x(value), top, self.x(value), bottom, 'grid')
            self.text(self.x(value), bottom + 16, number(value), 'middle')
        self.text((left + right) / 2, bottom + 34, label, 'middle')

    def y_axis(self, label: str) -> None:
        """Draw numbers and grid lines along the left side."""
        left, top, right, bottom = self._box
        for value in _ticks(*self._y):
            self.line(left, self.y(value), right, self.y(value), 'grid')
            self.text(left - 6, self.y(value) + 4, number(value), 'end')
        middle = (top + bottom) / 2
        self.text(14, middle, label, 'middle', f' transform="rotate(-90 14 {middle:.0f})"')

    def _legend_lines(self, names: Sequence[str], left: int) -> list[list[tuple[int, int, str]]]:
        """Return place, number and name of the series, in as many lines as they need."""
        lines: list[list[tuple[int, int, str]]] = []
        x = self.width
        for index, name in enumerate(names):
            if name:
                if x + 14 + 7 * len(name) > self.width:
                    lines.append([])
                    x = left
                lines[-1].append((x, index, name))
                x += 30 + 7 * len(name)
        return lines

    def svg(self) -> str:
        """Return the picture; it can stand alone as a file or inside a page."""
        title = escape(self._title)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'role="img" aria-label="{escape(self._title, quote=True)}" '
            # A small picture must not fill a wide page.
            f'style="max-width:{1.4 * self.width:.0f}px">'
            f'<title>{title}</title>{_STYLE}'
            f'<text class="title" x="{min(self._box[0], 64)}" y="18">{title}</text>'
            f'{"".join(self._parts)}</svg>'
        )


# More points than pixels only make the file larger.
_MOST_POINTS = 1000


@dataclass(frozen=True)
class Series:
    """One curve: its name for the legend, and its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False


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
    canvas = _Canvas(title, (min(xs), max(xs)), y_range or _y_range(series),
                     legend=[one.name for one in series])
    canvas.x_axis(x_label)
    canvas.y_axis(y_label)
    _draw_marks(canvas, marks)
    for index, one in enumerate(series):
        stride = max(1, math.ceil(len(one.x) / _MOST_POINTS))
        canvas.curve(one.x[::stride], one.y[::stride], colour(index), one.dashed)
    return canvas.svg()


def bar_chart(names: Sequence[str], values: Sequence[Sequence[float]], title: str,
              x_label: str = '', series: Sequence[str] = ('',)) -> str:
    """Draw groups of bars from left to right, one below the other.

    Args:
        names: One word per group.
        values: For each series, one value per group.
        title: Title of the picture.
        x_label: What the x axis shows.
        series: Names of the series for the legend.

    Returns:
        The picture as SVG text.
    """
    highest = max(_finite(value for one in values for value in one), default=1.0)
    left = 24 + 7 * max(map(len, names), default=0)
    canvas = _Canvas(title, (0, highest * 1.05 or 1.0), (0, 1), (720, 100 + 26 * len(names)), left,
                     series)
    canvas.x_axis(x_label)
    top, height = canvas.box[1], 22 / max(1, len(values))
    for group, name in enumerate(names):
        canvas.text(left - 6, top + 26 * group + 17, name, 'end')
        for index, one in enumerate(values):
            if math.isfinite(one[group]):
                words = f'{name} {series[index]}: {number(one[group])}'
                canvas.rectangle(left, top + 26 * group + 2 + index * height,
                                 canvas.x(one[group]) - left, height, colour(index), words)
    return canvas.svg()


def _draw_marks(canvas: _Canvas, marks: Sequence[Mark]) -> None:
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
    canvas = _Canvas(title, (0, 1), (0, 1), size, left)
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
