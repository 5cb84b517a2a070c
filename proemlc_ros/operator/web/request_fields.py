# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of a page's requests: each is checked before it is used."""

from __future__ import annotations

import unicodedata
from typing import Any

from proemlc_ros.errors import OperatorRequestError

MAX_TEXT = 200
MAX_NAMES = 2000
# Larger numbers are not exact in JavaScript.
MAX_NUMBER = 2**53
# Control, format, surrogate, private-use, unassigned, line and paragraph separator.
_HIDDEN = frozenset({'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'})
# Of category Cf, yet they spell words in several scripts, and emoji.
_JOINERS = frozenset('\u200c\u200d')
Content = dict[str, Any]


def valid_text(value: object, field: str) -> str:
    """Return a text that may go into JSON, messages, files and logs.

    Every text of a request passes here, once; what a text means is checked by its receiver.

    Args:
        value: of the request.
        field: its name, for the error.

    Raises:
        OperatorRequestError: not a text, too long, or with characters that do not show, such as
            control characters or half of a surrogate pair.
    """
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise OperatorRequestError(f'{field!r} must be a text of at most {MAX_TEXT} characters')
    if value.isascii() and value.isprintable():
        return value
    for character in value:
        if unicodedata.category(character) in _HIDDEN and character not in _JOINERS:
            raise OperatorRequestError(
                f'{field!r} has the control or invisible character U+{ord(character):04X}; '
                'leave it out')
    return value


def text(request: Content, field: str) -> str:
    """Return a text of a request, checked."""
    return valid_text(request.get(field), field)


def names(request: Content, field: str) -> tuple[str, ...]:
    """Return a list of label names of a request, checked; the classifier checks each name."""
    value = request.get(field, [])
    if not isinstance(value, list) or len(value) > MAX_NAMES:
        raise OperatorRequestError(f'{field!r} must be a list of at most {MAX_NAMES} names')
    return tuple(valid_text(name, field) for name in value)


def flag(request: Content, field: str) -> bool:
    """Return a yes or no of a request, checked."""
    value = request.get(field)
    if not isinstance(value, bool):
        raise OperatorRequestError(f'{field!r} must be true or false')
    return value


def stamp(request: Content) -> int:
    """Return the stamp of a request in nanoseconds, checked."""
    value = text(request, 'stamp')
    if not (value.isascii() and value.isdigit() and int(value) < 2**63):
        raise OperatorRequestError(f"'stamp' must be nanoseconds in digits, not {value[:30]!r}")
    return int(value)


def number(request: Content, field: str) -> int:
    """Return a whole number of a request that is not negative, checked; 0 where it is missing."""
    value = request.get(field, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MAX_NUMBER:
        raise OperatorRequestError(f'{field!r} must be a whole number from 0 on')
    return value
