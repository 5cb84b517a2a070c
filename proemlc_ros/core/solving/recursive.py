# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recursive ridge regression: M = (H^T H + ridge I)^-1 and the weights, updated in place."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.inverse import InverseMatrix
from proemlc_ros.errors import DefinitenessError, TooLargeError

# Rows in one Woodbury step.
BLOCK = 64
# hMh times the rounding unit; beyond it M would lose its positive definiteness to rounding.
_LARGEST_LEVERAGE_ERROR = 1e-2

_Ridge = TypeVar('_Ridge', bound='RecursiveRidge')


class RowBlock(NamedTuple):
    """A block of rows about to be learnt: M H^T, and L with I + H M H^T = L L^T."""

    products: Array
    factor: Array

    @property
    def leverages(self) -> Array:
        """The leverage hMh of each row, once the rows before it have been learnt."""
        diagonal: Array = self.factor.diagonal()
        return diagonal ** 2 - 1.0


class RecursiveRidge(InverseMatrix):
    """The recursion of eqs 8-9 and 20-21, for any number of outputs.

    beta has one column per output and room to grow. Every change is in place.
    """

    forgets = False

    def __init__(self, size: int, ridge: float, dtype: str = 'float64') -> None:
        """Start with M = I / ridge and one output of weight zero."""
        super().__init__(size, ridge, dtype)
        self._store: Array = np.zeros((size, 8), dtype=dtype, order='F')
        self.beta: Array = self._store[:, :1]
        self._largest = _LARGEST_LEVERAGE_ERROR / float(np.finfo(dtype).eps)

    # ----- reading -----

    def outputs(self, hidden: Array) -> Array:
        """Return h beta of one hidden row."""
        product: Array = self._blas.gemv(1.0, self.beta, hidden, trans=1)
        return product

    def outputs_of_rows(self, hidden: Array) -> Array:
        """Return H beta (n, outputs) of hidden rows."""
        product: Array = self._blas.gemm(1.0, self.beta, hidden.T, trans_a=1).T
        return product

    # ----- learning -----

    def check(self, leverage: float) -> None:
        """Reject a sample whose update would drown in rounding errors.

        Raises:
            TooLargeError: before anything has changed.
        """
        # M has lost its definiteness where a leverage is clearly below zero. Without ridge, as in
        # the paper's formulas, a pseudo-inverse may begin so.
        if not (-0.1 if self.ridge else -math.inf) < leverage <= self._largest:
            raise TooLargeError(f'the leverage of the sample is {leverage:g}, beyond what the '
                                'precision can hold; scale the features or raise the ridge')

    def always_accepts(self, square: float) -> bool:
        """Whether no hidden row of at most that |h|^2 can be rejected, whatever comes before it.

        M only shrinks from I / ridge on, and the leverage with it.
        """
        return self.ridge > 0.0 and square <= 0.5 * self._largest * self.ridge

    def update(self, gain: Array, leverage: float, residual: Array) -> None:
        """Learn one row: gain and leverage as gain() returned them; residual: target - output.

        M h (eq. 9) after the update is M h / (1 + hMh) before it, so one product serves both.
        """
        self._change(gain, 1.0 / (1.0 + leverage), residual)

    def _change(self, gain: Array, share: float, residual: Array) -> None:
        self._blas.ger(share, gain, residual, a=self.beta, overwrite_a=1)
        self._subtract(gain, share)

    def prepare_rows(self, hidden: Array, first: bool = False) -> RowBlock:
        """Return what learning a block of hidden rows (n, size) needs; changes nothing.

        Args:
            hidden: the rows.
            first: nothing has been learnt, so that M is I / ridge and needs no product.

        Raises:
            TooLargeError: when the rows would drown in rounding errors.
        """
        # I + H M H^T = L L^T, the matrix that eq. 20 inverts
        if first and self.ridge > 0.0:
            products = self._spread(hidden.T)
            inner = self._blas.syrk(self.scale / self.ridge, hidden.T, trans=1, lower=1)
        else:
            products = self.gains(hidden)
            inner = self._blas.gemm(1.0, hidden.T, products, trans_a=1)
        self.check(float(inner.diagonal().max()))
        inner.flat[::inner.shape[0] + 1] += 1.0
        factor, failed = self._blas.potrf(inner, lower=1, overwrite_a=1)
        if failed:
            raise TooLargeError('the values of the samples are too large for the precision; '
                                'scale the features or raise the ridge')
        return RowBlock(products, factor)

    def update_rows(self, hidden: Array, block: RowBlock, targets: Array) -> Array:
        """Learn a prepared block of rows at once (eqs 20-21 by Woodbury); no forgetting.

        Returns:
            The residuals that learning the rows one after the other would have met.

        """
        blas = self._blas
        # V = M H^T L^-T; M -= V V^T; beta += V L^-1 (Y - H beta)
        residuals = np.asfortranarray(targets - self.outputs_of_rows(hidden))
        whitened = blas.trsm(1.0, block.factor, residuals, lower=1, overwrite_b=1)
        changes = blas.trsm(1.0, block.factor, block.products, side=1, lower=1, trans_a=1,
                            overwrite_b=1)
        blas.gemm(1.0, changes, whitened, beta=1.0, c=self.beta, overwrite_c=1)
        self._subtract_rows(changes)
        # The rows of L^-1 E are the one-by-one residuals over the diagonal of L.
        sequential: Array = whitened * block.factor.diagonal()[:, np.newaxis]
        return sequential

    def start_from(self, hidden: Array, targets: Array) -> None:
        """Learn a first block without ridge: M = pinv(H^T H), beta = pinv(H) Y (eqs 5-7)."""
        inverse = np.linalg.pinv(hidden.astype(np.float64))
        self.matrix[:] = np.tril(inverse @ inverse.T)
        self.beta[:] = inverse @ targets

    def check_accuracy(self, hidden: Array, leverage: float, tolerance: float) -> None:
        """Reject the taking back of a row whose result would be inaccurate.

        M began as I / ridge, so that its entries carry errors of about eps / ridge, and the
        leverage one of about |h|^2 eps / ridge. Taking back divides by 1 - leverage.

        Raises:
            DefinitenessError: before anything has changed.
        """
        square = float(hidden.dot(hidden))
        error = square / self._smallest_prior() * float(np.finfo(hidden.dtype).eps)
        if not error <= tolerance * (1.0 - leverage):
            raise DefinitenessError(
                f'taking the sample back would leave rounding errors of about '
                f'{error / max(1.0 - leverage, 1e-300):.1g} (leverage {leverage:.6g}); scale the '
                'features or raise the ridge')

    def _smallest_prior(self) -> float:
        return self.ridge or 1e-300

    def downdate(self, gain: Array, leverage: float, residual: Array) -> None:
        """Take one row back; gain and leverage of the row as they are now.

        Raises:
            DefinitenessError: before anything has changed.
        """
        self.check_removal(leverage)
        left = 1.0 - leverage
        self.settle()
        self._blas.ger(-1.0 / left, gain, residual, a=self.beta, overwrite_a=1)
        self._blas.syr(1.0 / (left * self.scale), gain, lower=1, a=self.matrix, overwrite_a=1)

    def check_removal(self, leverage: float) -> None:
        """Reject the taking back of a row that cannot be among those learnt.

        Raises:
            DefinitenessError: before anything has changed.
        """
        if not 1.0 - leverage > 1.0 / self._largest:
            raise DefinitenessError(
                f'taking the sample back would leave no information in its direction (leverage '
                f'{leverage:.6g}); it was never learnt like this, or the ridge is too small')

    def rewind(self) -> None:
        """Prepare to take the last learnt row back; only forgetting has something to do."""

    def age(self) -> None:
        """Let a row pass that is not learnt here; only forgetting has something to do."""

    def regain(self) -> None:
        """Take age() back, after rewind()."""

    # ----- outputs -----

    def add_output(self, column: Array | None = None) -> None:
        """Append an output; its weights are a copy of column 0, or those given."""
        used = self.beta.shape[1]
        if used == self._store.shape[1]:
            store = np.zeros((self.size, 2 * used), dtype=self._store.dtype, order='F')
            store[:, :used] = self.beta
            self._store = store
        self._store[:, used] = self._store[:, 0] if column is None else column
        self.beta = self._store[:, :used + 1]

    def set_beta(self, beta: Array) -> None:
        """Take over weights (size, outputs); output 0 is the unnamed label."""
        outputs = beta.shape[1]
        self._store = np.zeros((self.size, max(8, outputs)), dtype=self.dtype, order='F')
        self._store[:, :outputs] = beta
        self.beta = self._store[:, :outputs]

    def remove_output(self, column: int) -> None:
        """Remove an output; later columns move up by one."""
        used = self.beta.shape[1]
        self._store[:, column:used - 1] = self._store[:, column + 1:used].copy(order='F')
        self._store[:, used - 1] = 0.0
        self.beta = self._store[:, :used - 1]

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        return super().memory_bytes + self._store.nbytes

    def copy(self: _Ridge) -> _Ridge:
        """Return an independent copy."""
        twin = super().copy()
        twin._store = self._store.copy(order='F')
        twin.beta = twin._store[:, :self.beta.shape[1]]
        return twin
