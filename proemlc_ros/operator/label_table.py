# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The labels that a classifier knows, as operators see them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The known labels with what the classifier tells of them."""

    names: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    thresholds: tuple[float, ...] = ()
    samples: int = 0
    version: int = 0
