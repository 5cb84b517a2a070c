# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Curses: puts the lines on the terminal and gives the keys."""

from __future__ import annotations

import curses
import locale
import os
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.operator.recent import CameraPicture
from proemlc_ros.operator.terminal.text import ASCII, UNICODE, Glyphs, Line

# Milliseconds that curses waits after Esc for the rest of a function key's sequence.
ESCAPE_DELAY = 25
# Colour pairs for pictures: after those of the styles, up to the last that curses can show.
FIRST_PAIR = 3
MOST_PAIRS = 250

# Colours of one picture: each pair of two is a colour pair of curses, which has 256 of them.
COLOURS = 14
SHADES = ' .:-=+*#%@'
UPPER_HALF = '▀'
# The steps of xterm's colour cube, and the number of its first colour.
_STEPS = np.array([0, 95, 135, 175, 215, 255])
_FIRST = 16


def glyphs_of_terminal() -> Glyphs:
    """Return the characters to draw with: plain ones where the terminal takes no UTF-8."""
    # Not getpreferredencoding: Python takes UTF-8 in the locale C, where curses does not.
    encoding = locale.nl_langinfo(locale.CODESET).lower().replace('-', '')
    return UNICODE if encoding == 'utf8' else ASCII


def set_locale() -> None:
    """Take on the locale of the terminal, or the nearest that is installed.

    Over ssh the locale is that of another machine, which may not be installed on this one.
    """
    for name in ('', 'C.UTF-8'):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        return


class Screen:
    """The terminal.

    Args:
        window: curses' standard screen.
    """

    def __init__(self, window: curses.window) -> None:
        self._window = window
        self._styles = _styles()
        self._pairs: list[str] = []
        window.nodelay(True)
        window.keypad(True)
        curses.set_escdelay(ESCAPE_DELAY)
        try:
            curses.curs_set(0)
        except curses.error:
            pass  # Not every terminal can hide its cursor.

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self._window.getmaxyx()

    def keys(self) -> Iterator[str]:
        """Yield the keys pressed since the last call: characters, or names of curses."""
        self._fit()
        while True:
            try:
                key = self._window.get_wch()
            except curses.error:
                return
            if key == curses.KEY_RESIZE:
                self._window.clear()
            elif isinstance(key, int):
                yield curses.keyname(key).decode()
            else:
                yield key

    def _fit(self) -> None:
        """Take on the terminal's size; its signal may have been missed."""
        columns, lines = os.get_terminal_size()
        # Some tell no size, such as a serial line: curses has one of its own for them.
        if lines > 0 and columns > 0 and (lines, columns) != self.size:
            curses.resizeterm(lines, columns)
            self._window.clear()

    def draw(self, lines: list[Line]) -> None:
        """Show lines."""
        self._window.erase()
        for row, line in enumerate(lines):
            column = 0
            for style, text in line:
                column = self._put(row, column, text, self._style(style))
        self._window.refresh()

    @property
    def has_palette(self) -> bool:
        """Whether pictures can be drawn in xterm's 256 colours."""
        return curses.has_colors() and curses.COLORS >= 256 and curses.COLOR_PAIRS >= 256

    def _style(self, style: str) -> int:
        """Return the attributes of a style; "UPPER/LOWER" are two of xterm's colours."""
        if style not in self._styles:
            if len(self._pairs) >= MOST_PAIRS:
                for old in self._pairs:
                    del self._styles[old]
                self._pairs.clear()
            self._pairs.append(style)
            upper, _, lower = style.partition('/')
            pair = FIRST_PAIR + len(self._pairs)
            curses.init_pair(pair, int(upper), int(lower))
            self._styles[style] = curses.color_pair(pair)
        return self._styles[style]

    def _put(self, row: int, column: int, text: str, style: int) -> int:
        try:
            text = text.encode(self._window.encoding, 'replace').decode(self._window.encoding)
            self._window.addstr(row, column, text, style)
        except curses.error:
            pass  # The last cell of the screen, or a window just made smaller.
        return self._window.getyx()[1]


def _styles() -> dict[str, int]:
    """Return the attributes of each style; without colours they differ by weight alone."""
    good = bad = mark = 0
    if curses.has_colors():
        curses.start_color()
        curses.use_default_colors()
        for pair, colour in enumerate(
                (curses.COLOR_GREEN, curses.COLOR_RED, curses.COLOR_YELLOW), 1):
            curses.init_pair(pair, colour, -1)
        good, bad, mark = (curses.color_pair(pair) for pair in (1, 2, 3))
    return {
        'plain': curses.A_NORMAL, 'bold': curses.A_BOLD, 'dim': curses.A_DIM,
        'cursor': curses.A_REVERSE, 'title': curses.A_BOLD,
        'good': good | curses.A_BOLD, 'bad': bad | curses.A_BOLD | curses.A_UNDERLINE,
        'mark': mark | curses.A_BOLD, 'good title': good | curses.A_BOLD,
        'bad title': bad | curses.A_BOLD | curses.A_REVERSE,
    }


def picture_lines(picture: CameraPicture, rows: int, columns: int, glyphs: Glyphs,
                  colours: bool) -> list[Line]:
    """Return a picture as lines of a terminal; none where there is no room for it.

    Args:
        picture: the picture.
        rows: at most.
        columns: at most.
        glyphs: the characters that the terminal can show.
        colours: whether it has xterm's 256 colours.
    """
    pixels = cv2.imdecode(np.frombuffer(picture.jpeg, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None or rows < 3 or columns < 8:
        return []
    # A character is about twice as high as wide.
    width = min(columns, round(2 * rows * pixels.shape[1] / pixels.shape[0]))
    if not colours or glyphs is not UNICODE:
        small = cv2.resize(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), (width, rows),
                           interpolation=cv2.INTER_AREA)
        return [[('plain', ' ' + ''.join(SHADES[value * len(SHADES) // 256] for value in row))]
                for row in small.tolist()]
    small = cv2.resize(pixels, (width, 2 * rows), interpolation=cv2.INTER_AREA)
    codes = _terminal_colours(np.asarray(small[..., ::-1], np.uint8))
    return [_line(codes[2 * row], codes[2 * row + 1]) for row in range(rows)]


def _terminal_colours(pixels: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the numbers of xterm's colours for RGB pixels, few different ones."""
    flat = pixels.reshape(-1, 3).astype(np.float32)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER, 10, 0.0)
    cv2.setRNGSeed(0)  # The same picture looks the same each time it is drawn.
    _, nearest, centres = cv2.kmeans(
        flat, min(COLOURS, len(flat)), np.empty((len(flat), 1), np.int32), criteria, 1,
        cv2.KMEANS_PP_CENTERS)
    steps = np.abs(centres[..., np.newaxis] - _STEPS).argmin(axis=2)
    codes = _FIRST + steps @ np.array([36, 6, 1])
    return np.asarray(codes[nearest.ravel()].reshape(pixels.shape[:2]), np.int64)


def _line(upper: NDArray[np.int64], lower: NDArray[np.int64]) -> Line:
    """Return one line: each character shows two pixels, one above the other."""
    line: Line = [('plain', ' ')]
    for above, below in zip(upper.tolist(), lower.tolist()):
        style = f'{above}/{below}'
        if line[-1][0] == style:
            line[-1] = (style, line[-1][1] + UPPER_HALF)
        else:
            line.append((style, UPPER_HALF))
    return line
