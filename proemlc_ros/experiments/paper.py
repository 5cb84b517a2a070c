# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The paper: what it prints, and its protocol of folds and label introduction patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from proemlc_ros.errors import ParameterError
from proemlc_ros.evaluation.tables import group_of_samples, parse_pattern

PATTERNS = {
    'scene': ('5+1', '4+1+1'),
    'medical': ('44+1', '39+2+2+1+1', '38+3+4'),
    'corel5k': ('373+1', '368+2+1+1+2'),
}

# The patterns of Figures 1 and 2.
FIGURE_PATTERNS = {'scene': '5+1', 'medical': '39+2+2+1+1', 'corel5k': '368+2+1+1+2'}


class _Characteristics(NamedTuple):
    """A column of Table I."""

    domain: str
    features: int
    samples: int
    labels: int
    density: float
    cardinality: float


TABLE_1 = {
    'scene': _Characteristics('multimedia', 294, 2407, 6, 0.178, 1.07),
    'medical': _Characteristics('text', 1449, 978, 45, 0.027, 1.25),
    'corel5k': _Characteristics('multimedia', 499, 5000, 374, 0.009, 3.52),
}


class Row(NamedTuple):
    """A row of Table II; seconds are those of the authors' machine."""

    hamming_loss: float
    accuracy: float
    precision: float
    recall: float
    f1_paper: float
    training_seconds: float
    test_seconds: float


TABLE_2 = {
    ('scene', '5+1'): Row(0.104, 0.609, 0.627, 0.659, 0.643, 2.266, 0.042),
    ('scene', '4+1+1'): Row(0.139, 0.569, 0.584, 0.699, 0.636, 2.291, 0.080),
    ('medical', '44+1'): Row(0.012, 0.693, 0.740, 0.729, 0.734, 0.604, 0.025),
    ('medical', '39+2+2+1+1'): Row(0.016, 0.653, 0.695, 0.731, 0.712, 0.611, 0.034),
    ('medical', '38+3+4'): Row(0.023, 0.585, 0.622, 0.739, 0.675, 0.614, 0.027),
    ('corel5k', '373+1'): Row(0.010, 0.057, 0.164, 0.059, 0.087, 5.348, 0.044),
    ('corel5k', '368+2+1+1+2'): Row(0.010, 0.055, 0.151, 0.062, 0.088, 5.396, 0.056),
}

# Table IV, training seconds. Its Medical and Corel5k columns are swapped against Table II in the
# paper; here they are where they belong.
TABLE_4: dict[str, dict[str, float]] = {
    'CC': {'scene': 99, 'corel5k': 1125, 'medical': 28},
    'QWML': {'scene': 195, 'corel5k': 2388, 'medical': 40},
    'HOMER': {'scene': 68, 'corel5k': 771, 'medical': 16},
    'ML-C4.5': {'scene': 8, 'corel5k': 369, 'medical': 3},
    'PCT': {'scene': 2, 'corel5k': 30, 'medical': 0.6},
    'ML-kNN': {'scene': 14, 'corel5k': 389, 'medical': 1},
    'ECC': {'scene': 319, 'corel5k': 10073, 'medical': 103},
    'RFML-C4.5': {'scene': 10, 'corel5k': 385, 'medical': 7},
    'RF-PCT': {'scene': 23, 'corel5k': 902, 'medical': 27},
    'Pro-EMLC': {'scene': 2.266, 'corel5k': 5.396, 'medical': 0.611},
}


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


def _common_refinement(patterns: Sequence[str], labels: int) -> list[int]:
    """Return the coarsest pattern that has the group borders of all the given ones.

    >>> _common_refinement(['5+1', '4+1+1'], 6)
    [4, 1, 1]
    """
    borders = sorted({border for pattern in patterns
                      for border in accumulate(parse_pattern(pattern, labels))})
    return [high - low for low, high in zip([0, *borders], borders)]


def _stream_order(Y: np.ndarray, sizes: list[int], seed: int) -> tuple[np.ndarray, int]:
    """Shuffle samples, then put those with later labels later.

    Returns:
        Row numbers, and how many of them show only labels of the first group.
    """
    order = np.random.default_rng(seed).permutation(len(Y))
    groups = group_of_samples(Y[order], sizes)
    return order[np.argsort(groups, kind='stable')], int(np.count_nonzero(groups == 0))


def make_folds(Y: np.ndarray, patterns: Sequence[str], count: int, seed: int = 0) -> list[Fold]:
    """Split the samples into folds, each with one stream that suits all the patterns.

    Raises:
        ParameterError: There are fewer samples than folds.
    """
    if not 2 <= count <= len(Y):
        raise ParameterError(f'{len(Y)} samples cannot make {count} folds; choose 2 to {len(Y)}')
    sizes = _common_refinement(patterns, Y.shape[1])
    parts = np.array_split(np.random.default_rng(seed).permutation(len(Y)), count)
    folds = []
    for number, test in enumerate(parts):
        rest = np.concatenate([part for other, part in enumerate(parts) if other != number])
        order, first = _stream_order(Y[rest], sizes, seed + number)
        folds.append(Fold(number, rest[order], test, max(1, first)))
    return folds


def group_starts(Y: np.ndarray, sizes: list[int]) -> list[int]:
    """Return the position in a stream at which each group after the first is introduced."""
    groups = np.maximum.accumulate(group_of_samples(Y, sizes))
    return [int(np.searchsorted(groups, number)) for number in range(1, len(sizes))]
