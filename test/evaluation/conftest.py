# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Samples and bags for the tests of evaluation."""

import numpy as np
import pytest

from proemlc_ros.bags.writer import make_bag


def separable(count, seed=0, width=6):
    """Return samples of three labels, the last of which appears in the second half only."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(3, width))
    names = ('cup', 'red', 'robot')
    samples = []
    for index in range(count):
        chosen = rng.random(3) < 0.4
        if index < count // 2:
            chosen[2] = False
        values = centres[chosen].sum(axis=0) + 0.3 * rng.normal(size=width)
        labels = tuple(name for name, there in zip(names, chosen, strict=True) if there)
        samples.append((values.astype(np.float32), labels))
    return samples


@pytest.fixture
def samples():
    """Return 400 samples."""
    return separable(400)


@pytest.fixture
def bag(tmp_path, samples):
    """Return the path of a bag of the samples."""
    make_bag(tmp_path / 'bag', samples)
    return tmp_path / 'bag'
