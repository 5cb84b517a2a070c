# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Text on a terminal: styled lines, the characters to draw with, and widths in columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from proemlc_ros.foreign_text import escaped

# Pieces of a line: style and text.
Line = list[tuple[str, str]]


@dataclass(frozen=True)
class Glyphs:
    """The characters to draw with."""

    full: str = '█'
    empty: str = '░'
    threshold: str = '│'
    present: str = '✓'
    absent: str = '✗'
    dot: str = '●'


UNICODE = Glyphs()
ASCII = Glyphs('#', '.', '|', '+', '-', '*')


def _character_columns() -> Callable[[str], int]:
    """Return the function that gives the columns of a character.

    It is exact with the library wcwidth. Without it, which has no rosdep key, the few combining
    and format characters that Unicode gives no combining class count as one column.
    """
    try:
        from wcwidth import wcwidth
    except ImportError:
        return lambda character: (
            0 if unicodedata.combining(character) else
            2 if unicodedata.east_asian_width(character) in 'WF' else 1)
    # -1 marks control characters, which take no column of their own.
    return lambda character: max(0, int(wcwidth(character)))


_columns = _character_columns()


def columns_of(text: str) -> int:
    """Return the columns that a text takes: wide characters two, combining ones none.

    Character by character, as curses counts them.
    """
    return sum(map(_columns, text))


def printable(text: str) -> str:
    """Return a text in which nothing can move the cursor or colour the screen."""
    return escaped(text, lambda character: '\ufffd')


def clip(text: str, columns: int) -> str:
    """Return a text cut to some columns, with an ellipsis where something is missing.

    >>> clip('kettle', 4)
    'ket…'
    """
    if columns_of(text) <= columns:
        return text
    room = columns - 1
    kept = ''
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept += character
    return kept + '…' if columns > 0 else ''


def clip_line(line: Line, columns: int) -> Line:
    """Return a line cut to some columns."""
    kept: Line = []
    for style, text in line:
        text = clip(text, columns)
        if text:
            kept.append((style, text))
        columns -= columns_of(text)
        if columns <= 0:
            break
    return kept


def fit(text: str, columns: int) -> str:
    """Return a text of exactly some columns, cut or filled up with spaces."""
    text = clip(text, columns)
    return text + ' ' * (columns - columns_of(text))
