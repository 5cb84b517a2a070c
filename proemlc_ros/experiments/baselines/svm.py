# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Support vector machines that many baselines are made of, and the chains of them: CC and ECC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities

# Beyond this many labels one kernel machine per label takes hours; then they are linear.
MANY_LABELS = 100

SMALL_GRID = ({'kernel': 'rbf', 'C': 10.0}, {'kernel': 'linear', 'C': 1.0},
              {'kernel': 'linear', 'C': 0.1})
LARGE_GRID = ({'kernel': 'linear', 'C': 0.1}, {'kernel': 'linear', 'C': 0.01})
_CHAINS = 10
# Each chain sees this part of the samples, drawn without replacement.
_SHARE = 2.0 / 3.0


class Machine(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """A binary support vector machine that also takes samples of a single class.

    A linear machine is kept as weights and offset with the scaling worked in, a single class as an
    offset alone, so that asking many of them is a product.
    """

    def __init__(self, kernel: str = 'linear', C: float = 1.0, gamma_scale: float = 1.0) -> None:
        """Keep the settings; gamma_scale: times the usual gamma of a kernel."""
        self.kernel = kernel
        self.C = C
        self.gamma_scale = gamma_scale

    def fit(self, X: Any, y: Any) -> Machine:
        """Learn from samples and 0/1 targets."""
        self.classes_ = np.array([0, 1])
        self.machine_ = None
        self.weights_, self.offset_ = np.zeros(X.shape[1]), 0.0
        wanted = np.asarray(y).astype(bool)
        if wanted.all() or not wanted.any():
            self.offset_ = 1.0 if wanted.all() else -1.0
            return self
        # Machines are many and small: checking their settings takes longer than fitting them.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            # Means of sparse features would fill the zeros; their spread alone can be evened out.
            scaler = None if _binary(X) else StandardScaler(
                with_mean=isinstance(X, np.ndarray)).fit(X)
            scaled = X if scaler is None else scaler.transform(X)
            if self.kernel == 'linear':
                machine = LinearSVC(C=self.C, random_state=0).fit(scaled, wanted)
                self._unscale(machine, scaler)
            else:
                kernel = SVC(kernel=self.kernel, C=self.C,
                             gamma=self.gamma_scale * _usual_gamma(scaled))
                self.machine_ = make_pipeline(
                    scaler or 'passthrough', kernel.fit(scaled, wanted))
        return self

    def _unscale(self, machine: LinearSVC, scaler: StandardScaler | None) -> None:
        self.weights_, self.offset_ = machine.coef_[0], float(machine.intercept_[0])
        if scaler is not None:
            self.weights_ = self.weights_ / scaler.scale_
            if scaler.with_mean:
                self.offset_ -= float(self.weights_ @ scaler.mean_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the distance to the boundary."""
        if self.machine_ is None:
            return np.asarray(X @ self.weights_ + self.offset_)
        return np.asarray(self.machine_.decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return 0 or 1 for each sample."""
        return (self.decision_function(X) > 0.0).astype(int)


def distances(machines: Sequence[Machine], X: Any) -> np.ndarray:
    """Return the distances (n, machines) of several machines."""
    if all(machine.machine_ is None for machine in machines):
        weights = np.stack([machine.weights_ for machine in machines], axis=1)
        return np.asarray(X @ weights + [machine.offset_ for machine in machines])
    return np.column_stack([machine.decision_function(X) for machine in machines])


def _usual_gamma(X: Any) -> float:
    """Return what scikit-learn calls 'scale': 1 / (features * variance)."""
    mean = float(X.mean())
    squares = X * X if isinstance(X, np.ndarray) else X.multiply(X)
    variance = float(squares.mean()) - mean * mean
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0


def grid_for(labels: int) -> tuple[dict[str, Any], ...]:
    """Return the settings worth trying for so many labels."""
    return SMALL_GRID if labels <= MANY_LABELS else LARGE_GRID


def _binary(X: Any) -> bool:
    values = X if isinstance(X, np.ndarray) else X.data
    return bool(np.isin(values[:100], (0.0, 1.0)).all())


class OneAgainstAll(Baseline):
    """One kernel machine per label, each by itself, tuned: the strongest simple baseline."""

    category = 'SVM'
    reference = 'Boser, Guyon, Vapnik: A training algorithm for optimal margin classifiers. ' \
                'COLT 1992; one machine per label (binary relevance)'

    def __init__(self, C: float = 10.0, gamma_scale: float = 1.0, seed: int = 0) -> None:
        """Keep the settings of the machines."""
        super().__init__(seed)
        self._machine = Machine('rbf', C, gamma_scale)
        self._machines: list[Machine] = []

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self._machines = [clone(self._machine).fit(X, column) for column in Y.T]

    def scores(self, X: Any) -> np.ndarray:
        """Return the machines' distances."""
        return distances(self._machines, X)

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the machines worth trying; few where each takes long."""
        grid = tuple({'C': C, 'gamma_scale': gamma} for C in (10.0, 1.0, 100.0)
                     for gamma in (1.0, 0.3, 3.0))
        return grid if labels <= MANY_LABELS else grid[:2]


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


class EnsembleOfChains(Baseline):
    """Ten chains of support vector machines."""

    category = 'SVM'
    reference = Chain.reference

    def __init__(self, kernel: str = 'linear', C: float = 1.0, seed: int = 0,
                 chains: int = _CHAINS) -> None:
        """Keep the settings of the machines and the number of chains."""
        super().__init__(seed)
        self.chains = [Chain(kernel, C, seed + number) for number in range(chains)]

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        random = np.random.default_rng(self.seed)
        for chain in self.chains:
            part = np.sort(random.permutation(len(Y))[:max(1, round(_SHARE * len(Y)))])
            chain.fit(X[part], Y[part])

    def scores(self, X: Any) -> np.ndarray:
        """Return the share of chains that name a label, from -1 to 1."""
        votes = np.mean([chain.predict(X) for chain in self.chains], axis=0)
        return from_probabilities(votes)

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the machines worth trying."""
        return grid_for(labels)[:2]
