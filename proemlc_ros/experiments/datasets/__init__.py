# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-label data sets from files: Mulan and MEKA ARFF, and CSV."""

from proemlc_ros.experiments.datasets.dataset import DataSet
from proemlc_ros.experiments.datasets.find import find_dataset, read_dataset

__all__ = ['DataSet', 'find_dataset', 'read_dataset']
