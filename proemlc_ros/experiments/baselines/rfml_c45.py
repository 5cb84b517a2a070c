# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""RFML-C4.5: a random forest of multi-label entropy trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities
from proemlc_ros.experiments.baselines.ml_c45 import shares

TREES = 100
# Leaves store every label's share: with hundreds of labels a hundred trees fill the memory.
TREES_OF_MANY_LABELS, MANY_LABELS = 30, 100


def trees_for(labels: int) -> int:
    """Return the number of trees for so many labels."""
    return TREES if labels <= MANY_LABELS else TREES_OF_MANY_LABELS


class EntropyForest(Baseline):
    """Bagged trees that see a random part of the features at every split."""

    category = 'Decision trees'
    reference = 'Madjarov, Kocev, Gjorgjevikj, Dzeroski: An extensive experimental comparison ' \
                'of methods for multi-label learning. Pattern Recognition 45, 2012'
    grid = ({'min_samples_leaf': 1}, {'min_samples_leaf': 3})

    def __init__(self, min_samples_leaf: int = 1, seed: int = 0) -> None:
        """Keep the settings of the trees."""
        super().__init__(seed)
        self.min_samples_leaf = min_samples_leaf

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.forest = RandomForestClassifier(
            trees_for(Y.shape[1]), criterion='entropy', random_state=self.seed,
            min_samples_leaf=self.min_samples_leaf).fit(X, Y.astype(int))

    def scores(self, X: Any) -> np.ndarray:
        """Return the mean shares of labels in the leaves."""
        return from_probabilities(shares(self.forest, X))


RIVAL = EntropyForest
