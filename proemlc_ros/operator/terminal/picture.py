# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A camera picture in a terminal: half blocks in a few colours, or characters of shades."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.operator.pictures import CameraPicture
from proemlc_ros.operator.terminal.text import UNICODE, Glyphs, Line

# Colours of one picture: each pair of two is a colour pair of curses, which has 256 of them.
COLOURS = 14
SHADES = ' .:-=+*#%@'
UPPER_HALF = '▀'
# The steps of xterm's colour cube, and the number of its first colour.
_STEPS = np.array([0, 95, 135, 175, 215, 255])
_FIRST = 16


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
    codes = terminal_colours(np.asarray(small[..., ::-1], np.uint8))
    return [_line(codes[2 * row], codes[2 * row + 1]) for row in range(rows)]


def terminal_colours(pixels: NDArray[np.uint8]) -> NDArray[np.int64]:
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
