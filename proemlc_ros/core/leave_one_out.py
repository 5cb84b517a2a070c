# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ridge solutions of every size at once, with their exact leave-one-out errors.

With H^T H + ridge I = L L^T and Z = L^-1 H^T the fit is H beta = Z^T (Z T) and the leverages are
the column sums of Z * Z. L is lower triangular, so its leading block belongs to the leading neurons
alone: the first k rows of Z give the model of the first k neurons. One factorisation thus serves
all sizes, and a sample's error without that sample is its residual / (1 - leverage): no refits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from proemlc_ros.errors import ParameterError

Array = npt.NDArray[np.float64]


class Fit(NamedTuple):
    """The ridge solution of one size on its own training samples."""

    columns: int
    fitted: Array
    left_out: Array


def nested_fits(H: Array, T: Array, ridge: float, sizes: Sequence[int],
                rows: slice = slice(None)) -> Iterator[Fit]:
    """Fit the first k columns of H, for every k in sizes, from one factorisation.

    Args:
        H: hidden rows (n, columns).
        T: targets (n, labels).
        ridge: weight of the penalty, above 0.
        sizes: numbers of columns, growing.
        rows: the samples whose outputs are wanted; all of them are learnt from.

    Yields:
        For each size its outputs on these samples, with them and with each left out.

    Raises:
        ParameterError: when the sizes do not grow within the columns, or the ridge is too small.
    """
    limits = [0, *sizes]
    if any(low >= high for low, high in zip(limits, limits[1:])) or limits[-1] > H.shape[1]:
        raise ParameterError(f'sizes {list(sizes)} must grow and stay within {H.shape[1]} columns')
    Z = _whitened(H[:, :limits[-1]], ridge)
    wanted = T[rows]
    fitted, leverages = np.zeros(wanted.shape), np.zeros(len(wanted))
    for low, high in zip(limits, limits[1:]):
        part = Z[low:high]
        mine = part[:, rows]
        fitted = fitted + mine.T @ (part @ T)
        leverages = leverages + np.einsum('ij,ij->j', mine, mine)
        yield Fit(high, fitted, left_out_scores(wanted, fitted, leverages))


def left_out_scores(T: Array, fitted: Array, leverages: Array) -> Array:
    """Return what a model without the sample would have put out, for every sample."""
    left = np.maximum(1.0 - leverages, np.finfo(np.float64).eps)
    scores: Array = T - (T - fitted) / left[:, np.newaxis]
    return scores


def _whitened(H: Array, ridge: float) -> Array:
    gram = H.T @ H
    gram.flat[::len(gram) + 1] += ridge
    try:
        factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise ParameterError(f'a ridge of {ridge:g} is too small for these samples; '
                             'raise it') from None
    whitened: Array = solve_triangular(factor, H.T, lower=True, check_finite=False)
    return whitened
