# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Text of other programs, made safe for the log: short, on one line, without hidden characters.

A message may carry megabytes of text, line breaks that look like log lines of this node, and
escape sequences that command a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unicodedata import category

LONGEST_SHOWN = 100
LONGEST_LINE = 500
MOST_NAMES = 20


def shown(text: str, limit: int = LONGEST_SHOWN) -> str:
    r"""Return text in quotes, cut where it is long, with escapes for what does not show.

    >>> print(shown('cup\x1b[2J'))
    'cup\x1b[2J'
    >>> shown('a' * 300, limit=5)
    "'aaaaa…'"
    """
    return repr(text if len(text) <= limit else text[:limit] + '…')


def shown_names(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return names in quotes; only the first ones where there are many.

    >>> shown_names(['cup', 'red', 'box'], most=2)
    "'cup', 'red' and 1 more"
    """
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(map(shown, names[:most])) + more


def printable_line(text: str, limit: int = LONGEST_LINE) -> str:
    r"""Return a line for the log, cut where it is long, with escapes for what does not show.

    >>> print(printable_line('two\nlines'))
    two\nlines
    """
    return escaped(text if len(text) <= limit else text[:limit] + '…',
                   lambda character: repr(character)[1:-1])


def escaped(text: str, escape: Callable[[str], str]) -> str:
    r"""Return text in which each character is replaced that is hidden or commands a terminal.

    >>> escaped('cup\x1b[2J', lambda character: '?')
    'cup?[2J'
    """
    if text.isprintable():
        return text
    # Spaces other than the plain one are not "printable", but show as what they are.
    return ''.join(character if character.isprintable() or category(character) == 'Zs'
                   else escape(character) for character in text)
