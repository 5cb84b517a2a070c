# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The settings that model choice looks at unless it is told others."""

from __future__ import annotations

from typing import Any

# Direct links add one hidden column a feature; beyond this the recursion would crawl.
_MOST_LINKS = 2000

# Gaussian answers are nearly dependent and need whitening; Laplacian ones do well without, which
# saves a product with a square matrix for every sample.
_RADIAL: tuple[dict[str, Any], ...] = tuple(
    {'activation': activation, 'scaling': scaling, 'gamma_scale': gamma_scale, 'bias': True,
     'whiten': activation == 'rbf'}
    for activation, gamma_scales in (('laplacian', (0.25, 0.5, 1.0)), ('rbf', (0.5, 1.0)))
    for scaling in ('standard', 'none', 'l2') for gamma_scale in gamma_scales)

_RANDOM: tuple[dict[str, Any], ...] = tuple(
    {'activation': 'relu', 'scaling': scaling, 'bias': True} for scaling in ('standard', 'l2'))

CANDIDATES = _RADIAL + _RANDOM


def with_links(candidate: dict[str, Any], width: int) -> list[dict[str, Any]]:
    """Return the candidate with direct links added, where the width allows them."""
    if candidate.get('direct_links', False) or width > _MOST_LINKS:
        return []
    return [{**candidate, 'direct_links': True}]
