# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Drawing on an SVG: shapes, axes with round numbers, and one look for all charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

# Okabe and Ito's colours, which colour-blind readers can tell apart as well.
COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#7f7f7f', '#a58f00')

_STYLE = (
    '<style>text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:14px;font-weight:600}'
    '.grid{stroke:#8884;stroke-width:1}.mark{stroke:#888;stroke-dasharray:4 3}'
    '.line{fill:none;stroke-width:1.8;stroke-linejoin:round}'
    '@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>'
)


def colour(index: int) -> str:
    """Return the colour of the nth series."""
    return COLOURS[index % len(COLOURS)]


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers that divide a range into about so many parts.

    >>> ticks(0, 0.21)
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


class Canvas:
    """An SVG picture under construction, with a plot area inside its margins.

    Args:
        title: Shown on top, and read out by screen readers.
        x_range: Lowest and highest x value of the plot area.
        y_range: Lowest and highest y value.
        size: Width and height in pixels; the picture scales.
        left: Margin for the words of the y axis.

    """

    def __init__(
        self, title: str, x_range: tuple[float, float], y_range: tuple[float, float],
        size: tuple[int, int] = (720, 300), left: int = 64,
    ) -> None:
        """Start a picture."""
        self.width, self.height = size
        self._title = title
        self._x, self._y = x_range, y_range
        self._box = (left, 34, self.width - 16, self.height - 58)
        self._parts: list[str] = []

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

    def curve(self, xs: Sequence[float], ys: Sequence[float], stroke: str) -> None:
        """Draw a curve through values; it is interrupted where a value is not finite."""
        runs: list[list[str]] = [[]]
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                runs[-1].append(f'{self.x(x):.1f},{self.y(y):.1f}')
            elif runs[-1]:
                runs.append([])
        self._parts += [
            f'<polyline class="line" stroke="{stroke}" points="{" ".join(run)}"/>'
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
        for value in ticks(*self._x, about=8):
            self.line(self.x(value), top, self.x(value), bottom, 'grid')
            self.text(self.x(value), bottom + 16, number(value), 'middle')
        self.text((left + right) / 2, bottom + 34, label, 'middle')

    def y_axis(self, label: str) -> None:
        """Draw numbers and grid lines along the left side."""
        left, top, right, bottom = self._box
        for value in ticks(*self._y):
            self.line(left, self.y(value), right, self.y(value), 'grid')
            self.text(left - 6, self.y(value) + 4, number(value), 'end')
        middle = (top + bottom) / 2
        self.text(14, middle, label, 'middle', f' transform="rotate(-90 14 {middle:.0f})"')

    def legend(self, names: Sequence[str]) -> None:
        """Name the series in their colours along the lower edge."""
        x = float(self._box[0])
        for index, name in enumerate(names):
            if name and x < self.width - 40:
                self.rectangle(x, self.height - 13, 10, 10, colour(index))
                self.text(x + 14, self.height - 4, name)
                x += 30 + 7 * len(name)

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
