# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Deep features for commands that are better with them and do without."""

from __future__ import annotations

from collections.abc import Callable

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.automatic import automatic_in_words
from proemlc_ros.features.backbone.installing import ensure_backbone
from proemlc_ros.features.backbone.store import Backbone


def try_deep_features(say: Callable[[str], None]) -> Backbone | None:
    """Return the installed network, or install the default one; None where that is impossible.

    Args:
        say: takes what the user should know.
    """
    try:
        backbone = ensure_backbone()
    except BackboneError as error:
        say(f'No deep features: {error}')
        say(f'Going on with {automatic_in_words()}.')
        return None
    say(f'Using {automatic_in_words()}; {backbone.speed}.')
    return backbone
