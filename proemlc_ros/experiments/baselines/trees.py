# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Decision trees and forests: ML-C4.5, PCT, RFML-C4.5 and RF-PCT."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities

TREES = 100
# Leaves store every label's share: with hundreds of labels a hundred trees fill the memory.
TREES_OF_MANY_LABELS, MANY_LABELS = 30, 100


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


def trees_for(labels: int) -> int:
    """Return the number of trees for so many labels."""
    return TREES if labels <= MANY_LABELS else TREES_OF_MANY_LABELS


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
