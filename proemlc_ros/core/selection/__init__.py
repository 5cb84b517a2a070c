# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model selection by exact leave-one-out: nothing is fitted twice."""

from proemlc_ros.core.selection.candidates import Selection
from proemlc_ros.core.selection.search import select_model

__all__ = ['Selection', 'select_model']
