# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recursive ridge regression: M = (H^T H + ridge I)^-1 and the weights, updated in place."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array, add_border, inverse, lapack, routines
from proemlc_ros.errors import DefinitenessError, TooLargeError

# Rank-one changes of M are collected and applied together: one pass over M for many samples.
# A small M lies in the cache anyway, and is changed at once.
PENDING = 16
SMALL = 300
# The first changes of all are more than that: until then M is the identity less so many products,
# which takes less time than M, and drawing a layer again costs no M.
FIRST = 104

# Rows that meet M in one step of work that is divided, and up to which size of M.
_ROWS_IN_STEP, _MEDIUM = 64, 520

_Kind = TypeVar('_Kind', bound='_InverseMatrix')


def rows_in_step(size: int) -> int:
    """Return how many rows meet M of that size in one step of work that is divided.

    A product of M with a few rows takes nearly as long as one with many.
    """
    return _ROWS_IN_STEP if size <= _MEDIUM else _ROWS_IN_STEP // 2


def with_entry(row: Array, place: int, value: float) -> Array:
    """Return a row with one more entry."""
    longer: Array = np.empty(len(row) + 1, row.dtype)
    longer[:place], longer[place], longer[place + 1:] = row[:place], value, row[place:]
    return longer


class _InverseMatrix:
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
        # Memory of the matrix, with room for more entries.
        self._room: Array | None = None
        if size < SMALL or not ridge > 0.0:
            self._write_out()

    @property
    def matrix(self) -> Array:
        """M before the pending changes, of which there are at most PENDING then."""
        return self._write_out() if self._matrix is None else self._matrix

    @matrix.setter
    def matrix(self, matrix: Array) -> None:
        self._matrix, self._room = matrix, None

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

    def _border(self, place: int, gain: Array, rest: float) -> None:
        """Follow one more row and column of M^-1.

        gain: M times the column; rest: what that leaves of the entry on the diagonal.

        M becomes M + gain gain^T / rest, beside -gain / rest and 1 / rest.
        """
        old, size, factor = self.matrix, self.size + 1, 1.0 / (rest * self.scale)
        room = self._room
        if room is None or len(room) < size * size:
            room = self._room = np.empty(size * size * 5 // 4, dtype=self.dtype)
            room[:self.size * self.size] = old.ravel(order='F')
        add_border(room, place, gain, factor)
        matrix: Array = room[:size * size].reshape((size, size), order='F')
        # The pending changes know nothing of the new entry.
        pending: Array = np.empty((size, PENDING), dtype=self.dtype, order='F')
        known, changes = pending[:, :self.pending], self.pending_store[:, :self.pending]
        known[:place], known[place], known[place + 1:] = changes[:place], 0.0, changes[place:]
        self.size, self._matrix, self.pending_store = size, matrix, pending

    def stop_growing(self) -> None:
        """Give memory back that only one more entry would need."""
        if self._room is not None:
            self._matrix, self._room = self.matrix.copy(order='F'), None

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
        twin._room = None
        return twin


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


class RecursiveRidge(_InverseMatrix):
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

    # ----- neurons -----

    def penalty(self) -> Array | float:
        """Return the weight of the ridge penalty, or that of each entry of a hidden row."""
        return self.ridge

    def add_entry(self, place: int, gain: Array, rest: float, shares: Array) -> None:
        """Give the hidden rows one more entry, as if they had always had it.

        Args:
            place: of the entry.
            gain: the weights with which the other entries fit it, M H^T c for its column c.
            rest: what the penalised fit leaves of c, its own penalty included.
            shares: what is left of c times what is left of the targets, over rest, per output.
        """
        gain = gain.astype(self.dtype, copy=False)
        self._blas.ger(-1.0, gain, shares.astype(self.dtype, copy=False), a=self.beta,
                       overwrite_a=1)
        self._border(place, gain, rest)
        outputs, old = self.beta.shape[1], self._store
        self._store = np.empty((self.size, old.shape[1]), dtype=self.dtype, order='F')
        self._store[:place], self._store[place + 1:] = old[:place], old[place:]
        self.beta = self._store[:, :outputs]
        self.beta[place] = shares

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


_SCALE_LIMIT = 2.0 ** 64

_Forgetting = TypeVar('_Forgetting', bound='ForgettingRidge')


class ForgettingRidge(RecursiveRidge):
    """Weighs a sample that is k samples old by forgetting^k.

    Plain exponential forgetting forgets the ridge as well, and M then grows without bounds where
    nothing new is seen. So with each sample one entry of the ridge, in turn, is topped up by what
    all entries lost together; `prior` is the ridge that is left, entry by entry:
    M = (sum of forgetting^k h h^T + diag(prior))^-1.
    """

    forgets = True

    def __init__(self, size: int, ridge: float, dtype: str, forgetting: float) -> None:
        """Start with M = I / ridge."""
        super().__init__(size, ridge, dtype)
        self.forgetting = forgetting
        self.prior: Array = np.full(size, float(ridge))
        self._top_up = (1.0 - forgetting) * ridge * size
        self.steps = 0

    def update(self, gain: Array, leverage: float, residual: Array) -> None:
        """Learn one row, after all others have lost a little weight."""
        self._change(gain, 1.0 / (self.forgetting + leverage), residual)
        self.age()

    def age(self) -> None:
        """Let all rows lose a little weight, and top the ridge up."""
        self.scale /= self.forgetting
        self.prior *= self.forgetting
        row, place = self._top_up_row()
        gain, leverage = self.gain(row)
        self._change(gain, 1.0 / (1.0 + max(leverage, 0.0)), -row[place] * self.beta[place])
        self.prior[place] += self._top_up
        self.steps += 1
        if self.scale > _SCALE_LIMIT:
            self.settle()
            # A power of two, so that no digit is lost.
            self.matrix *= _SCALE_LIMIT
            self.scale /= _SCALE_LIMIT

    def rewind(self) -> None:
        """Take the last top-up back, before the row that came with it is taken back."""
        self.steps -= 1
        row, place = self._top_up_row()
        gain, leverage = self.gain(row)
        super().downdate(gain, leverage, -row[place] * self.beta[place])
        self.prior[place] -= self._top_up

    def downdate(self, gain: Array, leverage: float, residual: Array) -> None:
        """Take the last learnt row back; the others regain their weight."""
        super().downdate(gain, leverage, residual)
        self.regain()

    def regain(self) -> None:
        """Give all rows the weight back that the last one cost them."""
        self.scale *= self.forgetting
        self.prior /= self.forgetting

    def penalty(self) -> Array | float:
        """Return the ridge that is left, entry by entry."""
        return self.prior

    def _border(self, place: int, gain: Array, rest: float) -> None:
        super()._border(place, gain, rest)
        self.prior = with_entry(self.prior, place, self.ridge)
        self._top_up = (1.0 - self.forgetting) * self.ridge * self.size

    def _smallest_prior(self) -> float:
        return float(self.prior.min())

    def copy(self: _Forgetting) -> _Forgetting:
        """Return an independent copy."""
        twin = super().copy()
        twin.prior = self.prior.copy()
        return twin

    def _top_up_row(self) -> tuple[Array, int]:
        """Return a made-up row that adds to one entry of the ridge, and which entry."""
        place = self.steps % self.size
        row = np.zeros(self.size, dtype=self.dtype)
        row[place] = math.sqrt(self._top_up)
        return row, place


def make_ridge(size: int, ridge: float, dtype: str, forgetting: float) -> RecursiveRidge:
    """Return a recursion with nothing learnt; forgetting: 1: never."""
    if forgetting < 1.0:
        return ForgettingRidge(size, ridge, dtype, forgetting)
    return RecursiveRidge(size, ridge, dtype)


def add_sums(ridge: RecursiveRidge, gram: Array, target_sums: Array, first: bool) -> bool:
    """Learn rows at once by one factorisation: A = M^-1 + H^T H; no forgetting.

    A third of the products that blocks need, where the rows are many; in double precision.

    Args:
        ridge: is to learn them.
        gram: lower triangle of H^T H, which is changed.
        target_sums: H^T Y.
        first: nothing has been learnt, so that M^-1 is the ridge.

    Returns:
        Whether A could be factorised; nothing has changed where not.
    """
    if first:
        gram.flat[::ridge.size + 1] += ridge.ridge
    else:
        ridge.settle()
        try:
            before = inverse(ridge.matrix * ridge.scale)
        except np.linalg.LinAlgError:
            return False
        gram += before
        target_sums = target_sums + routines('float64').symm(
            1.0, before, ridge.beta.astype(np.float64), lower=1)
    factor, failed = lapack('potrf')(gram, lower=1, overwrite_a=1)
    if failed:
        return False
    beta, _ = lapack('potrs')(factor, target_sums, lower=1)
    inverted, _ = lapack('potri')(factor, lower=1, overwrite_c=1)
    ridge.matrix[:], ridge.scale, ridge.pending = np.tril(inverted), 1.0, 0
    ridge.beta[:] = beta
    return True
