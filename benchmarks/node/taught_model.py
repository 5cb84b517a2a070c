# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model that the node resumes from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from client import WIDTH

from proemlc_ros.core import ProEMLC


def make_model(folder: Path, hidden: int, labels: int, activation: str) -> None:
    """Write a taught model where the node resumes from."""
    random = np.random.default_rng(0)
    model = ProEMLC(hidden_size=hidden, activation=activation, width=WIDTH)
    names = [f'label {number}' for number in range(labels)]
    count = max(2 * hidden, 2 * labels)
    samples = random.normal(size=(count, WIDTH))
    model.learn(samples, [[names[row % labels], names[(7 * row + 1) % labels]]
                          for row in range(count)])
    folder.mkdir(parents=True)
    model.save(folder / 'snapshot.npz', extra={'position': 0})
