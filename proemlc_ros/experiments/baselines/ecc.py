# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ensemble of classifier chains: chains in different orders on parts of the samples vote."""

from __future__ import annotations

from typing import Any

import numpy as np

from proemlc_ros.experiments.baselines.baseline import Baseline, from_probabilities
from proemlc_ros.experiments.baselines.classifier_chain import Chain
from proemlc_ros.experiments.baselines.svm import grid_for

_CHAINS = 10
# Each chain sees this part of the samples, drawn without replacement.
_SHARE = 2.0 / 3.0


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


RIVAL = EnsembleOfChains
