# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""M = (H^T H + ridge I)^-1, kept as a matrix and the changes of it that are still pending."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.solving.blas import Array, routines

# Rank-one changes of M are collected and applied together: one pass over M for many samples.
# A small M lies in the cache anyway, and is changed at once.
PENDING = 16
SMALL = 300
# The first changes of all are more than that: until then M is the identity less so many products,
# which takes less time than M, and drawing a layer again costs no M.
FIRST = 104

# Rows that meet M in one step of work that is divided, and up to which size of M.
_ROWS_IN_STEP, _MEDIUM = 64, 520

_Kind = TypeVar('_Kind', bound='InverseMatrix')


def rows_in_step(size: int) -> int:
    """Return how many rows meet M of that size in one step of work that is divided.

    A product of M with a few rows takes nearly as long as one with many.
    """
    return _ROWS_IN_STEP if size <= _MEDIUM else _ROWS_IN_STEP // 2


class InverseMatrix:
    """M, as (matrix - pending pending^T) * scale; of the symmetric matrix the lower triangle.

    Above its diagonal there is nothing but zeros.
    """

    def __init__(self, size: int, ridge: float, dtype: str = 'float64') -> None:
        """Start with I / ridge; zero without a ridge."""
        self.size = size
        self.ridge = ridge
        self.scale = 1.0
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.pending_store: Array = np.zeros((size, PENDING), dtype=dtype, order='F')
        self.pending = 0
        self._blas = routines(dtype)
        # None: as it began, I / ridge.
        self._matrix: Array | None = None
        if size < SMALL or not ridge > 0.0:
            self._write_out()

    @property
    def matrix(self) -> Array:
        """M before the pending changes, of which there are at most PENDING then."""
        return self._write_out() if self._matrix is None else self._matrix

    @matrix.setter
    def matrix(self, matrix: Array) -> None:
        self._matrix = matrix

    def _write_out(self) -> Array:
        self._matrix = matrix = np.zeros((self.size, self.size), dtype=self.dtype, order='F')
        if self.ridge > 0.0:
            matrix.flat[::self.size + 1] = 1.0 / self.ridge
        if self.pending > PENDING:
            self.settle()
        return matrix

    def _collect(self, changes: Array, factor: float) -> bool:
        """Add pending changes (size, n) times a factor, if there is room; whether there is."""
        stop = self.pending + changes.shape[1]
        if stop > (FIRST if self._matrix is None else PENDING):
            return False
        if stop > self.pending_store.shape[1]:
            store: Array = np.zeros((self.size, FIRST), dtype=self.dtype, order='F')
            store[:, :self.pending] = self.pending_store[:, :self.pending]
            self.pending_store = store
        np.multiply(changes, factor, out=self.pending_store[:, self.pending:stop])
        self.pending = stop
        return True

    def _subtract(self, gain: Array, share: float) -> None:
        """Change M by -share gain gain^T, at once or later."""
        if self.size < SMALL:
            self._blas.syr(-share / self.scale, gain, lower=1, a=self.matrix, overwrite_a=1)
            return
        root = math.sqrt(share / self.scale)
        if not self._collect(gain[:, np.newaxis], root):
            self.settle()
            self._collect(gain[:, np.newaxis], root)

    def _subtract_rows(self, changes: Array) -> None:
        """Change M by -V V^T, for changes V (size, n)."""
        if self._matrix is None and self._collect(changes, self.scale ** -0.5):
            return
        self.settle()
        self._blas.syrk(-1.0 / self.scale, changes, beta=1.0, c=self.matrix, lower=1,
                        overwrite_c=1)

    def gain(self, hidden: Array) -> tuple[Array, float]:
        """Return M h and the leverage h M h of a hidden row."""
        product: Array = (self._spread(hidden) if self._matrix is None
                          else self._blas.symv(self.scale, self._matrix, hidden, lower=1))
        if self.pending:
            changes = self.pending_store[:, :self.pending]
            share = self._blas.gemv(self.scale, changes, hidden, trans=1)
            self._blas.gemv(-1.0, changes, share, beta=1.0, y=product, overwrite_y=1)
        return product, float(hidden.dot(product))

    def gains(self, hidden: Array) -> Array:
        """Return M H^T (size, n) for hidden rows (n, size); Fortran order."""
        products: Array = (self._spread(hidden.T) if self._matrix is None
                           else self._blas.symm(self.scale, self._matrix, hidden.T, lower=1))
        if self.pending:
            changes = self.pending_store[:, :self.pending]
            share = self._blas.gemm(self.scale, changes, hidden.T, trans_a=1)
            self._blas.gemm(-1.0, changes, share, beta=1.0, c=products, overwrite_c=1)
        return products

    def leverages(self, hidden: Array,
                  places: npt.NDArray[np.intp]) -> tuple[Array, Array]:
        """Return hMh of each hidden row (n, size), and of its M h the entry at one place.

        For half of the products of gains(): with T the lower triangle and D the diagonal of M,
        hMh is 2 hTh - hDh.
        """
        here = hidden[np.arange(len(hidden)), places]
        if self._matrix is None:
            found, entries = np.einsum('ij,ij->i', hidden, hidden) / self.ridge, here / self.ridge
        else:
            triangle = self._blas.trmm(1.0, self._matrix, hidden.T, lower=1)
            diagonal = self._matrix.diagonal()
            found = (2.0 * np.einsum('ij,ji->i', hidden, triangle)
                     - np.square(hidden) @ diagonal)
            entries = (triangle[places, np.arange(len(hidden))] - diagonal[places] * here
                       + np.einsum('ij,ji->i', hidden, self._matrix[:, places]))
        if self.pending:
            changes = self.pending_store[:, :self.pending]
            share = self._blas.gemm(1.0, changes, hidden.T, trans_a=1)
            found -= np.einsum('ji,ji->i', share, share)
            entries -= np.einsum('ij,ji->i', changes[places], share)
        return (self.scale * found.astype(np.float64, copy=False),
                self.scale * entries.astype(np.float64, copy=False))

    def diagonal(self, places: npt.NDArray[np.intp]) -> Array:
        """Return the entries M_jj, as float64."""
        found: Array = (np.full(len(places), 1.0 / self.ridge) if self._matrix is None
                        else self._matrix[places, places].astype(np.float64))
        changes = self.pending_store[places, :self.pending].astype(np.float64)
        found -= np.einsum('ij,ij->i', changes, changes)
        return self.scale * found

    def _spread(self, columns: Array) -> Array:
        """Return M times columns before any change of M."""
        product: Array = columns * self.dtype.type(self.scale / self.ridge)
        return product

    def settle(self) -> None:
        """Apply the pending rank-one changes to M."""
        matrix = self.matrix
        if self.pending:
            changes = self.pending_store[:, :self.pending]
            self._blas.syrk(-1.0, changes, beta=1.0, c=matrix, lower=1, overwrite_c=1)
            self.pending = 0
        if self.pending_store.shape[1] > PENDING:
            self.pending_store = np.zeros((self.size, PENDING), dtype=self.dtype, order='F')

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        matrix = 0 if self._matrix is None else self._matrix.nbytes
        return matrix + self.pending_store.nbytes

    def copy(self: _Kind) -> _Kind:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._matrix = None if self._matrix is None else self._matrix.copy(order='F')
        twin.pending_store = self.pending_store.copy(order='F')
        return twin
