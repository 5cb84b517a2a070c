# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Distances to centres and decisions about labels, compiled from kernels.c."""

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array

def absolute_differences(rows: Array, centres: Array, out: Array, /) -> None:
    """Put the sums of absolute differences (n, neurons) of rows to centres into out."""

def mutual_differences(rows: Array, out: Array, /) -> None:
    """Put the differences of rows to each other into out."""

def inverse_sinh(values: Array, /) -> None:
    """Replace the values of a matrix by their asinh."""

def negative_answers(vector: Array, shift: Array, factor: Array, centres: Array, gamma: float,
                     out: Array, curved: bool, /) -> None:
    """Put -gamma times the distances of a vector to the centres into the start of out.

    The vector is scaled first; curved: and replaced by its asinh.
    """

def border(store: Array, place: int, gain: Array, factor: float, /) -> None:
    """Give the lower triangle of an inverse one more row and column, in its memory."""

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
