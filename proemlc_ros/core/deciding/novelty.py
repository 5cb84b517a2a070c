# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Novelty: the percentile of an input's strangeness among that of learnt samples, each left out.

An input is strange that is far from everything learnt, in the scaling of the model, and that no
label accounts for. A novelty of 0.95 means: stranger than 95 % of what was taught. Percentiles are
as sure as there are views: a hundred frames of one thing are one view, and say little of the next.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.calibration import LeftOut, Mask
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.radial import RadialNeurons

# Knots of the distribution.
KNOTS = 64
# Left-out samples below which there is no distribution.
_FEW = 8
# Neurons nearer to a learnt sample than this share of the usual distance are around copies of it:
# frames of one scene say nothing of how far away another view of the same thing is.
_COPY = 0.2
# Samples nearer than this share of the distance to the nearest one with other labels are one view.
_VIEW = 0.5
# Share of samples without copies from which only they count.
_ALONE = 0.25
# Of answers and leverages, whose logarithm is taken.
_LEAST = 1e-300


def distance_of(layer: HiddenLayer, hidden: Array, leverage: float) -> float:
    """Return how far a hidden row is from everything learnt.

    Neurons around samples tell the distance to the nearest of them, whitened ones what their span
    leaves of the input; of other neurons, the leverage tells.
    """
    if not layer.radial:
        return math.log(max(leverage, _LEAST))
    neurons = hidden[:layer.neurons]
    if _whitener(layer) is not None:
        return 1.0 - float(neurons.dot(neurons))
    return -math.log(max(float(neurons.max()), _LEAST))


def distances_of(layer: HiddenLayer, hidden: Array, leverages: Array) -> Array:
    """Return distance_of() each row."""
    if not layer.radial:
        return _minus_log(1.0 / np.maximum(leverages.astype(np.float64), _LEAST))
    if _whitener(layer) is not None:
        return 1.0 - layer.masses(hidden).astype(np.float64)
    return _minus_log(hidden[:, :layer.neurons].max(axis=1))


def left_out_distances(layer: HiddenLayer, hidden: Array, own: npt.NDArray[np.intp],
                       leverages: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return the distances of learnt rows, each with its near-copies left out.

    Args:
        layer: of the rows.
        hidden: the rows.
        own: the neuron that is centred on each; -1: none.
        leverages: of the rows, each times its weight.

    Returns:
        Distances and copies, as LeftOut has them.
    """
    copies = np.stack((own, np.full_like(own, -1)), axis=1)
    if not layer.radial:
        left = np.maximum(1.0 - leverages, 1e-9)
        return distances_of(layer, hidden, leverages / left), copies
    assert isinstance(layer, RadialNeurons)
    share = _COPY ** layer.power
    if layer.whitener is None:
        answers = hidden[:, :layer.neurons]
        far = answers < answers.mean(axis=1, keepdims=True) ** share
        nearest = np.where(far, answers, 0.0).max(axis=1)
        near = np.where(far, 0.0, answers)
        near[own >= 0, own[own >= 0]] = 0.0
        copies[:, 1] = np.where(near.any(axis=1), near.argmax(axis=1), -1)
        return np.where(nearest > 0.0, _minus_log(nearest), np.nan), copies
    distances = distances_of(layer, hidden, leverages)
    # What the other centres leave of centre j is 1 / (K^-1)_jj, with K^-1 = L^-T L^-1.
    inside = own >= 0
    centred = layer.whitener[:, own[inside]].astype(np.float64)
    distances[inside] = 1.0 / np.einsum('ij,ij->j', centred, centred)
    far = distances > share * distances.mean()
    copies[~far, 1] = -2
    return np.where(far, distances, np.nan), copies


def look_at_views(layer: HiddenLayer, hidden: Array, evidence: LeftOut) -> LeftOut:
    """Return the evidence of learnt samples by the views that they are of.

    Frames of a thing that moves are near the ones before and after: the half of its view that is
    nearest is left out with a sample. Where near-copies are all that there is of a view, the rest
    is other things, which tell nothing. Where this leaves too few samples that tell, distances
    stay as they are.

    Args:
        layer: of the hidden rows.
        hidden: rows of the samples.
        evidence: of these, with distances left out with near-copies alone.
    """
    own, distances, weights = evidence.copies[:, 0], evidence.distances, evidence.weights
    around = np.flatnonzero(own >= 0)
    if not layer.radial or _whitener(layer) is not None or not len(around):
        return evidence
    assert isinstance(layer, RadialNeurons)
    said = np.unique(evidence.targets, axis=0, return_inverse=True)[1].reshape(-1)
    answers = hidden[:, own[around]].astype(np.float64)
    others = np.where(said[:, np.newaxis] != said[around], answers, 0.0).max(axis=1)
    edge = np.where(others > 0.0, others ** _VIEW ** layer.power, 0.0)
    near = answers > edge[:, np.newaxis]
    near[around, np.arange(len(around))] = True
    views = float((weights / np.maximum(near @ weights[around], weights)).sum())
    shared = np.flatnonzero(near.sum(axis=1) > 2)
    middle = [np.sort(answers[place, near[place]])[(near[place].sum() - 1) // 2]
              for place in shared.tolist()]
    found, reach = distances.copy(), _minus_log(np.array(middle))
    others_only = distances[shared] > _minus_log(edge[shared])
    found[shared] = np.where(others_only, np.nan, np.maximum(distances[shared], reach))
    return evidence._replace(
        views=views, distances=found if _are_enough(np.isfinite(found)) else distances)


def _are_enough(chosen: Mask) -> bool:
    """Return whether only the chosen of the samples count."""
    return bool(np.count_nonzero(chosen) >= max(_FEW, _ALONE * len(chosen)))


def doubt_of(probabilities: Array) -> float:
    """Return how many labels are wrong by expectation where the likeliest set is named.

    At least one label is in it. Something unknown has no likely label, or some of several.
    """
    best = float(probabilities.max(initial=0.0))
    return (float(np.minimum(probabilities, 1.0 - probabilities).sum())
            + max(1.0 - 2.0 * best, 0.0))


def doubts_of(probabilities: Array) -> Array:
    """Return doubt_of() each row."""
    best = probabilities.max(axis=1, initial=0.0)
    doubts: Array = (np.minimum(probabilities, 1.0 - probabilities).sum(axis=1)
                     + np.maximum(1.0 - 2.0 * best, 0.0))
    return doubts


def _whitener(layer: HiddenLayer) -> Array | None:
    return layer.whitener if isinstance(layer, RadialNeurons) else None


def _minus_log(values: Array) -> Array:
    logarithms: Array = -np.log(np.maximum(values.astype(np.float64), _LEAST))
    return logarithms


class NoveltyScale(NamedTuple):
    """The distribution of the strangeness of left-out samples."""

    distance: tuple[float, float]  # mean and deviation of the distances
    doubt: tuple[float, float]  # of the labels expected to be wrong
    weight: float  # of the doubt beside the distance, 0 to 1
    samples: float  # left out, by weight; views of these at most
    deviation: float  # of their strangeness
    knots: tuple[float, ...]  # strangeness at evenly spaced percentiles

    def novelty(self, distance: float, doubt: float) -> float:
        """Return the percentile of a sample, 0 to 1.

        Beyond the strangest of the left-out samples it goes on to rise, towards 1: as fast as an
        exponential tail whose rate is known from that many views only (a Lomax distribution).

        Args:
            distance: to everything learnt.
            doubt: see doubt_of().
        """
        strangeness = self._strangeness(distance, doubt)
        first, step = 1.0 / (self.samples + 1.0), (self.samples - 1.0) / (self.samples + 1.0)
        knots = self.knots
        place = bisect_left(knots, strangeness)
        if place == 0:
            return first * math.exp((strangeness - knots[0]) / self.deviation)
        if place == len(knots):
            beyond = (strangeness - knots[-1]) / self.deviation
            return 1.0 - first * math.pow(1.0 + beyond / self.samples, -self.samples)
        below, above = knots[place - 1], knots[place]
        share = (place - 1 + (strangeness - below) / (above - below)) / (len(knots) - 1)
        return first + step * share

    def novelties(self, distances: Array, doubts: Array) -> Array:
        """Return novelty() of each sample."""
        return np.array([self.novelty(*pair)
                         for pair in zip(distances.tolist(), doubts.tolist())])

    def _strangeness(self, distance: float, doubt: float) -> float:
        (mean, deviation), (usual, spread) = self.distance, self.doubt
        return (distance - mean) / deviation + self.weight * (doubt - usual) / spread

    @classmethod
    def fit(cls, evidence: LeftOut, doubts: Array, weight: float) -> NoveltyScale | None:
        """Return the distribution of left-out samples; None: they are too few.

        A sample of which copies were learnt has probabilities that tell nothing of samples to
        come; where most are of this kind, distances alone count.

        Args:
            evidence: with distances.
            doubts: of each sample; see doubt_of().
            weight: of the doubts, 0 to 1.
        """
        if not len(evidence.distances):
            return None
        usable = np.isfinite(evidence.distances) & (evidence.weights > 0.0)
        own, copied = evidence.copies.T
        # Of copies that have no neurons of their own, the sample that has one is a copy, too.
        alone = usable & (copied == -1) & ((own < 0) | ~np.isin(own, copied))
        if _are_enough(alone):
            usable = alone
        else:
            weight = 0.0
        weights = evidence.weights[usable]
        if len(weights) < _FEW or weights.sum() < _FEW:
            return None
        distances, doubts = evidence.distances[usable], doubts[usable]
        count = float(weights.sum())
        scale = cls(_moments(distances, weights), _moments(doubts, weights), weight,
                    max(min(count, evidence.views), 1.0), 1.0, ())
        strange = np.array([scale._strangeness(*pair)
                            for pair in zip(distances.tolist(), doubts.tolist())])
        order = np.argsort(strange, kind='stable')
        shares = np.cumsum(weights[order]) / count
        wanted = (1.0 + (count - 1.0) * np.linspace(0.0, 1.0, KNOTS)) / count
        knots = np.interp(wanted, shares, strange[order])
        return scale._replace(deviation=_moments(strange, weights)[1], knots=tuple(knots.tolist()))

    def numbers(self) -> Array:
        """Return everything as one array, for storage."""
        return np.array([*self.distance, *self.doubt, self.weight, self.samples, self.deviation,
                         *self.knots])

    @classmethod
    def of_numbers(cls, numbers: Array) -> NoveltyScale:
        """Return the scale that numbers() was called on."""
        mean, deviation, usual, spread, weight, count, tail, *knots = numbers.tolist()
        return cls((mean, deviation), (usual, spread), weight, count, tail, tuple(knots))


def _moments(values: Array, weights: Array) -> tuple[float, float]:
    """Return mean and deviation; the latter above 0."""
    mean = float(np.average(values, weights=weights))
    deviation = math.sqrt(float(np.average((values - mean) ** 2, weights=weights)))
    return mean, max(deviation, 1e-6 * max(abs(mean), 1.0))
