# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled routines: BLAS and LAPACK of SciPy, and our own, with what replaces these in NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
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
Places = npt.NDArray[np.int64]
_Routine: TypeAlias = Callable[..., Any]
Precision = TypeVar('Precision', bound=np.floating[Any])


class _Routines(NamedTuple):
    """Products that work in place on Fortran-ordered arrays of one precision."""

    gemv: _Routine
    ger: _Routine
    gemm: _Routine
    symv: _Routine
    symm: _Routine
    syr: _Routine
    syrk: _Routine
    trmm: _Routine
    trsm: _Routine
    potrf: _Routine


@cache
def routines(dtype: str) -> _Routines:
    """Return the routines for 'float64' or 'float32'."""
    products = [getattr(library('blas'), _prefix(dtype) + name) for name in _Routines._fields[:-1]]
    return _Routines._make([*products, lapack('potrf', dtype)])


def lapack(name: str, dtype: npt.DTypeLike = np.float64) -> _Routine:
    """Return a routine of LAPACK, such as 'potrf', for float64 or float32."""
    routine: _Routine = getattr(library('lapack'), _prefix(dtype) + name)
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


compiled: ModuleType | None = None
if os.environ.get('PROEMLC_KERNELS') != '0':
    with suppress(ImportError):  # built where there was no C compiler
        from proemlc_ros.core import _kernels as compiled


def absolute_differences(rows: Array, centres: Array, out: Array) -> None:
    """Put the sums of absolute differences (n, neurons) of rows to centres into out."""
    if compiled is None:
        plain_differences(rows, centres, out)
    else:
        compiled.absolute_differences(rows, centres, out)


def plain_differences(rows: Array, centres: Array, out: Array) -> None:
    """Do the same by SciPy, several times as slowly."""
    out[:] = _cdist()(rows, centres)


def mutual_differences(rows: Array, out: Array) -> None:
    """Put the differences of rows to each other into out (n, n); half the work of two sets."""
    if compiled is None:
        plain_differences(rows, rows, out)
    else:
        compiled.mutual_differences(rows, out)


def add_border(store: Array, place: int, gain: Array, factor: float) -> None:
    """Give an inverse one more row and column: M + factor g g^T beside -factor g and factor.

    Args:
        store: memory with its lower triangle, in Fortran order, and with room.
        place: of the new row and column.
        gain: g.
        factor: of all changes.
    """
    if compiled is not None and store.dtype == np.float64:
        compiled.border(store, place, gain, factor)
        return
    size = len(gain)
    known = np.delete(np.arange(size + 1), place)
    old = store[:size * size].reshape((size, size), order='F') + np.tril(
        factor * np.multiply.outer(gain, gain))
    grown = store[:(size + 1) ** 2].reshape((size + 1, size + 1), order='F')
    grown[:] = 0.0
    grown[np.ix_(known, known)] = old
    grown[place, :place] = -factor * gain[:place]
    grown[place, place] = factor
    grown[place + 1:, place] = -factor * gain[place:]


def inverse_sinh(values: Array) -> Array:
    """Replace values by their asinh, and return them."""
    if compiled is None or values.dtype != np.float64 or not values.flags.c_contiguous:
        return np.arcsinh(values, out=values)
    compiled.inverse_sinh(values if values.ndim == 2 else values.reshape((1, -1)))
    return values


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
