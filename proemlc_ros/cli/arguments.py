# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Values of command-line arguments: numbers in a range, and files to be written."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TypeVar

from proemlc_ros.errors import ParameterError

Number = TypeVar('Number', int, float)


def at_least_one(text: str) -> int:
    """Return an integer of at least 1.

    >>> at_least_one('12')
    12
    """
    return _at_least(1, _integer(text))


def seed(text: str) -> int:
    """Return an integer of at least 0."""
    return _at_least(0, _integer(text))


def port(text: str) -> int:
    """Return a port number, 1 to 65535."""
    value = _integer(text)
    if not 1 <= value <= 65535:
        raise ArgumentTypeError(f'{text} is not a port; choose 1 to 65535')
    return value


def positive(text: str) -> float:
    """Return a number above 0."""
    value = real(text)
    if not value > 0:
        raise ArgumentTypeError(f'{text} is not above 0')
    return value


def not_negative(text: str) -> float:
    """Return a number of at least 0."""
    return _at_least(0, real(text))


def real(text: str) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentTypeError(f'{text!r} is not a number')
    return value


def check_folder_of(*paths: Path | None) -> None:
    """Check that files can be written, before hours of work rather than after.

    Raises:
        ParameterError: The folder of a file does not exist, or the file is itself a folder.

    """
    for path in paths:
        if path is not None and path.is_dir():
            raise ParameterError(f'{path}: this is a folder; name a file')
        if path is not None and not path.absolute().parent.is_dir():
            raise ParameterError(f'{path}: there is no folder {path.absolute().parent}')


def _at_least(least: int, value: Number) -> Number:
    if value < least:
        raise ArgumentTypeError(f'{value:g} is below {least}')
    return value


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f'{text!r} is not an integer') from None
