# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The set of labels with the greatest expected F1, given their probabilities.

For independent labels it is always the k most probable ones for some k. With S the number of other
labels shown, E[F1] of the first k is the sum over them of p E[2 / (k + 1 + S)], and
E[1 / (c + S)] is the integral of t^(c - 1) E[t^S] from 0 to 1, where E[t^S] is a product over the
labels: a few nodes of Gauss and Legendre give it for every k at once.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.deciding.compiled import compiled
from proemlc_ros.core.solving.blas import Array

_NODES = 10
# Labels that may be in the set; all others count by the sum of their probabilities (Poisson).
CANDIDATES = 48
_LEAST = 0.004
_SURE = 1e-12
# Relative difference below which two expected gains count as equal.
_SAME = 1e-12

Mask = npt.NDArray[np.bool_]


@cache
def _quadrature() -> tuple[Array, Array]:
    """Return 1 - t at the nodes, and their weights times the powers of t (candidates, nodes).

    Not before it is needed: compiled code has its own, and NumPy imports its polynomials.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    points = 0.5 * (nodes + 1.0)
    # Weights for the interval 0 to 1 are half as large; the F1 counts hits twice.
    return 1.0 - points, weights * points ** np.arange(1, CANDIDATES + 1)[:, np.newaxis]


def best_set(probabilities: Array, empty: float, exclusive: bool = False,
             tolerance: float = 0.0) -> list[int]:
    """Return the labels to predict for one sample (labels,), most probable first.

    Args:
        probabilities: of the labels.
        empty: how many times as likely a sample without labels is as independent labels say; 0:
            there is none.
        exclusive: no sample shows more than one label.
        tolerance: of all sizes that lose at most this share of the best F1, the one with the
            fewest expected errors is taken: that nearest to the labels likelier than not.
    """
    columns: list[int]
    if compiled is not None:
        columns = compiled.best_set(np.ascontiguousarray(probabilities), empty, exclusive,
                                    tolerance)
    else:
        chosen = plain_sets(probabilities[np.newaxis], empty, exclusive, tolerance)[0]
        order = (-probabilities).argsort(kind='stable')
        columns = order[chosen[order]].tolist()
    return columns


def best_sets(probabilities: Array, empty: float, exclusive: bool = False,
              tolerance: float = 0.0) -> Mask:
    """Do the same for rows (n, labels); return which labels are predicted."""
    if compiled is None:
        return plain_sets(probabilities, empty, exclusive, tolerance)
    chosen: Mask = np.empty(probabilities.shape, dtype=bool)
    compiled.best_sets(np.ascontiguousarray(probabilities), empty, exclusive, tolerance, chosen)
    return chosen


def plain_sets(probabilities: Array, empty: float, exclusive: bool, tolerance: float) -> Mask:
    """Do the same in NumPy."""
    if not probabilities.shape[1]:
        return np.zeros(probabilities.shape, dtype=bool)
    order = np.argsort(-probabilities, axis=1, kind='stable')[:, :CANDIDATES]
    ranked = np.take_along_axis(probabilities, order, axis=1)
    ranked[:, 1:][ranked[:, 1:] < _LEAST] = 0.0
    if exclusive:
        gains, nothing = _exclusive_gains(ranked), np.ones_like(ranked[:, 0])
    else:
        gains, nothing = _expected_gains(ranked, np.maximum(
            probabilities.sum(axis=1) - ranked.sum(axis=1), 0.0))
    enough = (1.0 - tolerance) * (1.0 - _SAME) * gains.max(axis=1)
    good = gains >= enough[:, np.newaxis]
    likely = (ranked > 0.5).sum(axis=1) - 1
    last = good.shape[1] - 1 - good[:, ::-1].argmax(axis=1)
    best = np.minimum(np.maximum(good.argmax(axis=1), likely), last)
    gain = (1.0 + _SAME) * gains[np.arange(len(gains)), best]
    sizes = np.where((ranked[:, 0] > 0.0) & (gain >= empty * nothing), best + 1, 0)
    chosen = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(ranked.shape[1]) < sizes[:, np.newaxis], axis=1)
    # More labels than were tried: those that are likelier than not belong to them.
    full = sizes == CANDIDATES
    chosen[full] |= probabilities[full] > 0.5
    return chosen


def try_tolerances(probabilities: Array, shown: Mask, weights: Array, empty: float,
                   exclusive: bool, tolerances: Array) -> Array:
    """Return the weighted sums of F1 and of errors of the best sets, (2, tolerances).

    Args:
        probabilities: of the labels (n, labels).
        shown: which labels the samples show.
        weights: of the samples.
        empty: see best_set(); likewise exclusive.
        exclusive: see empty.
        tolerances: to try.
    """
    if compiled is None:
        return plain_tries(probabilities, shown, weights, empty, exclusive, tolerances)
    results: Array = np.empty((2, len(tolerances)))
    compiled.try_tolerances(np.ascontiguousarray(probabilities), np.ascontiguousarray(shown),
                            np.ascontiguousarray(weights), tolerances, results, empty, exclusive)
    return results


def plain_tries(probabilities: Array, shown: Mask, weights: Array, empty: float,
                exclusive: bool, tolerances: Array) -> Array:
    """Do the same in NumPy."""
    results: Array = np.empty((2, len(tolerances)))
    for place, tolerance in enumerate(tolerances.tolist()):
        chosen = plain_sets(probabilities, empty, exclusive, tolerance)
        hits, sizes = (chosen & shown).sum(axis=1), chosen.sum(axis=1) + shown.sum(axis=1)
        results[0, place] = weights @ np.where(sizes, 2.0 * hits / np.maximum(sizes, 1), 1.0)
        results[1, place] = weights @ (sizes - 2 * hits)
    return results


def _exclusive_gains(ranked: Array) -> Array:
    """Return the same where one label excludes the others: by odds, relative to no label."""
    odds = ranked / np.maximum(1.0 - ranked, _SURE)
    gains: Array = odds.cumsum(axis=1) * (2.0 / np.arange(2, ranked.shape[1] + 2))
    return gains


def _expected_gains(ranked: Array, rest: Array) -> tuple[Array, Array]:
    """Return the expected F1 of the first 1, 2, 3 … labels (n, k), and the chance of none (n,)."""
    below, powers = _quadrature()
    factors = 1.0 - ranked[..., np.newaxis] * below
    product = factors.prod(axis=1) * np.exp(-rest[:, np.newaxis] * below)
    shares = (ranked[..., np.newaxis] / factors).cumsum(axis=1)
    gains: Array = np.einsum('nkq,kq,nq->nk', shares, powers[:ranked.shape[1]], product)
    return gains, (1.0 - ranked).prod(axis=1) * np.exp(-rest)
