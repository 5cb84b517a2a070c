# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The BLAS and LAPACK routines of one precision, and the array type of the core."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import get_blas_funcs, get_lapack_funcs

Array: TypeAlias = npt.NDArray[np.floating[Any]]
Routine: TypeAlias = Callable[..., Any]


class Routines(NamedTuple):
    """Products that work in place on Fortran-ordered arrays of one precision."""

    gemv: Routine
    ger: Routine
    gemm: Routine
    symv: Routine
    symm: Routine
    syr: Routine
    syrk: Routine
    trmm: Routine
    trsm: Routine
    potrf: Routine


@cache
def routines(dtype: str) -> Routines:
    """Return the routines for 'float64' or 'float32'."""
    products = get_blas_funcs(
        ('gemv', 'ger', 'gemm', 'symv', 'symm', 'syr', 'syrk', 'trmm', 'trsm'),
        dtype=np.dtype(dtype))
    factorisations = get_lapack_funcs(('potrf',), dtype=np.dtype(dtype))
    return Routines(*products, *factorisations)
