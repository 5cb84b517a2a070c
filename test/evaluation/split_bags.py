# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Samples split over bags, and models that must be equal, for the tests of training."""

import numpy as np

from proemlc_ros.bags.writer import make_bag

RELU = {'hidden_size': 40, 'activation': 'relu', 'scaling': 'none'}
DRAWN = {'hidden_size': 40, 'activation': 'rbf', 'scaling': 'standard'}


def write_parts(folder, samples, ends):
    """Write the samples to bags that end at the given numbers."""
    paths, start = [], 0
    for end in (*ends, len(samples)):
        paths.append(folder / f'part_{start}_{end}')
        make_bag(paths[-1], samples[start:end], start=(start + 1) * 10**9)
        start = end
    return paths


def assert_same(one, other, rows, tolerance=1e-8):
    """Check that two models have learnt the same."""
    assert sorted(one.labels) == sorted(other.labels)
    columns = [other.labels.index(name) for name in one.labels]
    np.testing.assert_allclose(
        one.scores(rows), other.scores(rows)[:, columns], atol=tolerance)
    assert one.samples == other.samples
    assert dict(zip(one.labels, one.counts, strict=True)) == dict(
        zip(other.labels, other.counts, strict=True))
