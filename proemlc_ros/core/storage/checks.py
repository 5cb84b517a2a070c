# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of single values and arrays of a model file; each raises CorruptModelError."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proemlc_ros.core.storage.container import Arrays
from proemlc_ros.errors import CorruptModelError

# Largest value of an array: products of two stay in the range of the precision. M may be larger
# where a model forgets faster than samples come.
_LARGEST = {'<f8': 1e150, '<f4': 1e18}
_LARGEST_OF_M = {'<f8': 1e250, '<f4': 1e32}
# Share of the largest entry of M that rounding may have cost a diagonal entry.
_ROUNDING = 1e-3
# Integers above it are not exact as floating-point numbers.
LARGEST_INTEGER = 2 ** 53


def check(condition: bool, text: str) -> None:
    """Raise an error with that text unless a condition holds."""
    if not condition:
        raise CorruptModelError(f'the parts of the model do not fit together: {text}')


def check_array(arrays: Arrays, name: str, kind: str | tuple[str, ...],
                shape: tuple[int | None, ...], unknown: bool = False) -> np.ndarray[Any, Any]:
    """Return an array of that type and shape; None: any length; unknown: -inf is allowed."""
    array = arrays[name]
    kinds = (kind,) if isinstance(kind, str) else kind
    check(array.dtype.str in kinds, f'{name} is of type {array.dtype}')
    check(array.ndim == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape)),
        f'{name} has the shape {array.shape}')
    if array.dtype.kind == 'f' and array.size:
        low, high = float(array.min()), float(array.max())
        limit = (_LARGEST_OF_M if name.endswith('matrix') else _LARGEST)[array.dtype.str]
        if unknown and low == -math.inf:
            low = 0.0
        # NaN fails the comparison as well; min() and max() pass it on.
        check(-limit <= low and high <= limit, f'{name} has NaN, infinite or huge values')
    return array


def check_names(names: Any, what: str) -> None:
    """Check names of labels; those of older files may break the present rule for names."""
    check(isinstance(names, list), f'{what} is not a list')
    for name in names:
        check(isinstance(name, str), f'{what} holds {str(name)[:40]!r}, which is not text')
        name.encode()  # A lone surrogate is a ValueError.
    check(len(set(names)) == len(names), f'{what} holds a name twice')


def check_integer(value: Any, what: str, low: int = 0, largest: int = LARGEST_INTEGER) -> int:
    """Return a value that is an integer of at least `low`."""
    check(type(value) is int and low <= value <= largest,
          f'{what} is {str(value)[:40]}')
    return int(value)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number that is not huge."""
    # Python compares integers of any size.
    return type(value) in (int, float) and abs(value) <= _LARGEST['<f8']


def check_definite(matrix: np.ndarray[Any, Any], pending: np.ndarray[Any, Any]) -> None:
    """Check what is quickly seen of M = matrix - pending pending^T: no negative diagonal entry.

    No entry of a positive definite matrix is larger than the largest of its diagonal.

    Args:
        matrix: packed lower triangle.
        pending: (size, changes)
    """
    size = len(pending)
    places = np.arange(size)
    diagonal = matrix[places * size - places * (places - 1) // 2].astype(np.float64)
    largest = float(np.abs(matrix).max())
    check(largest <= (1.0 + _ROUNDING) * float(diagonal.max()), 'matrix is not definite')
    diagonal -= np.square(pending, dtype=np.float64).sum(axis=1)
    check(float(diagonal.min()) >= -_ROUNDING * largest, 'matrix is not definite')
