# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How well known an input is, by its leverage and by how much the neurons answer to it."""

from __future__ import annotations

import math

import numpy as np

from proemlc_ros.core.solving.blas import Array


def known_share(leverage: float, square: float, mass: float, ridge: float,
                usual_mass: float) -> float:
    """Return how well known an input is, from 0 (nothing like it) to 1.

    The leverage q = hMh counts by the pull q / (1 + q) that the sample would have on its own
    score, relative to the same in an empty model, where q is |h|^2 / ridge. Neurons around centres
    fall silent far from them, so for them the share of their usual answer that is missing counts
    as new.

    Args:
        leverage: hMh of the input.
        square: |h|^2.
        mass: |neurons|^2.
        ridge: weight of the penalty.
        usual_mass: of a learnt sample on average; 0: it does not matter.
    """
    # Rounding may leave a leverage of -1e-16; beyond that, the precision has not held it.
    if square == 0.0 or not (-0.1 < leverage < math.inf and square < math.inf):
        return 0.0
    share = leverage / (1.0 + leverage) * (ridge + square) / square
    known = 1.0 - min(max(share, 0.0), 1.0)
    return known * min(1.0, mass / usual_mass) if usual_mass > 0.0 else known


def known_shares(leverages: Array, squares: Array, masses: Array, ridge: float,
                 usual_mass: Array | float) -> Array:
    """Return known_share() of each row; usual_mass: one for all, or one per row."""
    with np.errstate(divide='ignore', invalid='ignore'):
        shares = leverages / (1.0 + leverages) * ((ridge + squares) / squares)
        answers = np.where(np.greater(usual_mass, 0.0), masses / usual_mass, 1.0)
    known = np.where(np.isfinite(shares), 1.0 - np.clip(shares, 0.0, 1.0), 0.0)
    known *= np.minimum(answers, 1.0)
    return known
