# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ML-C4.5: a decision tree that splits on the entropy of all labels together."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities


class EntropyTree(Baseline):
    """One tree; a leaf names the labels that most of its samples have.

    scikit-learn's entropy criterion averages over outputs, which is the multi-label entropy of the
    reference up to a constant factor. Pruning is by the least size of a leaf.
    """

    category = 'Decision trees'
    reference = 'Clare, King: Knowledge discovery in multi-label phenotype data. PKDD 2001'
    grid = ({'min_samples_leaf': 2}, {'min_samples_leaf': 5}, {'min_samples_leaf': 15})

    def __init__(self, min_samples_leaf: int = 2, seed: int = 0) -> None:
        """Keep the settings of the tree."""
        super().__init__(seed)
        self.tree = DecisionTreeClassifier(
            criterion='entropy', min_samples_leaf=min_samples_leaf, random_state=seed)

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.tree.fit(X, Y.astype(int))

    def scores(self, X: Any) -> np.ndarray:
        """Return the shares of labels in the leaves."""
        return from_probabilities(shares(self.tree, X))


def shares(estimator: Any, X: Any) -> np.ndarray:
    """Return the probability of 1 for each output of a scikit-learn classifier."""
    results = estimator.predict_proba(X)
    classes = estimator.classes_
    if not isinstance(results, list):  # a single label
        results, classes = [results], [classes]
    return np.column_stack([_of_one(result, known)
                            for result, known in zip(results, classes, strict=True)])


def _of_one(result: np.ndarray, known: np.ndarray) -> np.ndarray:
    places = np.flatnonzero(np.asarray(known) == 1)
    return result[:, places[0]] if places.size else np.zeros(len(result))


RIVAL = EntropyTree
