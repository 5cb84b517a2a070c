# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""OS-ELM: the same network, learnt sample by sample, with all labels known (eqs 6-9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from proemlc_ros.core.elm import OSELM
from proemlc_ros.experiments.baselines.baseline import Baseline
from proemlc_ros.experiments.baselines.elm import in_columns, names_of


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
        said = names_of(Y)
        # Twice the neurons: a block that only just determines them would be ill-conditioned.
        block = min(len(Y), 2 * size)
        self.network.learn_initial(X[:block], said[:block])
        for row in range(block, len(Y)):
            self.network.learn(X[row:row + 1], said[row:row + 1])

    def scores(self, X: Any) -> np.ndarray:
        """Return the raw outputs."""
        labels = self.network.labels
        return in_columns(self.network.scores(X), labels, len(labels))


RIVAL = SequentialELM
