# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What every baseline offers: fit, scores, and its own decision rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np


class Baseline(ABC):
    """A batch multi-label classifier.

    Attributes:
        category: As Table III of the paper has it.
        reference: Where the method was described.
        grid: Settings to select from, on training data.

    """

    category: ClassVar[str]
    reference: ClassVar[str]
    grid: ClassVar[tuple[dict[str, Any], ...]] = ({},)

    def __init__(self, seed: int = 0) -> None:
        """Keep the seed."""
        self.seed = seed

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
