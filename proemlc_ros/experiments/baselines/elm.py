# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Extreme learning machines, the ancestors of the method: ELM and OS-ELM, as cases of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.experiments.baselines import Baseline

# Sigmoid neurons, no ridge, the threshold zero.
_SETTINGS: dict[str, Any] = {'activation': 'sigmoid', 'scaling': 'none', 'bias': False,
                             'ridge': 0.0, 'threshold': 'zero'}


@dataclass
class BatchELM(Baseline):
    """The paper's ancestor in batch form: beta = pinv(H) Y (eqs 1-5)."""

    hidden_size: int = 100
    category = 'ELM'
    reference = 'Huang, Zhu, Siew: Extreme learning machine: theory and applications. ' \
                'Neurocomputing 70, 2006'
    grid = ({'hidden_size': 100}, {'hidden_size': 200}, {'hidden_size': 400})

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators; labels are the numbers of their columns."""
        self.labels = [str(column) for column in range(Y.shape[1])]
        self._learn(X, [[self.labels[column] for column in np.flatnonzero(row)] for row in Y])

    def _learn(self, X: Any, names: list[list[str]]) -> None:
        self.model = ProEMLC(hidden_size=self.hidden_size, seed=self.seed, **_SETTINGS)
        self.model.learn_initial(X, names)

    def scores(self, X: Any) -> np.ndarray:
        """Return the raw outputs; -1 for labels never met."""
        scores = np.full((X.shape[0], len(self.labels)), -1.0)
        scores[:, [int(label) for label in self.model.labels]] = self.model.scores(X)
        return scores


class SequentialELM(BatchELM):
    """An initial block, then one sample at a time, with labels known beforehand (eqs 6-9)."""

    reference = 'Liang, Huang, Saratchandran, Sundararajan: A fast and accurate online ' \
                'sequential learning algorithm. IEEE Trans. Neural Networks 17, 2006'

    def _learn(self, X: Any, names: list[list[str]]) -> None:
        size = min(self.hidden_size, len(names) // 2)
        self.model = ProEMLC(hidden_size=size, seed=self.seed, labels=self.labels, **_SETTINGS)
        # Twice the neurons: a block that only just determines them would be ill-conditioned.
        block = min(len(names), 2 * size)
        self.model.learn_initial(X[:block], names[:block])
        for row in range(block, len(names)):
            self.model.learn(X[row:row + 1], names[row:row + 1])
