# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Extreme learning machines, the ancestors of the method itself: ELM and OS-ELM."""

from __future__ import annotations

from typing import Any

import numpy as np

from proemlc_ros.core.elm import ELM, OSELM
from proemlc_ros.experiments.baselines.baseline import Baseline


class BatchELM(Baseline):
    """Sigmoid neurons, threshold zero; the paper's ancestor in batch form."""

    category = 'ELM'
    reference = 'Huang, Zhu, Siew: Extreme learning machine: theory and applications. ' \
                'Neurocomputing 70, 2006'
    grid = ({'hidden_size': 100}, {'hidden_size': 200}, {'hidden_size': 400})

    def __init__(self, hidden_size: int = 100, seed: int = 0) -> None:
        """Keep the settings of the network."""
        super().__init__(seed)
        self.elm = ELM(hidden_size=hidden_size, seed=seed)
        self.labels = 0

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.labels = Y.shape[1]
        self.elm.fit(X, names_of(Y))

    def scores(self, X: Any) -> np.ndarray:
        """Return the raw outputs."""
        return in_columns(self.elm.scores(X), self.elm.labels, self.labels)


class SequentialELM(Baseline):
    """An initial block of at least as many samples as neurons, then one sample at a time."""

    category = 'ELM'
    reference = 'Liang, Huang, Saratchandran, Sundararajan: A fast and accurate online ' \
                'sequential learning algorithm. IEEE Trans. Neural Networks 17, 2006'
    grid = ({'hidden_size': 100}, {'hidden_size': 200}, {'hidden_size': 400})

    def __init__(self, hidden_size: int = 100, seed: int = 0) -> None:
        """Keep the settings of the network."""
        super().__init__(seed)
        self.hidden_size = hidden_size

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators, one by one after the initial block."""
        names = [str(column) for column in range(Y.shape[1])]
        size = min(self.hidden_size, len(Y) // 2)
        self.network = OSELM(names, hidden_size=size, seed=self.seed)
        labels = names_of(Y)
        # Twice the neurons: a block that only just determines them would be ill-conditioned.
        block = min(len(Y), 2 * size)
        self.network.learn_initial(X[:block], labels[:block])
        for row in range(block, len(Y)):
            self.network.learn(X[row:row + 1], labels[row:row + 1])

    def scores(self, X: Any) -> np.ndarray:
        """Return the raw outputs."""
        labels = self.network.labels
        return in_columns(self.network.scores(X), labels, len(labels))


def names_of(Y: np.ndarray) -> list[list[str]]:
    """Return each row's labels by the number of their column."""
    return [[str(column) for column in np.flatnonzero(row)] for row in Y]


def in_columns(scores: np.ndarray, labels: list[str], count: int) -> np.ndarray:
    """Return scores with each label in the column of its name; -1 for labels never met."""
    arranged = np.full((len(scores), count), -1.0)
    arranged[:, [int(label) for label in labels]] = scores
    return arranged
