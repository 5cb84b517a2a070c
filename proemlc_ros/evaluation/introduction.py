# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Label introduction patterns such as "4+1+1": which labels a stream begins with, and adds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.core.metrics.sets import Indicators
from proemlc_ros.errors import IntroductionError

IntegerArray = NDArray[np.intp]


def parse_pattern(pattern: str, labels: int) -> list[int]:
    """Read a label introduction pattern.

    Args:
        pattern: Numbers of labels joined by "+"; the first is known from the start.
        labels: The number of labels they must add up to.

    Returns:
        The numbers.

    Raises:
        IntroductionError: The text is not a pattern, or adds up to another number.

    >>> parse_pattern('4+1+1', 6)
    [4, 1, 1]

    """
    parts = [part.strip() for part in pattern.split('+')]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise IntroductionError(
            f'{pattern!r} is not a label introduction pattern; expected numbers like "4+1+1"')
    sizes = [int(part) for part in parts]
    if sum(sizes) != labels:
        raise IntroductionError(
            f'the pattern {pattern!r} introduces {sum(sizes)} labels, the data set has {labels}')
    return sizes


def group_of_labels(sizes: list[int]) -> IntegerArray:
    """Return for each label the group it is introduced with: [4, 1, 1] gives 0 0 0 0 1 2."""
    groups: IntegerArray = np.repeat(np.arange(len(sizes)), sizes)
    return groups


def group_of_samples(Y: Indicators, sizes: list[int]) -> IntegerArray:
    """Return for each sample the latest group among its labels, before which it cannot come."""
    groups: IntegerArray = np.where(Y, group_of_labels(sizes), 0).max(axis=1)
    return groups


def introduction_order(Y: Indicators, sizes: list[int], seed: int = 0) -> IntegerArray:
    """Order samples so that labels appear group by group, evenly spread over the stream.

    With three groups, the first third of the stream shows only labels of the first group, the
    second third also those of the second, and so on; earlier labels stay in the stream.

    Args:
        Y: Label indicators, one row per sample.
        sizes: The pattern, as parse_pattern() returns it.
        seed: Of the random order.

    Returns:
        Row numbers, a permutation.

    """
    groups = group_of_samples(Y, sizes)
    earliest = groups / len(sizes)
    keys = earliest + (1.0 - earliest) * np.random.default_rng(seed).random(len(groups))
    return np.argsort(keys, kind='stable')
