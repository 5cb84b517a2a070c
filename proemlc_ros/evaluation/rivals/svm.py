# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The support vector machines inside chains, hierarchies and pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

# Beyond this many labels one kernel machine a label takes hours; then they are linear.
MANY_LABELS = 100

SMALL_GRID = ({'kernel': 'rbf', 'C': 10.0}, {'kernel': 'linear', 'C': 1.0},
              {'kernel': 'linear', 'C': 0.1})
LARGE_GRID = ({'kernel': 'linear', 'C': 0.1}, {'kernel': 'linear', 'C': 0.01})


class Machine(ClassifierMixin, BaseEstimator):
    """A binary support vector machine that also takes samples of a single class."""

    def __init__(self, kernel: str = 'linear', C: float = 1.0) -> None:
        """Keep the settings."""
        self.kernel = kernel
        self.C = C

    def fit(self, X: Any, y: Any) -> Machine:
        """Learn from samples and 0/1 targets."""
        self.classes_ = np.array([0, 1])
        wanted = np.asarray(y).astype(bool)
        if wanted.all() or not wanted.any():
            self.machine_ = None
            self.constant_ = 1.0 if wanted.all() else -1.0
            return self
        # Means of sparse features would fill the zeros; their spread alone can be evened out.
        scaler = StandardScaler(with_mean=isinstance(X, np.ndarray) and not _binary(X),
                                with_std=not _binary(X))
        machine = (LinearSVC(C=self.C, random_state=0) if self.kernel == 'linear'
                   else SVC(kernel=self.kernel, C=self.C, gamma='scale'))
        self.machine_ = make_pipeline(scaler, machine).fit(X, wanted.astype(int))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the distance to the boundary."""
        if self.machine_ is None:
            return np.full(X.shape[0], self.constant_)
        return np.asarray(self.machine_.decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return 0 or 1 for each sample."""
        return (self.decision_function(X) > 0.0).astype(int)


def grid_for(labels: int) -> tuple[dict[str, Any], ...]:
    """Return the settings worth trying for so many labels."""
    return SMALL_GRID if labels <= MANY_LABELS else LARGE_GRID


def _binary(X: Any) -> bool:
    values = X if isinstance(X, np.ndarray) else X.data
    return bool(np.isin(values[:100], (0.0, 1.0)).all())
