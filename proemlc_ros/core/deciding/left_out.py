# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Exact leave-one-out scores of learnt samples, without a refit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.deciding.calibration import LeftOut, Targets
from proemlc_ros.core.deciding.familiarity import known_shares
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.radial import RadialNeurons
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import RecursiveRidge

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner

Places = npt.NDArray[np.intp]


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
    own: Places  # the neuron that is centred on the sample; -1: none
    born: Places  # how many samples had been learnt; matters with forgetting only
    times: Places  # how often it was learnt


def left_out(solution: Solution, rows: LearntRows) -> LeftOut:
    """Return the scores of learnt rows, each as if it had been left out.

    Without its sample, a score is y - (y - score) / (1 - hMh). A neuron around the sample is left
    out with it, unless the same sample was learnt again: no sample to come finds a neuron exactly
    at its own place.
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
    return LeftOut(scores, rows.targets, weights * rows.times, known)


def _left_out_of(layer: HiddenLayer, part: Part, rows: LearntRows, weights: Array,
                 leverages: Array, shares: Array) -> Array:
    """Return the scores of one part; shares: (Mh)_j of the neuron j around each row."""
    hidden, ridge = rows.hidden, part.ridge
    left = np.maximum(1.0 - weights * leverages, np.finfo(hidden.dtype).eps)
    wanted = rows.targets[:, part.inside].astype(np.float64)
    errors = wanted - ridge.outputs_of_rows(hidden)[:, part.places]
    scores: Array = wanted - errors / left[:, np.newaxis]
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


def _own_neurons(layer: HiddenLayer, part: Part, hidden: Array, own: Places,
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
