# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The baselines of the paper, by name, and what each offers: fit, scores, a decision rule.

All except ELM and OS-ELM need scikit-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from proemlc_ros.errors import MissingDependencyError

# Module and class of each, in the order of the paper's Table III, then the method's ancestors,
# then the strongest simple one.
BASELINES = {
    'CC': ('svm', 'Chain'),
    'QWML': ('svm', 'QuickWeighted'),
    'HOMER': ('svm', 'Hierarchy'),
    'ML-C4.5': ('trees', 'EntropyTree'),
    'PCT': ('trees', 'ClusteringTree'),
    'ML-kNN': ('trees', 'LabelNeighbours'),
    'ECC': ('svm', 'EnsembleOfChains'),
    'RFML-C4.5': ('trees', 'EntropyForest'),
    'RF-PCT': ('trees', 'ClusteringForest'),
    'ELM': ('elm', 'BatchELM'),
    'OS-ELM': ('elm', 'SequentialELM'),
    'OVA-SVM': ('svm', 'OneAgainstAll'),
}


@dataclass
class Baseline(ABC):
    """A batch multi-label classifier; its settings are fields.

    Attributes:
        category: As Table III of the paper has it.
        reference: Where the method was described.
        grid: Settings to select from, on training data.
    """

    seed: int = 0
    category: ClassVar[str]
    reference: ClassVar[str]
    grid: ClassVar[tuple[dict[str, Any], ...]] = ({},)

    @abstractmethod
    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""

    @abstractmethod
    def scores(self, X: Any) -> np.ndarray:
        """Return scores (n, labels): about -1 for surely absent, 1 for surely present."""

    def predict(self, X: Any) -> np.ndarray:
        """Return indicators, by the method's own decision rule."""
        return self.scores(X) > 0.0

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the settings worth trying for so many labels."""
        return cls.grid


def from_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Return scores from -1 to 1 for probabilities."""
    return 2.0 * probabilities - 1.0


def module_of(name: str) -> str:
    """Return the full name of the module that a baseline is in."""
    return f'{__name__}.{BASELINES[name][0]}'


def baseline_class(name: str) -> type[Baseline]:
    """Return the class of a baseline by its name in BASELINES.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    try:
        module = import_module(module_of(name))
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith('sklearn'):
            raise
        raise MissingDependencyError(
            f"{name} needs scikit-learn; install it with: pip install 'proemlc_ros[experiments]'"
        ) from error
    found: type[Baseline] = getattr(module, BASELINES[name][1])
    return found
