# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A small multi-label problem for the tests of the baselines."""

import numpy as np


def make_data(samples=90, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((samples, 4))
    return X, np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0, X[:, 2] > 0.5])
