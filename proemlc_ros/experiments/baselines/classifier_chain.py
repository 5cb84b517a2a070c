# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Classifier chain: each label's machine also sees the labels before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.multioutput import ClassifierChain

from proemlc_ros.experiments.baselines.baseline import Baseline
from proemlc_ros.experiments.baselines.svm import Machine, grid_for


class Chain(Baseline):
    """One chain of support vector machines, in random order."""

    category = 'SVM'
    reference = 'Read, Pfahringer, Holmes, Frank: Classifier chains for multi-label ' \
                'classification. Machine Learning 85, 2011'

    def __init__(self, kernel: str = 'linear', C: float = 1.0, seed: int = 0) -> None:
        """Keep the settings of the machines."""
        super().__init__(seed)
        self.chain = ClassifierChain(Machine(kernel, C), order='random', random_state=seed)

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.chain.fit(X, Y.astype(int))

    def scores(self, X: Any) -> np.ndarray:
        """Return the machines' distances."""
        return np.asarray(self.chain.decision_function(X))

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the machines worth trying."""
        return grid_for(labels)


RIVAL = Chain
