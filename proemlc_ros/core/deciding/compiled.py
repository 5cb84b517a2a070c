# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of decisions.c and curves.c, or None where they were not built."""

from __future__ import annotations

from types import ModuleType

compiled: ModuleType | None
try:
    from proemlc_ros.core.deciding import _decisions as compiled
except ImportError:
    compiled = None

curves: ModuleType | None
try:
    from proemlc_ros.core.deciding import _curves as curves
except ImportError:
    curves = None
