# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Random truth, predictions and scores of one shape, for the tests of metrics."""

from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays


def indicator_pairs(least_labels=1):
    """Return a strategy for truth, prediction (booleans) and scores (few values, for ties)."""
    shape = st.tuples(st.integers(1, 12), st.integers(least_labels, 6))
    return shape.flatmap(lambda size: st.tuples(
        arrays.arrays(bool, size), arrays.arrays(bool, size),
        arrays.arrays(float, size, elements=st.integers(-3, 3))))
