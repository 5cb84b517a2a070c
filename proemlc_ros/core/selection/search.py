# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model selection (step 2 of the paper) by exact leave-one-out, without refits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from proemlc_ros.core.layer.spreading import Places, spread_centres
from proemlc_ros.core.metrics.sets import Indicators, indicators
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, check_rows, order_by_content
from proemlc_ros.core.selection.candidates import LabelledSamples, points_of
from proemlc_ros.core.selection.result import Point, Selection
from proemlc_ros.errors import EmptyInputError, LengthMismatchError, ParameterError

RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SIZES = (25, 50, 100, 200, 350, 500, 700, 1000)
# Screening uses few samples and neurons, the finalists (nearly) all.
_SCREENING_ROWS, _SCREENING_SIZE = 700, 300
_FINAL_ROWS, _FINALISTS = 2500, 2
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
    tried = [dict(candidate) for candidate in (CANDIDATES if candidates is None else candidates)]
    if not tried or not len(sizes) or not len(ridges):
        raise ParameterError('give at least one candidate, one size and one ridge')
    search = Search(LabelledSamples(rows, truth), seed, first)
    return search.run(tried, sizes, ridges, links)


class Search:
    """Evaluates candidates on parts of the samples, the same part for all.

    Args:
        samples: to select on.
        seed: of the hidden layers.
        first: how many of the first samples may fix the hidden layer; None: all.
        spread: whether centres are spread over the samples; else they are drawn at random.
    """

    def __init__(self, samples: LabelledSamples, seed: int, first: int | None = None,
                 spread: bool = False) -> None:
        self._samples, self._seed = samples, seed
        self._first = len(samples) if first is None else first
        self._orders: dict[tuple[str, int], Places] | None = {} if spread else None
        # By content, which is as good as by chance: neither the order in which samples came nor
        # one sample more or less decides which of the others are looked at.
        self._order = order_by_content(samples.rows)

    def run(self, tried: Sequence[dict[str, Any]], sizes: Sequence[int],
            ridges: Sequence[float], links: bool = True) -> Selection:
        """Screen all candidates on few samples, and evaluate the best ones on more."""
        size = [min(_SCREENING_SIZE, max(sizes))]
        screened = [(max(self.evaluate(candidate, _SCREENING_ROWS, size, ridges),
                         key=lambda point: point.left_out_f1), candidate) for candidate in tried]
        screened.sort(key=lambda pair: pair[0].left_out_f1, reverse=True)
        points = [point for best, candidate in screened[:_FINALISTS] for point in self.evaluate(
            candidate, _FINAL_ROWS, sizes, _near(best.options.ridge, ridges))]
        width = self._samples.rows.shape[1]
        for candidate in _with_links(screened[0][1], width) if links else ():
            # Links change how much penalty is needed, so that screening does not tell.
            points += self.evaluate(candidate, _FINAL_ROWS, sizes, ridges)
        return Selection(points)

    def evaluate(self, candidate: dict[str, Any], limit: int, sizes: Sequence[int],
                 ridges: Sequence[float]) -> list[Point]:
        """Return the points of a candidate on that many samples."""
        part = np.sort(self._order[:limit])
        first = max(1, int(np.count_nonzero(part < self._first)))
        samples = self._samples.part(part)
        order = self._spread(candidate, samples.rows[:first], limit, max(sizes))
        return points_of(samples, candidate, sizes, ridges, self._seed, first, order)

    def _spread(self, candidate: dict[str, Any], rows: Rows, limit: int,
                count: int) -> Places | None:
        """Return the samples that become centres, the same for all candidates of one scaling."""
        if self._orders is None:
            return None
        key = candidate.get('scaling', Options().scaling), limit
        if key not in self._orders:
            self._orders[key] = spread_centres(rows, key[0], max(count, _SCREENING_SIZE),
                                               self._seed)
        return self._orders[key]


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


def _check(X: object, Y: object) -> tuple[Rows, Indicators]:
    rows = check_rows(X, None, 'float64')
    truth = indicators(Y)
    if rows.shape[0] != len(truth):
        raise LengthMismatchError(f'X has {rows.shape[0]} rows, Y {len(truth)}; they must agree')
    if not truth.shape[1]:
        raise EmptyInputError('Y has no columns; model selection needs at least one label')
    return rows, truth
