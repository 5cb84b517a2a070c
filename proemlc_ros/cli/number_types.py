# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers on a command line, refused at once where they make no sense: `type=` of argparse."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from typing import TypeVar

Number = TypeVar('Number', int, float)


def at_least_one(text: str) -> int:
    """Return a whole number from 1 on.

    >>> at_least_one('12')
    12
    """
    return _not_below(1, _whole(text))


def seed(text: str) -> int:
    """Return a whole number from 0 on."""
    return _not_below(0, _whole(text))


def port(text: str) -> int:
    """Return a port to be named in an address."""
    value = _whole(text)
    if not 1 <= value <= 65535:
        raise ArgumentTypeError(f'{text} is no port; expected 1 to 65535')
    return value


def positive(text: str) -> float:
    """Return a number above 0."""
    value = real(text)
    if not value > 0:
        raise ArgumentTypeError(f'{text} is not above 0')
    return value


def not_negative(text: str) -> float:
    """Return a number from 0 on."""
    return _not_below(0, real(text))


def real(text: str) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentTypeError(f'{text!r} is no number')
    return value


def _not_below(least: int, value: Number) -> Number:
    if value < least:
        raise ArgumentTypeError(f'{value:g} is below {least}')
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f'{text!r} is no whole number') from None
