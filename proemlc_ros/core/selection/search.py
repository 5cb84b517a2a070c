# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model selection (step 2 of the paper) by exact leave-one-out, without refits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from proemlc_ros.core.compiled import Places
from proemlc_ros.core.deciding.left_out import Fit
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.hidden import HiddenLayer, centre_order
from proemlc_ros.core.metrics import Indicators, indicators
from proemlc_ros.core.options import FITTED_SCALINGS, Options
from proemlc_ros.core.rows import Rows, check_rows, order_by_content, row_norms
from proemlc_ros.core.selection.candidates import (
    CentredNeurons,
    HiddenColumns,
    LabelledSamples,
    Point,
    Selection,
    best_of,
    fit_of_columns,
    fit_of_layer,
    follow,
    hidden_columns,
    options_of,
    points_of,
)
from proemlc_ros.errors import EmptyInputError, LengthMismatchError, ParameterError

RIDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SIZES = (25, 50, 100, 200, 350, 500, 700, 1000)
# Screening uses few samples and neurons and every second ridge, the finalists (nearly) all.
_SCREENING_ROWS, _SCREENING_SIZE = 700, 300
_FINAL_ROWS, _FINALISTS = 2500, 2
# The ridge that a screening begins with, or the nearest one.
_FIRST_RIDGE = 0.01
# Samples of each label that become centres before others.
_OF_EACH_LABEL = 5
# Direct links add one hidden column per feature; beyond this the recursion would crawl.
_MOST_LINKS = 2000
# How far the length of a row may be from one, as float32 leaves it.
_UNIT = 1e-3

# Gaussian answers are nearly dependent and need whitening; the others do well without, which
# saves a product with a square matrix for every sample.
_RADIAL: tuple[dict[str, Any], ...] = tuple(
    {'activation': activation, 'scaling': scaling, 'gamma_scale': gamma_scale, 'bias': True,
     'whiten': activation == 'rbf'}
    for activation, gamma_scale, scalings in (
        ('laplacian', 1.0, ('standard', 'none', 'l2', 'asinh', 'rank')),
        ('rbf', 1.0, ('standard', 'none', 'l2', 'asinh', 'rank')),
        ('kernel_sum', 1.0, ('standard',)))
    for scaling in scalings)

_RANDOM: tuple[dict[str, Any], ...] = tuple(
    {'activation': 'relu', 'scaling': scaling, 'bias': True} for scaling in ('standard', 'l2'))

# The settings that are compared unless others are given; neurons around samples in widths from
# theirs on.
CANDIDATES = _RADIAL + _RANDOM
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)


def select_model(X: object, Y: object, candidates: Iterable[dict[str, Any]] | None = None,
                 sizes: Sequence[int] = SIZES, ridges: Sequence[float] = RIDGES,
                 seed: int = 0, first: int | None = None, links: bool = True) -> Selection:
    """Choose the settings of a model from samples: an initial block, or a training set.

    Every candidate is screened on a part of the samples, in the widths around its own; by the
    squared error of left-out samples, which depends less on a few of them than F1 does. The best
    two are then fitted in all sizes, in the widths and with the ridges around theirs, since more
    neurons may be narrower; the best also whitened and with direct links where these help. Rows of
    length one are embeddings, whose features share one scale: there no candidate scales each
    feature by itself.

    Args:
        X: samples (n, width), NumPy or scipy.sparse.
        Y: indicators (n, labels).
        candidates: settings to choose among, as keywords of ProEMLC; None: CANDIDATES.
        sizes: numbers of hidden neurons, growing.
        ridges: weights of the penalty.
        seed: of the hidden layers.
        first: how many of the first samples may fix the hidden layer; None: all.
        links: whether to try direct links, too.

    Returns:
        All points that were evaluated, and the settings of the best.

    Raises:
        InputError: when X or Y cannot be used.
        ParameterError: when there is nothing to choose among.

    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(60, 2))
    >>> select_model(X, X > 0, sizes=[5, 20]).best.hidden_size in (5, 20)
    True
    """
    rows, truth = _check(X, Y)
    if candidates is not None:
        candidates = [dict(candidate) for candidate in candidates]
    if candidates == [] or not len(sizes) or not len(ridges):
        raise ParameterError('give at least one candidate, one size and one ridge')
    search = Search(LabelledSamples(rows, truth), seed, first)
    return search.run(candidates, sizes, ridges, links)


def has_unit_rows(rows: Rows) -> bool:
    """Return whether all rows are of length one, as those of embeddings are."""
    return bool((np.abs(row_norms(rows) - 1.0) < _UNIT).all())


def for_features(candidates: Iterable[dict[str, Any]], alike: bool) -> list[dict[str, Any]]:
    """Return the candidates that fit the features; alike: they share one scale."""
    return [candidate for candidate in candidates
            if not (alike and (candidate['scaling'] in FITTED_SCALINGS
                               or candidate['activation'] == 'kernel_sum'))]


class Search:
    """Evaluates candidates on parts of the samples, the same part for all.

    Args:
        samples: to select on.
        seed: of the hidden layers.
        first: how many of the first samples may fix the hidden layer; None: all.
        by_label: whether a few samples of each label become centres first; else all at random.
        alike: whether the features share one scale, as where rows are of length one.
    """

    def __init__(self, samples: LabelledSamples, seed: int, first: int | None = None,
                 by_label: bool = False, alike: bool = False) -> None:
        self._samples, self._seed = samples, seed
        self._first = len(samples) if first is None else first
        self._alike = alike or has_unit_rows(samples.rows)
        self._by_label = by_label
        # Distances to centres by settings, since widths and links have them in common; those of
        # the finalists are kept.
        self._neurons: dict[Options, CentredNeurons] = {}
        # By content, which is as good as by chance: neither the order in which samples came nor
        # one sample more or less decides which of the others are looked at.
        self._order = order_by_content(samples.rows)

    def run(self, tried: Sequence[dict[str, Any]] | None, sizes: Sequence[int],
            ridges: Sequence[float], links: bool = True) -> Selection:
        """Screen candidates on few samples, and evaluate the best ones on more.

        tried: the candidates; None: CANDIDATES that fit the features, in several widths.
        """
        ridges = sorted(ridges)
        some = ridges[::2] if len(ridges) > 3 else ridges
        first = min(some, key=lambda ridge: abs(math.log(ridge / _FIRST_RIDGE)))
        size = [min(_SCREENING_SIZE, max(sizes))]
        widths = WIDTHS if tried is None else ()

        def screen(candidate: dict[str, Any], widths: Sequence[float] = ()) -> Point:
            self._neurons.clear()
            start = first if tried is None else None
            return best_of(self._tune(candidate, _SCREENING_ROWS, size, some, start, widths))

        screened = [screen(candidate, widths) for candidate in (
            for_features(CANDIDATES, self._alike) if tried is None else tried)]
        screened.sort(key=_square)
        finalists = screened[:_FINALISTS]
        best = screened[0]
        if tried is None and best.options.radial and not best.options.whiten:
            finalists[0] = best_of([best, screen({**_candidate(best), 'whiten': True})])
        if links:
            linked = [screen(candidate) for candidate in _with_links(
                _candidate(best), self._samples.rows.shape[1])]
            finalists += [point for point in linked if _square(point) < _square(best)]
        self._neurons.clear()
        return Selection([point for best in finalists for point in self._tune(
            _candidate(best), _FINAL_ROWS, sizes, ridges, best.options.ridge, widths)])

    def _tune(self, candidate: dict[str, Any], limit: int, sizes: Sequence[int],
              ridges: Sequence[float], start: float | None,
              widths: Sequence[float]) -> list[Point]:
        """Return the points of a candidate in the best width, and of what led there.

        Args:
            candidate: settings.
            limit: samples to look at.
            sizes: numbers of neurons.
            ridges: weights of the penalty.
            start: the one to begin with; None: all are tried.
            widths: of neurons around samples, tried as long as they get better; empty: no others.
        """
        points = list[Point]()
        if start is not None and candidate.get('gamma_scale') in widths and Options.from_dict(
                candidate).radial:
            points = follow(lambda width: self.evaluate(
                {**candidate, 'gamma_scale': width}, limit, sizes, [start]), widths,
                candidate['gamma_scale'])
            candidate = _candidate(best_of(points))
        return points + self.evaluate(candidate, limit, sizes, ridges, start)

    def evaluate(self, candidate: dict[str, Any], limit: int, sizes: Sequence[int],
                 ridges: Sequence[float], start: float | None = None) -> list[Point]:
        """Return the points of a candidate on that many samples; start: see points_of()."""
        part = np.sort(self._order[:limit])
        first = max(1, int(np.count_nonzero(part < self._first)))
        samples = self._samples.part(part)
        options = options_of(candidate, sizes, self._seed, first)
        return points_of(samples, options, self._columns(samples, options, first), sizes, ridges,
                         start)

    def _columns(self, samples: LabelledSamples, options: Options, first: int) -> HiddenColumns:
        """Return the hidden columns of samples; their distances to centres are found once."""
        order = self._centres(samples.truth[:first])
        if not options.radial:
            return hidden_columns(samples.rows, options, first, order)
        settings = _of_any_width(options)
        if settings not in self._neurons:
            self._neurons[settings] = CentredNeurons.drawn(samples.rows, settings, first, order)
        columns = self._neurons[settings].columns(options)
        return columns.linked(samples.rows) if options.direct_links else columns

    def fit(self, options: Options) -> tuple[HiddenLayer, Fit]:
        """Return the layer of these settings, and its fit to all samples."""
        samples = replace(self._samples, rows=self._samples.rows.astype(options.dtype, copy=False))
        layer = make_layer(options, samples.rows.shape[1], samples.rows,
                           self._centres(samples.truth))
        wanted = _of_any_width(options)
        neurons = next((neurons for settings, neurons in self._neurons.items()
                        if replace(settings, hidden_size=wanted.hidden_size) == wanted), None)
        if neurons is None or len(samples) > _FINAL_ROWS:
            return layer, fit_of_layer(samples, layer, options.ridge)
        columns = neurons.columns(options)
        if options.direct_links:
            columns = columns.linked(samples.rows)
        return layer, fit_of_columns(samples, columns.H[:, :layer.size], columns.centres,
                                     options.ridge)

    def _centres(self, truth: Indicators) -> Places | None:
        """Return in which order samples become centres; None: at random."""
        return centres_of_labels(truth, self._seed) if self._by_label else None


def centres_of_labels(truth: Indicators, seed: int) -> Places:
    """Return an order of samples at random in which a few of each label come first.

    So a label that few of many samples show has neurons that answer to it.

    Args:
        truth: which labels each sample shows (n, labels).
        seed: of the order.
    """
    order = centre_order(seed, len(truth))
    shown = truth[order]
    number = np.where(shown, shown.cumsum(axis=0), len(truth)).min(axis=1, initial=len(truth))
    return order[np.argsort(number > _OF_EACH_LABEL, kind='stable')]


def _of_any_width(options: Options) -> Options:
    """Return the settings that the distances to centres depend on, and usual ones else."""
    return Options(**{name: getattr(options, name) for name in (
        'activation', 'scaling', 'hidden_size', 'gamma', 'bias', 'warmup', 'dtype', 'seed')})


def _square(point: Point) -> float:
    return point.left_out_square


def _candidate(point: Point) -> dict[str, Any]:
    """Return the settings of a point apart from size and ridge."""
    return {name: value for name, value in point.options.as_dict().items()
            if name not in ('hidden_size', 'ridge')}


def _with_links(candidate: dict[str, Any], width: int) -> list[dict[str, Any]]:
    """Return the candidate with direct links added, where the width allows them."""
    if candidate.get('direct_links', False) or width > _MOST_LINKS:
        return []
    return [{**candidate, 'direct_links': True}]


def _check(X: object, Y: object) -> tuple[Rows, Indicators]:
    rows = check_rows(X, None, 'float64')
    truth = indicators(Y)
    if rows.shape[0] != len(truth):
        raise LengthMismatchError(f'X has {rows.shape[0]} rows, Y {len(truth)}; they must agree')
    if not truth.shape[1]:
        raise EmptyInputError('Y has no columns; model selection needs at least one label')
    return rows, truth
