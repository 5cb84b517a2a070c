# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner: NumPy and SciPy only, importable without ROS."""

from typing import TYPE_CHECKING, Any

from proemlc_ros.core.deciding.decider import LabelQuality, LeftOutQuality
from proemlc_ros.core.model import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import Classification, PrequentialResult

if TYPE_CHECKING:
    from proemlc_ros.core.sums import PartialSums

__all__ = ['Classification', 'LabelQuality', 'LeftOutQuality', 'Options', 'PrequentialResult',
           'PartialSums', 'ProEMLC']


def __getattr__(name: str) -> Any:
    """Import what only those need who merge models."""
    if name == 'PartialSums':
        from proemlc_ros.core.sums import PartialSums

        return PartialSums
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
