# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Candidates of a model selection: their points, for every size and ridge, and the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from proemlc_ros.core.compiled import Array, Places
from proemlc_ros.core.deciding.decision import best_choice
from proemlc_ros.core.deciding.left_out import Centres, Fit, nested_fits
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.hidden import HiddenLayer, centre_order
from proemlc_ros.core.layer.radial import RadialNeurons
from proemlc_ros.core.metrics import Indicators, f1_example, hamming_loss
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows
from proemlc_ros.errors import ParameterError

# Points this close to the best F1 are as good, for all that the samples can tell. Of them the one
# with the least squared error is chosen, which depends less on a few samples.
_TOLERANCE = 0.01
# What a network may lose of the best F1 to be small.
_SMALL = 0.02
_BAR = 30


@dataclass(frozen=True)
class Point:
    """One size of one candidate with one ridge, and its errors."""

    options: Options
    columns: int
    training_hamming: float
    left_out_hamming: float
    left_out_f1: float
    left_out_square: float
    threshold: float
    minimum: int
    # Squared error of each left-out sample whose labels others show, too; empty: not told.
    squares: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    def lead(self, other: Point) -> float:
        """Return by how many standard errors its squared error is below that of another.

        Both are of the same samples, so that their differences count; 0: not told.
        """
        if not len(self.squares) or len(self.squares) != len(other.squares):
            return 0.0
        gains = other.squares - self.squares
        error = float(gains.std()) / math.sqrt(len(gains))
        return float(gains.mean()) / error if error > 0.0 else 0.0


class Selection:
    """The points of a model selection.

    Attributes:
        points: all of them.
        best_point: the least squared left-out error within 1 % of the best left-out F1.
        small_point: the fewest hidden columns within 2 % of it, for slow machines.
    """

    def __init__(self, points: Sequence[Point]) -> None:
        """Choose the best of the points."""
        if not points:
            raise ParameterError('there are no points to choose among')
        self.points = tuple(points)
        self.best_point = min(self._within(_TOLERANCE),
                              key=lambda point: (point.left_out_square, point.columns))
        self.small_point = min(self._within(_SMALL),
                               key=lambda point: (point.columns, -point.left_out_f1))

    @property
    def best(self) -> Options:
        """The settings of the best point."""
        return self.best_point.options

    def keywords(self) -> dict[str, Any]:
        """Return the best settings as keywords of ProEMLC."""
        return self.best.as_dict()

    def curve(self) -> list[Point]:
        """Return the points over hidden sizes that share all other settings with the best."""
        mine = self._apart_from_size(self.best_point)
        return sorted((point for point in self.points if self._apart_from_size(point) == mine),
                      key=lambda point: point.columns)

    def text(self) -> str:
        """Return the curve of the best settings as a table with bars, for a terminal."""
        curve = self.curve()
        highest = max(max(point.training_hamming, point.left_out_hamming) for point in curve)
        lines = ['hidden  training  left out  F1 left out  Hamming loss (# training, - left out)']
        for point in curve:
            mark = ' <- chosen' if point is self.best_point else ''
            bar = _bar(point.training_hamming, point.left_out_hamming, highest)
            lines.append(f'{point.options.hidden_size:6d}  {point.training_hamming:8.4f}  '
                         f'{point.left_out_hamming:8.4f}  {point.left_out_f1:11.4f}  {bar}{mark}')
        return '\n'.join([*lines, '', self.summary()])

    def summary(self, point: Point | None = None) -> str:
        """Return the choice in one line; point: another one than the best."""
        point = point or self.best_point
        best = point.options
        extras = ''.join(f', {name}' for name in ('direct_links', 'whiten', 'bias')
                         if getattr(best, name))
        return (f'chosen: {best.activation}, {best.hidden_size} hidden, ridge {best.ridge:g}, '
                f'scaling {best.scaling}, gamma_scale {best.gamma_scale:g}{extras}; threshold '
                f'{point.threshold:.3f}, at least {point.minimum} label(s)')

    def _within(self, share: float) -> list[Point]:
        """Return the points that lose at most that share of the best F1."""
        enough = max(point.left_out_f1 for point in self.points) * (1.0 - share)
        return [point for point in self.points if point.left_out_f1 >= enough]

    @staticmethod
    def _apart_from_size(point: Point) -> dict[str, Any]:
        return {**point.options.as_dict(), 'hidden_size': None}


def _bar(training: float, left_out: float, highest: float) -> str:
    """Draw both errors on one line; the longer one shows where it goes on."""
    scale = _BAR / highest if highest > 0.0 else 0.0
    first, second = round(training * scale), round(left_out * scale)
    return '#' * first + '-' * max(0, second - first)


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


class HiddenColumns(NamedTuple):
    """Hidden rows with the neurons last, so that sizes nest.

    Attributes:
        H: the rows (n, columns).
        others: how many columns lead.
        centres: the samples that are centres of neurons; None: none are.
        layer: that they are of.
    """

    H: Array
    others: int
    centres: Centres | None
    layer: HiddenLayer

    def linked(self, rows: Rows) -> HiddenColumns:
        """Return the columns of the same neurons with direct links; rows: the samples."""
        links = self.layer.links(rows).astype(np.float64)
        width = links.shape[1]
        return self._replace(
            H=np.hstack((links, self.H)), others=self.others + width,
            centres=self.centres and self.centres._replace(first=self.centres.first + width))


def try_candidate(rows: Rows, truth: Indicators, candidate: dict[str, Any],
                  sizes: Sequence[int], ridges: Sequence[float], seed: int = 0,
                  first: int | None = None) -> list[Point]:
    """Return the points of one candidate on samples of weight one."""
    first = len(truth) if first is None else first
    options = options_of(candidate, sizes, seed, first)
    return points_of(LabelledSamples(rows, truth), options, hidden_columns(rows, options, first),
                     sizes, ridges)


def options_of(candidate: dict[str, Any], sizes: Sequence[int], seed: int, first: int) -> Options:
    """Return the settings of a candidate with the largest of the sizes that is possible.

    Neurons around samples are as many as the first samples at most.
    """
    options = Options.from_dict({'seed': seed, **candidate})
    return replace(options, hidden_size=min(max(sizes), first) if options.radial else max(sizes))


def points_of(samples: LabelledSamples, options: Options, columns: HiddenColumns,
              sizes: Sequence[int], ridges: Sequence[float],
              start: float | None = None) -> list[Point]:
    """Return the points of one candidate, for every size and ridge.

    Args:
        samples: to learn, and to leave out.
        options: of the candidate, with as many neurons as the columns have.
        columns: of the samples.
        sizes: numbers of hidden neurons, growing.
        ridges: weights of the penalty.
        start: the ridge to begin with; its neighbours follow as long as the squared left-out
            error falls. None: all are tried.
    """
    H, others, centres, _ = columns
    used = sorted({min(size, options.hidden_size) for size in sizes})
    T, factors = samples.targets(), samples.factors()
    H, weighted = H * factors, T * factors
    scored = slice(None, None, -(-len(T) // _RULE_ROWS))
    gram = H.T @ H

    def try_ridge(ridge: float) -> list[Point]:
        fits = nested_fits(H, weighted, ridge, [others + size for size in used], scored, centres,
                           gram)
        return [evaluate_fit(replace(options, hidden_size=fit.columns - others,
                                     ridge=float(ridge)),
                             fit, samples.part(scored), T[scored]) for fit in fits]

    if start is None:
        return [point for ridge in ridges for point in try_ridge(ridge)]
    return follow(try_ridge, sorted(ridges), start)


def follow(attempt: Callable[[float], list[Point]], values: Sequence[float],
           start: float) -> list[Point]:
    """Return the points of a value and its neighbours, one way or the other, until none is better.

    Args:
        attempt: returns the points of a value.
        values: growing.
        start: one of them.
    """
    begin = values.index(start)
    points = attempt(start)
    lowest = first = best_of(points).left_out_square
    for beyond in (values[begin + 1:], values[:begin][::-1]):
        for value in beyond:
            points += (more := attempt(value))
            if best_of(more).left_out_square >= lowest:
                break
            lowest = best_of(more).left_out_square
        if lowest < first:
            break
    return points


def best_of(points: Iterable[Point]) -> Point:
    """Return the point of the least squared left-out error."""
    return min(points, key=lambda point: point.left_out_square)


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
    return fit_of_columns(samples, H, centres, ridge)


def fit_of_columns(samples: LabelledSamples, H: Array, centres: Centres | None,
                   ridge: float) -> Fit:
    """Return the fit of hidden rows of the samples; its scores are weighted as these are."""
    factors = samples.factors()
    fit, = nested_fits(H * factors, samples.targets() * factors, ridge, [H.shape[1]],
                       centres=centres)
    return fit


class CentredNeurons(NamedTuple):
    """Neurons around samples, in any width: the distances are the same in all.

    Attributes:
        layer: in one width.
        distances: of the samples to the centres; see RadialNeurons.kernel_distances().
        places: of the centres among the samples.
    """

    layer: RadialNeurons
    distances: list[Array]
    places: Places

    @classmethod
    def drawn(cls, rows: Rows, options: Options, first: int,
              order: Places | None = None) -> CentredNeurons:
        """Return neurons around some of the first samples; order: see hidden_columns()."""
        order = centre_order(options.seed, first) if order is None else order
        layer = make_layer(replace(options, whiten=False), rows.shape[1], rows[:first], order)
        assert isinstance(layer, RadialNeurons)
        return cls(layer, layer.kernel_distances(rows), order[:layer.neurons])

    def columns(self, options: Options) -> HiddenColumns:
        """Return the columns of these settings, without direct links."""
        layer, neurons = self.layer.varied(options, self.distances, self.places)
        others = int(options.bias)
        H = np.hstack((np.ones((len(neurons), others)), neurons))
        return HiddenColumns(H, others, Centres(others, self.places, layer.whitener), layer)


def hidden_columns(rows: Rows, options: Options, first: int,
                   order: Places | None = None) -> HiddenColumns:
    """Return the columns of a layer whose neurons are drawn from the first samples.

    order: places of the samples that become centres; None: at random.
    """
    if options.radial:
        columns = CentredNeurons.drawn(rows, options, first, order).columns(options)
        return columns.linked(rows) if options.direct_links else columns
    layer = make_layer(options, rows.shape[1], rows[:first], order)
    return HiddenColumns(*_columns(layer, rows), None, layer)


def _columns(layer: HiddenLayer, rows: Rows) -> tuple[Array, int]:
    hidden = layer.rows(rows).astype(np.float64)
    others = layer.size - layer.neurons
    return np.ascontiguousarray(np.roll(hidden, others, axis=1)), others


def evaluate_fit(options: Options, fit: Fit, samples: LabelledSamples, T: Array) -> Point:
    """Return the errors of a fit, by the threshold rule that suits its left-out scores best.

    A label whose only sample is left out cannot be predicted: by the squared error of such samples
    a model is best that predicts nothing. So they do not tell one model from another.
    """
    left_out, fitted = (scores / samples.factors() for scores in (fit.left_out, fit.fitted))
    square = (T - left_out) ** 2
    usual = ~(samples.truth & (samples.truth.sum(axis=0) == 1)).any(axis=1)
    squares = square[usual].mean(axis=1)
    if samples.known is not None:
        square = square[samples.known]
        squares = np.zeros(0)
        left_out, fitted = (np.where(samples.known, scores, -np.inf)
                            for scores in (left_out, fitted))
    rule = best_choice(left_out, samples.truth)
    decided = rule.decide(left_out)
    return Point(options, fit.columns,
                 training_hamming=hamming_loss(samples.truth, rule.decide(fitted)),
                 left_out_hamming=hamming_loss(samples.truth, decided),
                 left_out_f1=f1_example(samples.truth, decided),
                 left_out_square=float(np.mean(square)),
                 threshold=rule.threshold, minimum=rule.at_least, squares=squares)
