# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Samples spread over everything seen, in an order of which every beginning is spread as well."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.solving.blas import Array

Places = npt.NDArray[np.int64]


def spread_order(scaled: Array, count: int, seed: int = 0) -> Places:
    """Return the places of samples that are spread over all, by the seeding of k-means++.

    Each is drawn with a probability that grows with its squared distance to the nearest one drawn
    before (Arthur and Vassilvitskii, 2007). So a region that was seen once gets its share beside
    one that was seen a thousand times, and copies of a sample are not drawn twice.

    Args:
        scaled: dense rows, as the hidden layer scales them.
        count: how many to draw, if there are so many.
        seed: of the draws.

    Returns:
        Places of rows, none twice; copies of those drawn come last.
    """
    random = np.random.default_rng(np.random.SeedSequence(seed))
    samples = len(scaled)
    squares = np.einsum('ij,ij->i', scaled, scaled).astype(np.float64)
    # Rounding of |x|^2 - 2 xc + |c|^2 must not make copies look distant.
    noise = 1e-12 * max(1.0, float(squares.max(initial=0.0)))
    place = int(random.integers(samples))
    nearest = np.full(samples, np.inf)
    order: list[int] = []
    for _ in range(min(count, samples)):
        order.append(place)
        distances = squares - 2.0 * (scaled @ scaled[place]) + squares[place]
        np.minimum(nearest, distances, out=nearest)
        nearest[nearest < noise] = 0.0
        nearest[place] = 0.0
        total = nearest.cumsum()
        if total[-1] <= 0.0:
            break
        place = min(int(np.searchsorted(total, random.random() * total[-1], side='right')),
                    samples - 1)
    left = np.setdiff1d(np.arange(samples), order)[:max(0, count - len(order))]
    return np.concatenate([np.array(order, dtype=np.int64), left])


def spread_centres(rows: Rows, scaling: str, count: int, seed: int = 0) -> Places:
    """Return the places of samples that are to be centres of neurons behind this scaling.

    Args:
        rows: samples; sparse ones are drawn at random, since all of them are far from each other.
        scaling: kind of the scaling, which is fitted to these samples.
        count: how many to draw, if there are so many.
        seed: of the draws.
    """
    if is_sparse(rows):
        order: Places = np.random.default_rng(seed).permutation(rows.shape[0])[:count]
        return order
    fitted = Scaling.fit(scaling, rows.shape[1], rows, 'float64')
    return spread_order(fitted.apply(rows.astype(np.float64, copy=False)), count, seed)
