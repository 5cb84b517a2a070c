# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""RF-PCT: a random forest of predictive clustering trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities
from proemlc_ros.experiments.baselines.rfml_c45 import trees_for


class ClusteringForest(Baseline):
    """Bagged clustering trees that see a random part of the features at every split."""

    category = 'Decision trees'
    reference = 'Kocev, Vens, Struyf, Dzeroski: Ensembles of multi-objective decision trees. ' \
                'ECML 2007'
    grid = ({'min_samples_leaf': 1}, {'min_samples_leaf': 3})

    def __init__(self, min_samples_leaf: int = 1, seed: int = 0) -> None:
        """Keep the settings of the trees."""
        super().__init__(seed)
        self.min_samples_leaf = min_samples_leaf

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.forest = RandomForestRegressor(
            trees_for(Y.shape[1]), max_features='sqrt', random_state=self.seed,
            min_samples_leaf=self.min_samples_leaf).fit(X, Y.astype(np.float64))

    def scores(self, X: Any) -> np.ndarray:
        """Return the mean prototypes of the leaves."""
        return from_probabilities(self.forest.predict(X).reshape(X.shape[0], -1))


RIVAL = ClusteringForest
