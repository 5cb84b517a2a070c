# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The extractor `auto`: deep features where a network is installed, else hand-made ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proemlc_ros.errors import BackboneError, ExtractorError
from proemlc_ros.features.backbone.store import default_backbone

AUTO = 'auto'
# Best of the hand-made ones and their combinations, by leave-one-out: docs/features.md.
HAND_MADE = ('colour_histogram', {'colour_bins': 16})


def resolved(kind: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the extractor that a setting means, and its parameters.

    Args:
        kind: name of an extractor, or 'auto'.
        parameters: given ones; they win.

    Raises:
        ExtractorError: the installed network is damaged.

    """
    if kind != AUTO:
        return kind, dict(parameters)
    try:
        backbone = default_backbone()
        if backbone is not None:
            return 'onnx_embedding', {**backbone.extractor_parameters(), **parameters}
    except BackboneError as error:
        raise ExtractorError(str(error)) from error
    return HAND_MADE[0], {**HAND_MADE[1], **parameters}


def automatic_in_words() -> str:
    """Return what 'auto' means on this machine, for logs."""
    try:
        backbone = default_backbone()
    except BackboneError as error:
        return str(error)
    if backbone is None:
        return ('hand-made features (colours): no network is installed; deep features see far '
                'more: proemlc backbone install')
    return f'deep features: backbone {backbone.name}, {backbone.width} values'
