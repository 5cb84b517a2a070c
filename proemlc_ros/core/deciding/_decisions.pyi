# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Probabilities and sets of labels, compiled from decisions.c."""

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.solving.blas import Array

def best_set(probabilities: Array, empty: float, exclusive: bool, tolerance: float, /
             ) -> list[int]:
    """Return the labels to predict for one sample, most probable first."""

def best_sets(probabilities: Array, empty: float, exclusive: bool, tolerance: float,
              out: npt.NDArray[np.bool_], /) -> None:
    """Put into out which labels are predicted, for rows."""

def logistic(scores: Array, slopes: Array, offsets: Array, out: Array, /) -> None:
    """Put the probability of each label of one sample into out."""

def explain(values: Array, chosen: npt.NDArray[np.bool_], threshold: float, /) -> float:
    """Return a threshold above which the chosen values are, of which equal ones move."""

def try_tolerances(probabilities: Array, shown: npt.NDArray[np.bool_], weights: Array,
                   tolerances: Array, out: Array, empty: float, exclusive: bool, /) -> None:
    """Put the weighted sums of F1 and of errors with each tolerance into the two rows of out."""
