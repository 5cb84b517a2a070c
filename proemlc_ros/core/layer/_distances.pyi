# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Distances to centres, compiled from distances.c."""

from proemlc_ros.core.solving.blas import Array

def absolute_differences(rows: Array, centres: Array, out: Array, /) -> None:
    """Put the sums of absolute differences (n, neurons) of rows to centres into out."""
