# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The methods that the paper compares itself with, on top of scikit-learn (an extra)."""

from __future__ import annotations

from importlib import import_module

from proemlc_ros.errors import MissingDependencyError
from proemlc_ros.experiments.baselines.baseline import Baseline

# In the order of the paper's Table III, then the ancestors of the method itself.
MODULES = {
    'CC': 'classifier_chain', 'QWML': 'qwml', 'HOMER': 'homer', 'ML-C4.5': 'ml_c45', 'PCT': 'pct',
    'ML-kNN': 'ml_knn', 'ECC': 'ecc', 'RFML-C4.5': 'rfml_c45', 'RF-PCT': 'rf_pct', 'ELM': 'elm',
    'OS-ELM': 'os_elm',
}


def rival_class(name: str) -> type[Baseline]:
    """Return the class of a rival by its name in MODULES.

    Raises:
        MissingDependencyError: scikit-learn is not installed.

    """
    try:
        module = import_module(f'{__name__}.{MODULES[name]}')
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith('sklearn'):
            raise
        raise MissingDependencyError(
            f'{name} needs scikit-learn; install it with: pip install scikit-learn') from error
    found: type[Baseline] = module.RIVAL
    return found


__all__ = ['MODULES', 'Baseline', 'rival_class']
