# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bursts of nearly equal samples: a robot that stands still sees the same thing again and again.

A sample that is left out while its copies are learnt says nothing about samples to come, and a
scene seen a hundred times is no reason for a hundred neurons. So a burst counts as one sample,
which weighs as many as it has: it is left out as a whole, and scaling and centres see it once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.layer.spreading import Places, spread_order
from proemlc_ros.core.rows import Rows, is_sparse, order_by_content
from proemlc_ros.core.solving.blas import Array

# Samples nearer than this share of the usual distance are copies. Neighbours of shuffled data are
# rarely nearer than 0.3, frames of one scene rarely further than 0.1.
NEAR = 0.2
# Bursts that may go on at a time, as when two things are shown in turn.
_OPEN = 8
# Share of samples that may be near their predecessors by chance: so few are no bursts.
_BY_CHANCE = 0.01
# How many times as often samples that come in bursts are near their predecessors as near others of
# their labels; where these are mostly near each other, too, a part of them counts all the same.
_LIKELIER, _MOST = 2.0, 0.45
# Spread samples whose distances to each other are the usual ones.
_USUAL_OF = 100


class Bursts(NamedTuple):
    """Which samples stand for their bursts.

    Attributes:
        places: of these samples, rising.
        sizes: of their bursts.
    """

    places: Places
    sizes: npt.NDArray[np.float64]


def find_bursts(rows: Rows, labels: Sequence[Hashable], near: float = NEAR) -> Bursts:
    """Find the bursts in a stream of samples.

    A sample belongs to the burst of an earlier one that is near it, came shortly before and has
    the same labels. Where only few are near their predecessors, or no more than the labels alone
    explain, there are no bursts, or the order of a table, shuffled or sorted, would decide on
    them. Sparse samples are each taken for themselves.

    Args:
        rows: samples, in the order in which they came.
        labels: of each.
        near: share of the usual distance below which samples are copies.
    """
    count = rows.shape[0]
    if is_sparse(rows) or count < 3:
        return Bursts(np.arange(count), np.ones(count))
    scaled = Scaling.fit('standard', rows.shape[1], rows, 'float64').apply(
        rows.astype(np.float64, copy=False))
    by_content = order_by_content(rows)
    limit = (near * _usual_distance(scaled[by_content])) ** 2
    if not _comes_in_bursts(scaled, labels, limit, by_content):
        return Bursts(np.arange(count), np.ones(count))
    leaders: list[int] = []
    sizes: list[int] = []
    for place in range(count):
        # The burst that the previous sample belongs to is the likeliest, and last in the list.
        found = _find(scaled, labels, place, leaders[:-_OPEN - 1:-1], limit)
        if found is None:
            leaders.append(place)
            sizes.append(1)
        else:
            sizes[len(leaders) - 1 - found] += 1
    return Bursts(np.array(leaders), np.array(sizes, dtype=np.float64))


def _comes_in_bursts(scaled: Array, labels: Sequence[Hashable], limit: float,
                     by_content: Places) -> bool:
    """Tell whether samples are near their predecessors because of the order in which they came."""
    count = len(scaled)
    numbers: dict[Hashable, int] = {}
    kinds = np.array([numbers.setdefault(label, len(numbers)) for label in labels])
    near, alike = _near_predecessor(scaled, kinds, limit)
    # The same samples sorted by their labels; shuffled first, as by content copies are together.
    mixed = by_content[np.random.default_rng(0).permutation(count)]
    mixed = mixed[np.argsort(kinds[mixed], kind='stable')]
    near_others, others = _near_predecessor(scaled[mixed], kinds[mixed], limit)
    explained = np.minimum(near_others / np.maximum(others, 1), _MOST) * alike
    excess = float(np.maximum(near - _LIKELIER * explained, 0.0).sum())
    return excess >= max(2, _BY_CHANCE * count)


def _near_predecessor(scaled: Array, kinds: Places, limit: float) -> tuple[Places, Places]:
    """Return for each kind how many are near the one before, of the same kind; of how many."""
    alike = kinds[1:] == kinds[:-1]
    steps = np.diff(scaled, axis=0)[alike]
    near = np.einsum('ij,ij->i', steps, steps) < limit
    most, of_kind = int(kinds.max()) + 1, kinds[1:][alike]
    return np.bincount(of_kind[near], minlength=most), np.bincount(of_kind, minlength=most)


def _find(scaled: Array, labels: Sequence[Hashable], place: int, leaders: list[int],
          limit: float) -> int | None:
    """Return which of the leaders the sample is a copy of; None: of none."""
    for number, leader in enumerate(leaders):
        if labels[leader] == labels[place]:
            difference = scaled[place] - scaled[leader]
            if float(difference @ difference) < limit:
                return number
    return None


def _usual_distance(scaled: Array) -> float:
    """Return the median distance between samples that are spread over all."""
    chosen = scaled[spread_order(scaled, _USUAL_OF)]
    squares = np.einsum('ij,ij->i', chosen, chosen)
    between = (squares[:, np.newaxis] + squares - 2.0 * chosen @ chosen.T)[
        np.triu_indices(len(chosen), 1)]
    return float(np.sqrt(max(0.0, np.median(between))))
