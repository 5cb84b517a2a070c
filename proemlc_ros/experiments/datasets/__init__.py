# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The data sets of the literature: ARFF files and folders of them."""

from proemlc_ros.experiments.datasets.mulan import find_dataset, read_dataset

__all__ = ['find_dataset', 'read_dataset']
