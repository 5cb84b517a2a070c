# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The baselines of the paper, by name; all except ELM and OS-ELM need scikit-learn."""

from __future__ import annotations

from importlib import import_module

from proemlc_ros.errors import MissingDependencyError
from proemlc_ros.experiments.baselines.baseline import Baseline

# Module and class of each, in the order of the paper's Table III, then the method's ancestors,
# then the strongest simple one.
BASELINES = {
    'CC': ('svm', 'Chain'),
    'QWML': ('qwml', 'QuickWeighted'),
    'HOMER': ('homer', 'Hierarchy'),
    'ML-C4.5': ('trees', 'EntropyTree'),
    'PCT': ('trees', 'ClusteringTree'),
    'ML-kNN': ('ml_knn', 'LabelNeighbours'),
    'ECC': ('svm', 'EnsembleOfChains'),
    'RFML-C4.5': ('trees', 'EntropyForest'),
    'RF-PCT': ('trees', 'ClusteringForest'),
    'ELM': ('elm', 'BatchELM'),
    'OS-ELM': ('elm', 'SequentialELM'),
    'OVA-SVM': ('svm', 'OneAgainstAll'),
}


def module_of(name: str) -> str:
    """Return the full name of the module that a baseline is in."""
    return f'{__name__}.{BASELINES[name][0]}'


def baseline_class(name: str) -> type[Baseline]:
    """Return the class of a baseline by its name in BASELINES.

    Raises:
        MissingDependencyError: scikit-learn is not installed.

    """
    try:
        module = import_module(module_of(name))
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith('sklearn'):
            raise
        raise MissingDependencyError(
            f"{name} needs scikit-learn; install it with: pip install 'proemlc_ros[experiments]'"
        ) from error
    found: type[Baseline] = getattr(module, BASELINES[name][1])
    return found


__all__ = ['BASELINES', 'Baseline', 'baseline_class', 'module_of']
