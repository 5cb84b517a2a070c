# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Exact leave-one-out scores of learnt samples, without a refit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.deciding.calibration import LeftOut, Targets
from proemlc_ros.core.familiarity import known_shares
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.radial import RadialNeurons
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import RecursiveRidge

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner


class Solution(NamedTuple):
    """What left-out scores follow from: a learner's solution at one instant."""

    ridge: RecursiveRidge  # settled
    layer: HiddenLayer
    prior: float  # the ridge
    usual_mass: float  # |neurons|^2 of a learnt sample on average
    forgetting: float
    samples: int

    @classmethod
    def of(cls, learner: Learner, copied: bool) -> Solution:
        """Return the solution of a learner; copied: it is wanted while the learner goes on."""
        learner.ridge.settle()
        return cls(learner.ridge.copy() if copied else learner.ridge, learner.layer,
                   learner.options.ridge, learner.mass / max(learner.samples, 1),
                   learner.options.forgetting, learner.samples)


def left_out(solution: Solution, hidden: Array, targets: Targets, own: npt.NDArray[np.intp],
             born: npt.NDArray[np.intp], times: npt.NDArray[np.intp]) -> LeftOut:
    """Return the scores of learnt rows, each as if it had been left out.

    Without its sample, a score is y - (y - score) / (1 - hMh). A neuron around the sample is left
    out with it, unless the same sample was learnt again: no sample to come finds a neuron exactly
    at its own place.

    Args:
        solution: has learnt them.
        hidden: their hidden rows (n, size).
        targets: (n, labels).
        own: for each row the neuron that is centred on it, -1: none.
        born: for each row how many samples had been learnt; matters with forgetting only.
        times: how often each was learnt.
    """
    ridge = solution.ridge
    gains = ridge.gains(hidden)
    leverages = np.einsum('ij,ji->i', hidden, gains).astype(np.float64)
    weights = solution.forgetting ** np.maximum(solution.samples - 1.0 - born, 0.0)
    left = np.maximum(1.0 - weights * leverages, np.finfo(hidden.dtype).eps)
    wanted = targets.astype(np.float64)
    errors = wanted - ridge.outputs_of_rows(hidden)[:, 1:]
    scores: Array = wanted - errors / left[:, np.newaxis]
    rows = np.flatnonzero((own >= 0) & (times == 1))
    if len(rows):
        _leave_out_neurons(solution, scores, gains, errors, left, weights, rows, own[rows])
    squares = np.einsum('ij,ij->i', hidden, hidden)
    known = known_shares(leverages, squares, solution.layer.masses(hidden), solution.prior,
                         solution.usual_mass if solution.layer.radial else 0.0)
    return LeftOut(scores, targets, weights * times, known)


def _leave_out_neurons(solution: Solution, scores: Array, gains: Array, errors: Array, left: Array,
                       weights: Array, rows: npt.NDArray[np.intp],
                       own: npt.NDArray[np.intp]) -> None:
    """Take each sample's own neuron out of its left-out scores, in place.

    Without the sample M gains w Mh (Mh)^T / left and beta loses w Mh error / left. Then setting
    the weight of the neuron to zero changes the output by -(h^T M)_j beta_j / M_jj.
    """
    ridge, layer = solution.ridge, solution.layer
    assert isinstance(layer, RadialNeurons)
    if layer.whitener is None:
        diagonal = (ridge.scale * ridge.matrix[own, own]).astype(np.float64)
        shares = gains[own, rows].astype(np.float64)
        beta = ridge.beta[own, 1:].astype(np.float64)
    else:
        # The weight of neuron j itself is the product of the weights with column j of L^-1.
        basis = np.zeros((len(rows), ridge.size), dtype=gains.dtype)
        basis[:, :layer.neurons] = layer.whitener[:, own].T
        diagonal = np.einsum('ij,ji->i', basis, ridge.gains(basis)).astype(np.float64)
        shares = np.einsum('ij,ji->i', basis, gains[:, rows]).astype(np.float64)
        beta = (basis @ ridge.beta[:, 1:]).astype(np.float64)
    pulls = shares * (weights / left)[rows]
    beta -= pulls[:, np.newaxis] * errors[rows]
    diagonal += pulls * shares
    scores[rows] -= (shares / left[rows] / diagonal)[:, np.newaxis] * beta
