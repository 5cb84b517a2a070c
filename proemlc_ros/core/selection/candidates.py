# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One candidate of a model selection: its points, for every size and ridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proemlc_ros.core.deciding.thresholds import best_choice
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.radial import RadialNeurons, centre_order
from proemlc_ros.core.layer.spreading import Places
from proemlc_ros.core.metrics.sets import Indicators, f1_example, hamming_loss
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.selection.leave_one_out import Array, Centres, Fit, nested_fits
from proemlc_ros.core.selection.result import Point

# The threshold rule settles on fewer samples than the weights need.
_RULE_ROWS = 1250


@dataclass(frozen=True)
class LabelledSamples:
    """Samples to select on.

    A row that stands for several samples is learnt and left out together with all of them.

    Attributes:
        rows: (n, width).
        truth: which labels each shows (n, labels).
        weights: for how many samples each row stands (n,); None: for one.
        known: whether it is known that a label is shown, or not (n, labels); None: it is.
    """

    rows: Rows
    truth: Indicators
    weights: Array | None = None
    known: Indicators | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.truth)

    def part(self, places: Places | slice) -> LabelledSamples:
        """Return some of the rows."""
        return LabelledSamples(self.rows[places], self.truth[places],
                               None if self.weights is None else self.weights[places],
                               None if self.known is None else self.known[places])

    def targets(self) -> Array:
        """Return the targets (n, labels): 1 and -1; where unknown, the mean of the known ones."""
        T: Array = np.where(self.truth, 1.0, -1.0)
        if self.known is not None:
            sums, counts = np.where(self.known, T, 0.0).sum(axis=0), self.known.sum(axis=0)
            T = np.where(self.known, T, sums / np.maximum(counts, 1))
        return T

    def factors(self) -> Array:
        """Return what hidden rows and targets are multiplied by, so that the weights count."""
        if self.weights is None:
            return np.ones((len(self), 1))
        return np.asarray(np.sqrt(self.weights)[:, np.newaxis])


def try_candidate(rows: Rows, truth: Indicators, candidate: dict[str, Any],
                  sizes: Sequence[int], ridges: Sequence[float], seed: int = 0,
                  first: int | None = None) -> list[Point]:
    """Return the points of one candidate on samples of weight one."""
    return points_of(LabelledSamples(rows, truth), candidate, sizes, ridges, seed, first)


def points_of(samples: LabelledSamples, candidate: dict[str, Any], sizes: Sequence[int],
              ridges: Sequence[float], seed: int = 0, first: int | None = None,
              order: Places | None = None) -> list[Point]:
    """Return the points of one candidate, for every size and ridge.

    Args:
        samples: to learn, and to leave out.
        candidate: settings, as keywords of ProEMLC.
        sizes: numbers of hidden neurons, growing.
        ridges: weights of the penalty.
        seed: of the hidden layer.
        first: how many of the first samples may fix the layer; None: all.
        order: places of the samples that become centres; None: at random.
    """
    first = len(samples) if first is None else first
    used = usable_sizes(sizes, first, candidate)
    options = Options.from_dict({'seed': seed, **candidate, 'hidden_size': used[-1]})
    H, others, centres = hidden_columns(samples.rows, options, first, order)
    T, factors = samples.targets(), samples.factors()
    H, weighted = H * factors, T * factors
    scored = slice(None, None, -(-len(T) // _RULE_ROWS))
    gram = H.T @ H
    points = []
    for ridge in ridges:
        for fit in nested_fits(H, weighted, ridge, [others + size for size in used], scored,
                               centres, gram):
            settings = replace(options, hidden_size=fit.columns - others, ridge=float(ridge))
            points.append(evaluate_fit(settings, fit, samples.part(scored), T[scored]))
    return points


def point_of_layer(samples: LabelledSamples, layer: HiddenLayer, options: Options) -> Point:
    """Return the point of a layer that exists already."""
    return evaluate_fit(options, fit_of_layer(samples, layer, options.ridge), samples,
                        samples.targets())


def fit_of_layer(samples: LabelledSamples, layer: HiddenLayer, ridge: float) -> Fit:
    """Return the fit of an existing layer to samples; its scores are weighted as the rows are."""
    H, others = _columns(layer, samples.rows)
    centres = None
    if isinstance(layer, RadialNeurons):
        centres = Centres(others, layer.places_of_centres(samples.rows), layer.whitener)
    factors = samples.factors()
    fit, = nested_fits(H * factors, samples.targets() * factors, ridge, [H.shape[1]],
                       centres=centres)
    return fit


def usable_sizes(sizes: Sequence[int], first: int, candidate: dict[str, Any]) -> list[int]:
    """Return the sizes that are possible: neurons around samples are as many as these at most."""
    limit = first if Options.from_dict(candidate).radial else max(sizes)
    return sorted({min(size, limit) for size in sizes})


def hidden_columns(rows: Rows, options: Options, first: int,
                   order: Places | None = None) -> tuple[Array, int, Centres | None]:
    """Return hidden rows with the neurons last, so that sizes nest.

    Returns:
        The rows, how many columns lead, and the samples that are centres of neurons.
    """
    layer = make_layer(options, rows.shape[1], rows[:first], order)
    H, others = _columns(layer, rows)
    if not isinstance(layer, RadialNeurons):
        return H, others, None
    order = centre_order(options.seed, first) if order is None else order
    return H, others, Centres(others, order[:layer.neurons], layer.whitener)


def _columns(layer: HiddenLayer, rows: Rows) -> tuple[Array, int]:
    hidden = layer.rows(rows).astype(np.float64)
    others = layer.size - layer.neurons
    return np.ascontiguousarray(np.roll(hidden, others, axis=1)), others


def evaluate_fit(options: Options, fit: Fit, samples: LabelledSamples, T: Array) -> Point:
    """Return the errors of a fit, by the threshold rule that suits its left-out scores best."""
    left_out, fitted = (scores / samples.factors() for scores in (fit.left_out, fit.fitted))
    square = (T - left_out) ** 2
    if samples.known is not None:
        square = square[samples.known]
        left_out, fitted = (np.where(samples.known, scores, -np.inf)
                            for scores in (left_out, fitted))
    rule = best_choice(left_out, samples.truth)
    decided = rule.decide(left_out)
    return Point(options, fit.columns,
                 training_hamming=hamming_loss(samples.truth, rule.decide(fitted)),
                 left_out_hamming=hamming_loss(samples.truth, decided),
                 left_out_f1=f1_example(samples.truth, decided),
                 left_out_square=float(np.mean(square)),
                 threshold=rule.threshold, minimum=rule.at_least)
