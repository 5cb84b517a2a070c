# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""PCT: a predictive clustering tree, which splits where the labels' variance falls most."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities


class ClusteringTree(Baseline):
    """One tree over indicator vectors; a leaf's prototype is their mean.

    The variance of an indicator vector is the sum of its labels' variances, which is what
    scikit-learn's squared error over several outputs comes to.
    """

    category = 'Decision trees'
    reference = 'Blockeel, De Raedt, Ramon: Top-down induction of clustering trees. ICML 1998'
    grid = ({'min_samples_leaf': 2}, {'min_samples_leaf': 5}, {'min_samples_leaf': 15})

    def __init__(self, min_samples_leaf: int = 2, seed: int = 0) -> None:
        """Keep the settings of the tree."""
        super().__init__(seed)
        self.tree = DecisionTreeRegressor(min_samples_leaf=min_samples_leaf, random_state=seed)

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.tree.fit(X, Y.astype(np.float64))

    def scores(self, X: Any) -> np.ndarray:
        """Return the prototypes of the leaves."""
        return from_probabilities(self.tree.predict(X).reshape(X.shape[0], -1))


RIVAL = ClusteringTree
