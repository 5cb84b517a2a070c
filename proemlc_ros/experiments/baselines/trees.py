# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Baselines that average similar training samples: trees, forests and nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proemlc_ros.experiments.baselines import Baseline, from_probabilities

TREES = 100
# Leaves store every label's share: with hundreds of labels a hundred trees fill the memory.
TREES_OF_MANY_LABELS, MANY_LABELS = 30, 100


@dataclass
class _Trees(Baseline):
    """A tree or forest of scikit-learn over all labels together."""

    min_samples_leaf: int = 1
    kind: ClassVar[type[Any]]
    options: ClassVar[dict[str, Any]] = {}
    category = 'Decision trees'

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        options = dict(self.options)
        if issubclass(self.kind, RandomForestClassifier | RandomForestRegressor):
            options['n_estimators'] = (TREES if Y.shape[1] <= MANY_LABELS
                                       else TREES_OF_MANY_LABELS)
        estimator = self.kind(min_samples_leaf=self.min_samples_leaf, random_state=self.seed,
                              **options)
        self.estimator = estimator.fit(X, Y.astype(int if is_classifier(estimator) else float))

    def scores(self, X: Any) -> np.ndarray:
        """Return the shares of labels in the leaves, or their prototypes."""
        return from_probabilities(
            _shares(self.estimator, X) if is_classifier(self.estimator)
            else self.estimator.predict(X).reshape(X.shape[0], -1))


class EntropyTree(_Trees):
    """One tree; a leaf names the labels that most of its samples have.

    scikit-learn's entropy criterion averages over outputs, which is the multi-label entropy of the
    reference up to a constant factor. Pruning is by the least size of a leaf.
    """

    reference = 'Clare, King: Knowledge discovery in multi-label phenotype data. PKDD 2001'
    grid = ({'min_samples_leaf': 2}, {'min_samples_leaf': 5}, {'min_samples_leaf': 15})
    kind, options = DecisionTreeClassifier, {'criterion': 'entropy'}


class ClusteringTree(_Trees):
    """One tree over indicator vectors; a leaf's prototype is their mean.

    The variance of an indicator vector is the sum of its labels' variances, which is what
    scikit-learn's squared error over several outputs comes to.
    """

    reference = 'Blockeel, De Raedt, Ramon: Top-down induction of clustering trees. ICML 1998'
    grid = EntropyTree.grid
    kind = DecisionTreeRegressor


class EntropyForest(_Trees):
    """Bagged trees that see a random part of the features at every split."""

    reference = 'Madjarov, Kocev, Gjorgjevikj, Dzeroski: An extensive experimental comparison ' \
                'of methods for multi-label learning. Pattern Recognition 45, 2012'
    grid = ({'min_samples_leaf': 1}, {'min_samples_leaf': 3})
    kind, options = RandomForestClassifier, {'criterion': 'entropy'}


class ClusteringForest(_Trees):
    """Bagged clustering trees that see a random part of the features at every split."""

    reference = 'Kocev, Vens, Struyf, Dzeroski: Ensembles of multi-objective decision trees. ' \
                'ECML 2007'
    grid = EntropyForest.grid
    kind, options = RandomForestRegressor, {'max_features': 'sqrt'}


def _shares(estimator: Any, X: Any) -> np.ndarray:
    """Return the probability of 1 for each output of a scikit-learn classifier."""
    results, classes = estimator.predict_proba(X), estimator.classes_
    if not isinstance(results, list):  # a single label
        results, classes = [results], [classes]
    return np.column_stack([
        result @ (np.asarray(known) == 1) for result, known in zip(results, classes, strict=True)])


@dataclass
class LabelNeighbours(Baseline):
    """Lazy learning with a maximum a posteriori decision for each label (smoothing 1)."""

    neighbours: int = 10
    category = 'Nearest neighbours'
    reference = 'Zhang, Zhou: ML-kNN: a lazy learning approach to multi-label learning. ' \
                'Pattern Recognition 40, 2007'
    grid = ({'neighbours': 6}, {'neighbours': 10}, {'neighbours': 16})

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Count neighbours with each label, apart for samples with and without it."""
        self.neighbours = min(self.neighbours, len(Y) - 1)
        self.search = NearestNeighbors(n_neighbors=self.neighbours).fit(X)
        self.indicators = Y
        near = self._counts(self.search.kneighbors(return_distance=False))
        labels, k = Y.shape[1], self.neighbours
        self.prior = (1.0 + Y.sum(axis=0)) / (2.0 + len(Y))
        self.likelihoods = np.empty((2, labels, k + 1))
        for present in (0, 1):
            counts = np.array([np.bincount(near[Y[:, label] == present, label], minlength=k + 1)
                               for label in range(labels)])
            self.likelihoods[present] = (1.0 + counts) / (
                k + 1.0 + counts.sum(axis=1, keepdims=True))

    def scores(self, X: Any) -> np.ndarray:
        """Return the posterior probabilities of the labels, from -1 to 1."""
        near = self._counts(self.search.kneighbors(X, return_distance=False))
        labels = np.arange(near.shape[1])
        with_label = self.prior * self.likelihoods[1][labels, near]
        without = (1.0 - self.prior) * self.likelihoods[0][labels, near]
        return from_probabilities(with_label / (with_label + without))

    def _counts(self, places: np.ndarray) -> np.ndarray:
        return np.array([self.indicators[near].sum(axis=0) for near in places])
