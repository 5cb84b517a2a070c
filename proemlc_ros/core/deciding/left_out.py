# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Exact leave-one-out scores, without refits: of a model as it is, and of many sizes at once.

A sample that is the centre of a neuron is left out together with that neuron: no sample to come
will find a neuron exactly at its own place. That, too, is exact and needs no refit.

For many sizes: with H^T H + ridge I = L L^T and Z = L^-1 H^T the fit is H beta = Z^T (Z T) and the
leverages are the column sums of Z * Z. L is lower triangular, so its leading block belongs to the
leading neurons alone: the first k rows of Z give the model of the first k neurons. One
factorisation thus serves all sizes, and a sample's error without it is its residual /
(1 - leverage).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array, Places, cholesky, solve_lower
from proemlc_ros.core.deciding.calibration import LeftOut, Targets, known_shares
from proemlc_ros.core.deciding.novelty import left_out_distances
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.radial import RadialNeurons
from proemlc_ros.core.ridge import RecursiveRidge
from proemlc_ros.errors import ParameterError

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner


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


_Places = npt.NDArray[np.intp]


class Part(NamedTuple):
    """Labels whose weights come from one recursion; see solving/label_groups.py."""

    ridge: RecursiveRidge
    inside: list[int] | slice  # of these labels among all
    places: list[int] | slice  # of these labels in the outputs of the recursion


class Solution(NamedTuple):
    """What left-out scores follow from: a learner's solution at one instant."""

    ridge: RecursiveRidge  # of all samples
    parts: list[Part]
    layer: HiddenLayer
    prior: float  # the ridge
    usual_mass: float  # |neurons|^2 of a learnt sample on average
    forgetting: float
    samples: int

    @classmethod
    def of(cls, learner: Learner, copied: bool) -> Solution:
        """Return the solution of a learner; copied: it is wanted while the learner goes on."""
        def taken(ridge: RecursiveRidge) -> RecursiveRidge:
            return ridge.copy() if copied else ridge

        table, parts = taken(learner.ridge), list[Part]()
        if learner.groups is None:
            parts.append(Part(table, slice(None), slice(1, None)))
        else:
            outputs = len(learner.labels) + 1
            beyond = [column for column in learner.groups.approximate(outputs) if column]
            parts.append(Part(table, [column - 1 for column in beyond], beyond))
            for group in learner.groups:
                named = [(column, place) for place, column in enumerate(group.columns) if column]
                parts.append(Part(taken(group.ridge), [column - 1 for column, _ in named],
                                  [place for _, place in named]))
        return cls(table, [part for part in parts if part.inside], learner.layer,
                   learner.options.ridge, learner.mass / max(learner.samples, 1),
                   learner.options.forgetting, learner.samples)


class LearntRows(NamedTuple):
    """Samples that were learnt, one row or entry each."""

    hidden: Array  # (n, size)
    targets: Targets  # (n, labels)
    own: _Places  # the neuron that is centred on the sample; -1: none
    born: _Places  # how many samples had been learnt; matters with forgetting only
    times: _Places  # how often it was learnt


def left_out(solution: Solution, rows: LearntRows) -> LeftOut:
    """Return the scores of learnt rows, each as if it had been left out.

    Without its sample, a score is y - (y - score) / (1 - hMh). A label that the sample leaves
    unknown has learnt nothing from it. A neuron around the sample is left out with it, unless the
    same sample was learnt again: no sample to come finds a neuron exactly at its own place.
    """
    hidden = rows.hidden
    weights = solution.forgetting ** np.maximum(solution.samples - 1.0 - rows.born, 0.0)
    scores: Array = np.empty(rows.targets.shape)
    leverages, shares = solution.ridge.leverages(hidden, rows.own)
    for part in solution.parts:
        own = ((leverages, shares) if part.ridge is solution.ridge
               else part.ridge.leverages(hidden, rows.own))
        scores[:, part.inside] = _left_out_of(solution.layer, part, rows, weights, *own)
    known = known_shares(leverages, np.einsum('ij,ij->i', hidden, hidden),
                         solution.layer.masses(hidden), solution.prior,
                         solution.usual_mass if solution.layer.radial else 0.0)
    return LeftOut(scores, rows.targets, weights * rows.times, known,
                   *left_out_distances(solution.layer, hidden, rows.own, weights * leverages))


def joined(parts: Sequence[LeftOut]) -> LeftOut:
    """Return the parts of a left-out evaluation as one."""
    columns: list[Any] = [np.concatenate(column) for column in zip(*[part[:-1] for part in parts])]
    return LeftOut(*columns)


def _left_out_of(layer: HiddenLayer, part: Part, rows: LearntRows, weights: Array,
                 leverages: Array, shares: Array) -> Array:
    """Return the scores of one part; shares: (Mh)_j of the neuron j around each row."""
    hidden, ridge = rows.hidden, part.ridge
    wanted = rows.targets[:, part.inside].astype(np.float64)
    weights = weights * (wanted != 0.0).any(axis=1)
    left = np.maximum(1.0 - weights * leverages, np.finfo(hidden.dtype).eps)
    outputs = ridge.outputs_of_rows(hidden)[:, part.places].astype(np.float64)
    errors = np.where(wanted == 0.0, 0.0, wanted - outputs)
    scores: Array = np.where(wanted == 0.0, outputs, wanted) - errors / left[:, np.newaxis]
    places = ((rows.own >= 0) & (rows.times == 1)).nonzero()[0]
    if len(places):
        beta, diagonal, shares = _own_neurons(layer, part, hidden[places], rows.own[places],
                                              shares[places])
        # Without the sample M gains w Mh (Mh)^T / left and beta loses w Mh error / left. Then
        # setting the weight of the neuron to zero changes the output by -(h^T M)_j beta_j / M_jj.
        pulls = shares * (weights / left)[places]
        beta -= pulls[:, np.newaxis] * errors[places]
        diagonal += pulls * shares
        scores[places] -= (shares / left[places] / diagonal)[:, np.newaxis] * beta
    return scores


def _own_neurons(layer: HiddenLayer, part: Part, hidden: Array, own: _Places,
                 shares: Array) -> tuple[Array, Array, Array]:
    """Return for the neuron around each row its weights, M_jj and (Mh)_j."""
    ridge = part.ridge
    assert isinstance(layer, RadialNeurons)
    if layer.whitener is None:
        return ridge.beta[own][:, part.places].astype(np.float64), ridge.diagonal(own), shares
    # The weight of neuron j itself is the product of the weights with column j of L^-1.
    basis = np.zeros(hidden.shape, dtype=hidden.dtype)
    basis[:, :layer.neurons] = layer.whitener[:, own].T
    gains = ridge.gains(basis)
    return ((basis @ ridge.beta[:, part.places]).astype(np.float64),
            np.einsum('ij,ji->i', basis, gains).astype(np.float64),
            np.einsum('ij,ji->i', hidden, gains).astype(np.float64))
