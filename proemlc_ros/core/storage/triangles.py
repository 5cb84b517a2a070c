# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Lower triangles of symmetric matrices, packed column by column as LAPACK does (trttp, tpttr).

SciPy's routines would hold the interpreter for many milliseconds at a time, in which a node that
loads or saves a model could not predict.
"""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.solving.blas import Array


def pack_triangle(matrix: Array) -> Array:
    """Return the columns of the lower triangle, one behind the other."""
    size = len(matrix)
    packed: Array = np.empty(size * (size + 1) // 2, dtype=matrix.dtype)
    start = 0
    for column in range(size):
        stop = start + size - column
        packed[start:stop] = matrix[column:, column]
        start = stop
    return packed


def unpack_triangle(packed: Array, matrix: Array) -> None:
    """Fill in the lower triangle of a matrix from its packed columns."""
    size = len(matrix)
    start = 0
    for column in range(size):
        stop = start + size - column
        matrix[column:, column] = packed[start:stop]
        start = stop
