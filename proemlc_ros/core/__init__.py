# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner: NumPy and SciPy only, importable without ROS."""

from proemlc_ros.core.fleet.sums import PartialSums
from proemlc_ros.core.model import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import Classification, PrequentialResult

__all__ = ['Classification', 'Options', 'PrequentialResult', 'PartialSums', 'ProEMLC']
