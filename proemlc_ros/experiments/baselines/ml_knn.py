# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ML-kNN: how many neighbours have a label, judged by counts over the training samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities


class LabelNeighbours(Baseline):
    """Lazy learning with a maximum a posteriori decision for each label (smoothing 1)."""

    category = 'Nearest neighbours'
    reference = 'Zhang, Zhou: ML-kNN: a lazy learning approach to multi-label learning. ' \
                'Pattern Recognition 40, 2007'
    grid = ({'neighbours': 6}, {'neighbours': 10}, {'neighbours': 16})

    def __init__(self, neighbours: int = 10, seed: int = 0) -> None:
        """Keep the number of neighbours."""
        super().__init__(seed)
        self.neighbours = neighbours

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
