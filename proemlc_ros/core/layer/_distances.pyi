# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Distances to centres, compiled from distances.c."""

from proemlc_ros.core.solving.blas import Array

def absolute_differences(rows: Array, centres: Array, out: Array, /) -> None:
    """Put the sums of absolute differences (n, neurons) of rows to centres into out."""

def mutual_differences(rows: Array, out: Array, start: int, stop: int, /) -> None:
    """Put the differences of rows start to stop to all that follow into out, both ways."""

def shifted_differences(twice: Array, weights: Array, out: Array, /) -> None:
    """Put weighted differences of rows to themselves moved by 1, 2, 3 ... into the rows of out."""

def negative_answers(vector: Array, shift: Array, factor: Array, centres: Array, gamma: float,
                     out: Array, /) -> None:
    """Scale a vector and put -gamma times its distances to the centres into the start of out."""
