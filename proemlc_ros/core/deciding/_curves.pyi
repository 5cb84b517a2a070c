# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Logistic curves of labels, compiled from curves.c."""

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.solving.blas import Array

def fit_curves(scores: Array, targets: npt.NDArray[np.int8], weights: Array,
               counts: npt.NDArray[np.int64], out: Array, prior: tuple[float, float],
               precision: tuple[float, float], label_precision: tuple[float, float], /
               ) -> tuple[float, float]:
    """Put slopes, offsets and the weight of samples that lack each label into the rows of out.

    Return slope and offset of the common curve.
    """
