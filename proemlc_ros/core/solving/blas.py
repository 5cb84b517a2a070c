# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The BLAS and LAPACK routines of one precision, and the array type of the core.

They are those of SciPy, taken from its compiled modules: importing scipy.linalg takes twenty times
as long, longer than all else that a node imports.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.floating[Any]]
Routine: TypeAlias = Callable[..., Any]
Precision = TypeVar('Precision', bound=np.floating[Any])


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
    products = [getattr(library('blas'), _prefix(dtype) + name) for name in Routines._fields[:-1]]
    return Routines._make([*products, lapack('potrf', dtype)])


def lapack(name: str, dtype: npt.DTypeLike = np.float64) -> Routine:
    """Return a routine of LAPACK, such as 'potrf', for float64 or float32."""
    routine: Routine = getattr(library('lapack'), _prefix(dtype) + name)
    return routine


def cholesky(matrix: npt.NDArray[Precision]) -> npt.NDArray[Precision]:
    """Return the lower factor L of a positive definite matrix, L L^T.

    Raises:
        numpy.linalg.LinAlgError: when it is not.
    """
    factor: npt.NDArray[Precision]
    factor, failed = lapack('potrf', matrix.dtype)(matrix, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError('not positive definite')
    return factor


def inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix, both by their lower triangles, in float64.

    Raises:
        numpy.linalg.LinAlgError: when it is not.
    """
    factor, failed = lapack('potrf')(np.asfortranarray(matrix, dtype=np.float64), lower=1)
    found, singular = lapack('potri')(factor, lower=1) if not failed else (factor, failed)
    if singular:
        raise np.linalg.LinAlgError('not positive definite')
    return np.asfortranarray(np.tril(found))


def solve_lower(factor: npt.NDArray[Precision],
                right: npt.NDArray[Precision]) -> npt.NDArray[Precision]:
    """Return L^-1 B for a lower triangle L, whichever way it lies in memory.

    Raises:
        numpy.linalg.LinAlgError: when L is singular.
    """
    solve = lapack('trtrs', np.result_type(factor, right))
    solved: npt.NDArray[Precision]
    if factor.flags.f_contiguous:
        solved, failed = solve(factor, right, lower=1)
    else:
        solved, failed = solve(factor.T, right, lower=0, trans=1)
    if failed:
        raise np.linalg.LinAlgError('singular')
    return solved


def _prefix(dtype: npt.DTypeLike) -> str:
    return 's' if np.dtype(dtype) == np.float32 else 'd'


@cache
def library(name: str) -> ModuleType:
    """Return SciPy's compiled module of 'blas' or 'lapack'."""
    scipy = find_spec('scipy')
    if scipy is not None and scipy.submodule_search_locations:
        folder = Path(scipy.submodule_search_locations[0], 'linalg')
        found = PathFinder.find_spec(f'_f{name}', [str(folder)])
        if found is not None and found.loader is not None:
            module = module_from_spec(found)
            found.loader.exec_module(module)
            return module
    return import_module(f'scipy.linalg.{name}')  # of a SciPy that is laid out otherwise
