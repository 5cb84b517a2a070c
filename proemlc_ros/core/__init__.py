# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner: NumPy and SciPy only, importable without ROS."""

from proemlc_ros.core.learner import Classification
from proemlc_ros.core.model import ProEMLC

__all__ = ['Classification', 'ProEMLC']
