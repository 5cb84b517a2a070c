# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ridge solutions of every size at once, with their exact leave-one-out errors.

With H^T H + ridge I = L L^T and Z = L^-1 H^T the fit is H beta = Z^T (Z T) and the leverages are
the column sums of Z * Z. L is lower triangular, so its leading block belongs to the leading
neurons alone: the first k rows of Z give the model of the first k neurons. One factorisation thus
serves all sizes, and a sample's error without it is its residual / (1 - leverage): no refits.

A sample that is the centre of a neuron must be left out together with that neuron: no sample to
come will find a neuron exactly at its own place. That, too, is exact and needs no refit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.solving.blas import cholesky, solve_lower
from proemlc_ros.errors import ParameterError

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


class Fit(NamedTuple):
    """The ridge solution of one size on its own training samples."""

    columns: int
    fitted: Array
    left_out: Array


class Centres(NamedTuple):
    """Which columns of H are neurons around samples.

    Attributes:
        first: the first of these columns; all that follow are neurons as well.
        samples: for each of them the row of H that is its centre; -1: none is.
        whitener: (neurons, neurons), lower triangular, where H = K @ whitener.T for answers K of
            the neurons themselves; None: H holds these answers.
    """

    first: int
    samples: Places
    whitener: Array | None


def nested_fits(H: Array, T: Array, ridge: float, sizes: Sequence[int],
                rows: slice = slice(None), centres: Centres | None = None,
                gram: Array | None = None) -> Iterator[Fit]:
    """Fit the first k columns of H, for every k in sizes, from one factorisation.

    Args:
        H: hidden rows (n, columns).
        T: targets (n, labels).
        ridge: weight of the penalty, above 0.
        sizes: numbers of columns, growing.
        rows: the samples whose outputs are wanted; all of them are learnt from.
        centres: the neurons around samples, to be left out together with these.
        gram: H^T H where it is known, as when several ridges are tried.

    Yields:
        For each size its outputs on these samples, with them and with each left out.

    Raises:
        ParameterError: when the sizes do not grow within the columns, or the ridge is too small.
    """
    limits = [0, *sizes]
    if any(low >= high for low, high in zip(limits, limits[1:])) or limits[-1] > H.shape[1]:
        raise ParameterError(f'sizes {list(sizes)} must grow and stay within {H.shape[1]} columns')
    gram = H.T @ H if gram is None else gram
    factor = _factor(gram[:limits[-1], :limits[-1]], ridge)
    Z: Array = solve_lower(factor, H[:, :limits[-1]].T)
    own = None if centres is None else _OwnNeurons(centres, factor, T, len(H))
    wanted = T[rows]
    fitted, leverages = np.zeros(wanted.shape), np.zeros(len(wanted))
    for low, high in zip(limits, limits[1:]):
        part = Z[low:high]
        mine, weights = part[:, rows], part @ T
        fitted = fitted + mine.T @ weights
        leverages = leverages + np.einsum('ij,ij->j', mine, mine)
        left_out = left_out_scores(wanted, fitted, leverages)
        if own is not None:
            own.extend(low, high, part, weights)
            own.remove_from(left_out, wanted - fitted, leverages, rows)
        yield Fit(high, fitted, left_out)


def left_out_scores(T: Array, fitted: Array, leverages: Array) -> Array:
    """Return what a model without the sample would have put out, for every sample."""
    scores: Array = T - (T - fitted) / _left(leverages)[:, np.newaxis]
    return scores


class _OwnNeurons:
    """For the neuron j around each sample i: M_jj, (M h_i)_j and beta_j, as the network grows.

    Without sample i, M gains M h h^T M / (1 - leverage) and beta loses M h (t - h beta) /
    (1 - leverage); then setting beta_j to zero, which removes the neuron, changes the output by
    -(h^T M)_j beta_j / M_jj.
    """

    def __init__(self, centres: Centres, factor: Array, T: Array, samples: int) -> None:
        neurons = len(factor) - centres.first
        basis = np.zeros((len(factor), neurons))
        if centres.whitener is None:
            np.fill_diagonal(basis[centres.first:], 1.0)
        else:
            basis[centres.first:] = centres.whitener[:neurons, :neurons]
        self._inverse: Array = solve_lower(factor, basis)
        self._first, self._samples = centres.first, centres.samples[:neurons]
        self._diagonal, self._gains = np.zeros(neurons), np.zeros(neurons)
        self._weights = np.zeros((neurons, T.shape[1]))
        self._number_of = np.full(samples, -1)
        there = np.flatnonzero(self._samples >= 0)
        self._number_of[self._samples[there]] = there
        self._neurons = 0

    def extend(self, low: int, high: int, part: Array, weights: Array) -> None:
        """Take in more rows of L^-1."""
        rows = self._inverse[low:high]
        self._diagonal += np.einsum('ij,ij->j', rows, rows)
        self._gains += np.einsum('ij,ij->j', rows, part[:, self._samples])
        self._weights += rows.T @ weights
        self._neurons = max(0, high - self._first)

    def remove_from(self, left_out: Array, errors: Array, leverages: Array, rows: slice) -> None:
        """Take each sample's own neuron out of its left-out scores, in place."""
        number = self._number_of[rows]
        places = np.flatnonzero((number >= 0) & (number < self._neurons))
        j = number[places]
        left = _left(leverages[places])
        gains = self._gains[j] / left
        weights = self._weights[j] - gains[:, np.newaxis] * errors[places]
        diagonal = self._diagonal[j] + gains * self._gains[j]
        left_out[places] -= (gains / diagonal)[:, np.newaxis] * weights


def _left(leverages: Array) -> Array:
    left: Array = np.maximum(1.0 - leverages, np.finfo(np.float64).eps)
    return left


def _factor(gram: Array, ridge: float) -> Array:
    penalised = gram.copy()
    penalised.flat[::len(gram) + 1] += ridge
    try:
        factor: Array = cholesky(penalised)
    except np.linalg.LinAlgError:
        raise ParameterError(f'a ridge of {ridge:g} is too small for these samples; '
                             'raise it') from None
    return factor
