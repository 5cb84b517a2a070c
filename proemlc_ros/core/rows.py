# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Samples as rows, dense or sparse, validated."""

from __future__ import annotations

import zlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array
from proemlc_ros.errors import (
    EmptyInputError,
    InputError,
    NotFiniteError,
    TooLargeError,
    WidthError,
)

# A C-ordered (n, width) array, or a CSR matrix; the type checker knows no sparse types.
Rows: TypeAlias = Any

# Comparing with these is much faster than with their names.
_KINDS = {name: np.dtype(name) for name in ('float64', 'float32')}
# Squared length of a row beyond which products with it leave the range of the precision.
_LARGEST = {'float64': 1e200, 'float32': 1e24}


def check_vector(values: object, width: int | None, dtype: str) -> Array:
    """Return one feature vector as a validated, contiguous array; it may be the caller's own.

    Raises:
        InputError: or one of its kinds, when the values cannot be used.
    """
    vector: Array
    if type(values) is np.ndarray and values.dtype == _KINDS[dtype]:
        vector = values if values.flags.c_contiguous else values.copy()
    else:
        vector = np.ascontiguousarray(_as_numbers(values, dtype))
    if vector.ndim != 1:
        raise InputError(f'expected one feature vector, got an array of shape {vector.shape}')
    _check_width(vector.shape[0], width)
    # One pass for all: NaN and infinity fail this comparison as well.
    if not vector.dot(vector) <= _LARGEST[dtype]:
        _explain_values(vector[np.newaxis], dtype)
    return vector


def check_rows(values: object, width: int | None, dtype: str) -> Rows:
    """Return samples as validated rows: (n, width) C-ordered, or CSR; a vector becomes one row.

    Raises:
        InputError: or one of its kinds, when the values cannot be used.
    """
    if is_sparse(values):
        return _check_sparse(values, width, dtype)
    rows = np.ascontiguousarray(_as_numbers(values, dtype))
    if rows.ndim == 1:
        rows = rows[np.newaxis]
    if rows.ndim != 2:
        raise InputError(f'X has the shape {rows.shape}; give one row per sample: (n, width)')
    if rows.shape[0] == 0:
        raise EmptyInputError('X holds no samples; give at least one row')
    _check_width(rows.shape[1], width)
    if not np.einsum('ij,ij->i', rows, rows).max() <= _LARGEST[dtype]:
        _explain_values(rows, dtype)
    return rows


def is_sparse(values: object) -> bool:
    """Whether values are a scipy.sparse matrix; without importing it, which is slow."""
    return hasattr(values, 'tocsr')


def is_single(values: Any) -> bool:
    """Whether values are one feature vector rather than rows of them."""
    if isinstance(values, np.ndarray) or is_sparse(values):
        return bool(values.ndim == 1)
    try:
        return np.ndim(values) == 1
    except ValueError:  # ragged; check_rows explains it
        return False


def dense_rows(rows: Rows) -> Array:
    """Return rows as a dense array; for the few that become centres, or are compared."""
    if not is_sparse(rows):
        return np.asarray(rows)
    dense = np.zeros(rows.shape, dtype=rows.dtype)
    dense[row_places(rows), rows.indices] = rows.data
    return dense


def other_form(row: Rows) -> Rows:
    """Return one dense row as sparse, or one sparse row as dense."""
    if is_sparse(row):
        return dense_rows(row)
    from scipy import sparse
    return sparse.csr_matrix(row)


def row_places(rows: Rows) -> Any:
    """Return for each stored value of sparse rows the row it stands in."""
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))


def row_norms(rows: Rows) -> Array:
    """Return the length of each row."""
    if is_sparse(rows):
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    else:
        squares = np.einsum('ij,ij->i', rows, rows)
    norms: Array = np.sqrt(squares)
    return norms


def checksum_of_vector(vector: npt.NDArray[np.floating], complete: bool) -> int:
    """Return the checksum of one contiguous dense sample."""
    return zlib.crc32(vector, complete)  # type: ignore[arg-type]


def checksums_of_rows(rows: Rows, completes: list[bool]) -> list[int]:
    """Return the checksum of each row; of a sparse row that of its entries."""
    if not is_sparse(rows):
        return [zlib.crc32(row, complete) for row, complete in zip(rows, completes)]
    ends = rows.indptr.tolist()
    places, values = rows.indices.astype(np.int64, copy=False), rows.data
    return [zlib.crc32(values[start:stop], zlib.crc32(places[start:stop], complete))
            for start, stop, complete in zip(ends, ends[1:], completes)]


def order_by_content(rows: Rows) -> npt.NDArray[np.int64]:
    """Return the places of rows in an order that their values alone decide on."""
    checksums = checksums_of_rows(rows, [True] * rows.shape[0])
    return np.argsort(np.array(checksums, dtype=np.int64), kind='stable')


def _as_numbers(values: Any, dtype: str) -> Array:
    try:
        if np.iscomplexobj(values):
            raise TypeError('complex numbers')
        with np.errstate(over='ignore'):  # becomes infinity, which is reported
            numbers = np.asarray(values, dtype=dtype)
        if numbers.ndim == 0:
            raise ValueError(f'a single number: {values!r}')
        return numbers
    except (TypeError, ValueError) as error:
        raise InputError(f'X cannot be read as numbers ({error}); give an array with one row of '
                         'numbers per sample, all rows of one length') from error


def _check_sparse(values: Any, width: int | None, dtype: str) -> Rows:
    if values.ndim == 1:
        values = values.reshape(1, -1)
    if np.iscomplexobj(values) or values.dtype == object:
        raise InputError(f'X holds values of type {values.dtype}; give real numbers')
    if values.shape[0] == 0:
        raise EmptyInputError('X holds no samples; give at least one row')
    _check_width(values.shape[1], width)
    with np.errstate(over='ignore'):
        from scipy import sparse
        rows = sparse.csr_matrix(values.tocsr(), dtype=dtype)  # shares what it can
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's matrix stays as it is
        rows.sum_duplicates()
    if not np.abs(rows.data).max(initial=0.0) <= np.sqrt(_LARGEST[dtype]):
        _explain_values(rows.data[np.newaxis], dtype, 'stored value')
    return rows


def _check_width(found: int, width: int | None) -> None:
    if found == 0:
        raise EmptyInputError('the feature vector is empty; give at least one value')
    if width is not None and found != width:
        raise WidthError(f'the feature vector has {found} values, but this model learns from '
                         f'{width}; use the same features throughout, or start a new model')


def _explain_values(rows: Array, dtype: str, unit: str = 'feature') -> None:
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise NotFiniteError(f'sample {row} has {rows[row, column]} as {unit} {column}; '
                             'leave the sample out or replace the value')
    row, column = np.unravel_index(np.abs(rows).argmax(), rows.shape)
    raise TooLargeError(f'sample {row} has {rows[row, column]:g} as {unit} {column}, too large '
                        f'for {dtype} arithmetic; scale the features')
