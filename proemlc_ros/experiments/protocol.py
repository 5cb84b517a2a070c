# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's protocol: folds, and a stream in which the labels come group after group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from proemlc_ros.errors import ParameterError
from proemlc_ros.evaluation.introduction import group_of_samples, parse_pattern


@dataclass(frozen=True)
class Fold:
    """One fold: the training samples in the order of the stream, and the test samples.

    Attributes:
        number: Number of the fold, from 0.
        train: Row numbers, in the order of the stream.
        test: Row numbers.
        first: Samples at the start of the stream that show only labels which every pattern knows
            from the start; they fix the hidden layer.

    """

    number: int
    train: np.ndarray
    test: np.ndarray
    first: int


def common_refinement(patterns: Sequence[str], labels: int) -> list[int]:
    """Return the coarsest pattern that has the group borders of all the given ones.

    >>> common_refinement(['5+1', '4+1+1'], 6)
    [4, 1, 1]
    """
    borders = sorted({border for pattern in patterns
                      for border in accumulate(parse_pattern(pattern, labels))})
    return [high - low for low, high in zip([0, *borders], borders)]


def stream_order(Y: np.ndarray, sizes: list[int], seed: int) -> tuple[np.ndarray, int]:
    """Shuffle samples, then put those with later labels later.

    Returns:
        Row numbers, and how many of them show only labels of the first group.

    """
    order = np.random.default_rng(seed).permutation(len(Y))
    groups = group_of_samples(Y[order], sizes)
    return order[np.argsort(groups, kind='stable')], int(np.count_nonzero(groups == 0))


def mixed_order(Y: np.ndarray, sizes: list[int], seed: int,
                start: float | None = None) -> np.ndarray:
    """Order samples so that earlier labels stay in the stream while later ones come.

    Args:
        Y: Indicators.
        sizes: Labels in each group.
        seed: Seed of the order.
        start: Share of the stream that shows only labels of the first group; the others are
            introduced at equal distances over the rest. None: as long as every other part.

    Returns:
        Row numbers.

    """
    groups = group_of_samples(Y, sizes)
    start = 1.0 / len(sizes) if start is None else start
    later = start + (1.0 - start) * (groups - 1) / max(1, len(sizes) - 1)
    earliest = np.where(groups > 0, later, 0.0)
    keys = earliest + (1.0 - earliest) * np.random.default_rng(seed).random(len(groups))
    return np.argsort(keys, kind='stable')


def make_folds(Y: np.ndarray, patterns: Sequence[str], count: int, seed: int = 0) -> list[Fold]:
    """Split the samples into folds, each with one stream that suits all the patterns.

    Raises:
        ParameterError: There are fewer samples than folds.

    """
    if not 2 <= count <= len(Y):
        raise ParameterError(f'{len(Y)} samples cannot make {count} folds; choose 2 to {len(Y)}')
    sizes = common_refinement(patterns, Y.shape[1])
    parts = np.array_split(np.random.default_rng(seed).permutation(len(Y)), count)
    folds = []
    for number, test in enumerate(parts):
        rest = np.concatenate([part for other, part in enumerate(parts) if other != number])
        order, first = stream_order(Y[rest], sizes, seed + number)
        folds.append(Fold(number, rest[order], test, max(1, first)))
    return folds


def group_starts(Y: np.ndarray, sizes: list[int]) -> list[int]:
    """Return the position in a stream at which each group after the first is introduced."""
    groups = np.maximum.accumulate(group_of_samples(Y, sizes))
    return [int(np.searchsorted(groups, number)) for number in range(1, len(sizes))]
