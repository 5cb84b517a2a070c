# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How many columns of a terminal a text takes, and texts cut to fit."""

from __future__ import annotations

import unicodedata


def columns_of(text: str) -> int:
    """Return the columns that a text takes: wide characters two, combining ones none."""
    return sum(_columns(character) for character in text)


def printable(text: str) -> str:
    """Return a text in which nothing can move the cursor or colour the screen."""
    return ''.join('\ufffd' if unicodedata.category(character)[0] == 'C' else character
                   for character in text)


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


def fit(text: str, columns: int) -> str:
    """Return a text of exactly some columns, cut or filled up with spaces."""
    text = clip(text, columns)
    return text + ' ' * (columns - columns_of(text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ('Mn', 'Me', 'Cf'):
        return 0
    return 2 if unicodedata.east_asian_width(character) in 'WF' else 1
