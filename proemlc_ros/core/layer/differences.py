# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of absolute differences: compiled, or by SciPy and NumPy where it was not built."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType

import numpy as np

from proemlc_ros.core.solving.blas import Array

compiled: ModuleType | None
try:
    from proemlc_ros.core.layer import _distances as compiled
except ImportError:
    compiled = None


def absolute_differences(rows: Array, centres: Array, out: Array) -> None:
    """Put the sums of absolute differences (n, neurons) of rows to centres into out."""
    if compiled is None:
        plain_differences(rows, centres, out)
    else:
        compiled.absolute_differences(rows, centres, out)


def plain_differences(rows: Array, centres: Array, out: Array) -> None:
    """Do the same by SciPy, several times as slowly."""
    out[:] = _cdist()(rows, centres)


def mutual_differences(rows: Array, out: Array, start: int, stop: int) -> None:
    """Put the differences of rows start to stop to all that follow into out (n, n), both ways."""
    if compiled is None:
        plain_mutual_differences(rows, out, start, stop)
    else:
        compiled.mutual_differences(rows, out, start, stop)


def plain_mutual_differences(rows: Array, out: Array, start: int, stop: int) -> None:
    """Do the same by SciPy."""
    found = _cdist()(rows[start:stop], rows[start:])
    out[start:stop, start:] = found
    out[start:, start:stop] = found.T


def shifted_differences(samples: Array, weights: Array, out: Array) -> None:
    """Put the weighted differences of rows to the same values in another order into out.

    Args:
        samples: rows (n, width).
        weights: of the features.
        out: (shifts, n); its first row is of values moved by one feature, and so on.
    """
    twice = np.concatenate((samples, samples), axis=1)
    if compiled is None:
        plain_shifted_differences(twice, weights, out)
    else:
        compiled.shifted_differences(twice, weights[np.newaxis], out)


def plain_shifted_differences(twice: Array, weights: Array, out: Array) -> None:
    """Do the same in NumPy; twice: rows, each followed by itself."""
    width = len(weights)
    for shift in range(1, len(out) + 1):
        start = (-shift) % width
        moved = twice[:, start:start + width] - twice[:, :width]
        out[shift - 1] = np.abs(moved, out=moved) @ weights


@cache
def _cdist() -> Callable[[Array, Array], Array]:
    """Return SciPy's function for it; imported here, as it takes its time."""
    from scipy.spatial import distance
    try:
        # What cdist calls in the end; its checks take as long as 100 centres do.
        from scipy.spatial._distance_pybind import cdist_cityblock
    except ImportError:
        return lambda rows, centres: distance.cdist(rows, centres, 'cityblock')
    return lambda rows, centres: cdist_cityblock(rows, centres)
