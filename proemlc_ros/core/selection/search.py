# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model selection (step 2 of the paper) by exact leave-one-out, without refits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.radial import RadialNeurons, centre_order
from proemlc_ros.core.metrics.sets import Indicators, f1_example, hamming_loss, indicators
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, check_rows
from proemlc_ros.core.selection.leave_one_out import Array, Centres, Fit, nested_fits
from proemlc_ros.core.selection.result import Point, Selection
from proemlc_ros.core.thresholds import best_choice
from proemlc_ros.errors import EmptyInputError, LengthMismatchError, ParameterError

RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SIZES = (25, 50, 100, 200, 350, 500, 700, 1000)
# Screening uses few samples and neurons, the finalists (nearly) all.
_SCREENING_ROWS, _SCREENING_SIZE = 700, 300
_FINAL_ROWS, _FINALISTS = 2500, 2
# The threshold rule settles on fewer samples than the weights need.
_RULE_ROWS = 1250
# Direct links add one hidden column per feature; beyond this the recursion would crawl.
_MOST_LINKS = 2000

# Gaussian answers are nearly dependent and need whitening; Laplacian ones do well without, which
# saves a product with a square matrix for every sample.
_RADIAL: tuple[dict[str, Any], ...] = tuple(
    {'activation': activation, 'scaling': scaling, 'gamma_scale': gamma_scale, 'bias': True,
     'whiten': activation == 'rbf'}
    for activation, gamma_scales in (('laplacian', (0.25, 0.5, 1.0)), ('rbf', (0.5, 1.0)))
    for scaling in ('standard', 'none', 'l2') for gamma_scale in gamma_scales)

_RANDOM: tuple[dict[str, Any], ...] = tuple(
    {'activation': 'relu', 'scaling': scaling, 'bias': True} for scaling in ('standard', 'l2'))

# The settings that are compared unless others are given.
CANDIDATES = _RADIAL + _RANDOM


def select_model(X: object, Y: object, candidates: Iterable[dict[str, Any]] | None = None,
                 sizes: Sequence[int] = SIZES, ridges: Sequence[float] = RIDGES,
                 seed: int = 0, first: int | None = None, links: bool = True) -> Selection:
    """Choose the settings of a model from samples: an initial block, or a training set.

    Every candidate is screened on a part of the samples; the best few are then fitted in all sizes
    and with all ridges, the best also with direct links. Each point is scored by the example F1
    that its learnt threshold rule reaches on scores of left-out samples.

    Args:
        X: samples (n, width), NumPy or scipy.sparse.
        Y: indicators (n, labels).
        candidates: settings to choose among, as keywords of ProEMLC; None: CANDIDATES.
        sizes: numbers of hidden neurons, growing.
        ridges: weights of the penalty.
        seed: of the hidden layers, and of the samples that are used.
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
    tried = [dict(candidate) for candidate in (CANDIDATES if candidates is None else candidates)]
    if not tried or not len(sizes) or not len(ridges):
        raise ParameterError('give at least one candidate, one size and one ridge')
    search = _Search(rows, truth, seed, rows.shape[0] if first is None else first)
    size = [min(_SCREENING_SIZE, max(sizes))]
    screened = [(max(search.evaluate(candidate, _SCREENING_ROWS, size, ridges),
                     key=lambda point: point.left_out_f1), candidate) for candidate in tried]
    screened.sort(key=lambda pair: pair[0].left_out_f1, reverse=True)
    points = [point for best, candidate in screened[:_FINALISTS] for point in search.evaluate(
        candidate, _FINAL_ROWS, sizes, _near(best.options.ridge, ridges))]
    for candidate in _with_links(screened[0][1], rows.shape[1]) if links else ():
        # Links change how much penalty is needed, so that screening does not tell.
        points += search.evaluate(candidate, _FINAL_ROWS, sizes, ridges)
    return Selection(points)


class _Search:
    """Evaluates candidates on parts of the samples, the same part for all."""

    def __init__(self, rows: Rows, truth: Indicators, seed: int, first: int) -> None:
        self._rows, self._truth, self._seed, self._first = rows, truth, seed, first
        self._order = np.random.default_rng(seed).permutation(rows.shape[0])

    def evaluate(self, candidate: dict[str, Any], limit: int, sizes: Sequence[int],
                 ridges: Sequence[float]) -> list[Point]:
        """Return the points of a candidate on that many samples."""
        part = np.sort(self._order[:limit])
        layer_rows = max(1, int(np.count_nonzero(part < self._first)))
        return try_candidate(self._rows[part], self._truth[part], candidate, sizes, ridges,
                             self._seed, layer_rows)


def _with_links(candidate: dict[str, Any], width: int) -> list[dict[str, Any]]:
    """Return the candidate with direct links added, where the width allows them."""
    if candidate.get('direct_links', False) or width > _MOST_LINKS:
        return []
    return [{**candidate, 'direct_links': True}]


def _near(ridge: float, ridges: Sequence[float]) -> list[float]:
    """Return the ridges next to one, and itself."""
    growing = sorted(ridges)
    place = growing.index(ridge)
    return growing[max(0, place - 1):place + 2]


def try_candidate(rows: Rows, truth: Indicators, candidate: dict[str, Any],
                  sizes: Sequence[int], ridges: Sequence[float], seed: int = 0,
                  first: int | None = None) -> list[Point]:
    """Return the points of one candidate, for every size and ridge."""
    first = rows.shape[0] if first is None else first
    used = usable_sizes(sizes, first, candidate)
    options = Options.from_dict({'seed': seed, **candidate, 'hidden_size': used[-1]})
    H, others, centres = hidden_columns(rows, options, first)
    T: Array = np.where(truth, 1.0, -1.0)
    scored = slice(None, None, -(-len(T) // _RULE_ROWS))
    gram = H.T @ H
    points = []
    for ridge in ridges:
        for fit in nested_fits(H, T, ridge, [others + size for size in used], scored,
                               centres, gram):
            settings = replace(options, hidden_size=fit.columns - others, ridge=float(ridge))
            points.append(_evaluate(settings, fit, T[scored], truth[scored]))
    return points


def usable_sizes(sizes: Sequence[int], first: int, candidate: dict[str, Any]) -> list[int]:
    """Return the sizes that are possible: neurons around samples are as many as these at most."""
    limit = first if Options.from_dict(candidate).radial else max(sizes)
    return sorted({min(size, limit) for size in sizes})


def hidden_columns(rows: Rows, options: Options,
                   first: int) -> tuple[Array, int, Centres | None]:
    """Return hidden rows with the neurons last, so that sizes nest.

    Returns:
        The rows, how many columns lead, and the samples that are centres of neurons.
    """
    layer = make_layer(options, rows.shape[1], rows[:first])
    hidden = layer.rows(rows).astype(np.float64)
    others = layer.size - layer.neurons
    centres = None
    if isinstance(layer, RadialNeurons):
        centres = Centres(others, centre_order(options.seed, first)[:layer.neurons],
                          layer.whitener)
    return np.ascontiguousarray(np.roll(hidden, others, axis=1)), others, centres


def _evaluate(options: Options, fit: Fit, T: Array, truth: Indicators) -> Point:
    rule = best_choice(fit.left_out, truth)
    decided = rule.decide(fit.left_out)
    return Point(options, fit.columns,
                 training_hamming=hamming_loss(truth, rule.decide(fit.fitted)),
                 left_out_hamming=hamming_loss(truth, decided),
                 left_out_f1=f1_example(truth, decided),
                 left_out_square=float(np.mean((T - fit.left_out) ** 2)),
                 threshold=rule.threshold, minimum=rule.at_least)


def _check(X: object, Y: object) -> tuple[Rows, Indicators]:
    rows = check_rows(X, None, 'float64')
    truth = indicators(Y)
    if rows.shape[0] != len(truth):
        raise LengthMismatchError(f'X has {rows.shape[0]} rows, Y {len(truth)}; they must agree')
    if not truth.shape[1]:
        raise EmptyInputError('Y has no columns; model selection needs at least one label')
    return rows, truth
