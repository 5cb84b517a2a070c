# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The settings that model choice looks at unless it is told others."""

from __future__ import annotations

from typing import Any

# Direct links add one hidden column a feature; beyond this the recursion would crawl.
_MOST_LINKS = 2000

_RADIAL: tuple[dict[str, Any], ...] = tuple(
    {'activation': 'laplacian', 'scaling': scaling, 'gamma_scale': gamma_scale, 'bias': True}
    for scaling in ('standard', 'none', 'l2') for gamma_scale in (0.25, 0.5, 1.0)
) + tuple(
    {'activation': 'rbf', 'scaling': scaling, 'gamma_scale': gamma_scale, 'bias': True,
     'whiten': True}
    for scaling in ('standard', 'l2') for gamma_scale in (0.5, 1.0))

_RANDOM: tuple[dict[str, Any], ...] = tuple(
    {'activation': 'relu', 'scaling': scaling, 'bias': True} for scaling in ('standard', 'l2'))

CANDIDATES = _RADIAL + _RANDOM


def with_links(candidate: dict[str, Any], width: int) -> list[dict[str, Any]]:
    """Return the candidate with direct links added, where the width allows them."""
    if candidate.get('direct_links', False) or width > _MOST_LINKS:
        return []
    return [{**candidate, 'direct_links': True}]
