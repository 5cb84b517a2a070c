# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags for the tests."""

import numpy as np
import pytest

from proemlc_ros.bags.writer import make_bag


@pytest.fixture
def samples():
    """Return 60 samples of 8 values with one or two of three labels."""
    rng = np.random.default_rng(0)
    labels = [('cup',), ('cup', 'red'), ('robot',)]
    return [(rng.random(8, dtype=np.float32), labels[index % 3]) for index in range(60)]


@pytest.fixture(params=['mcap', 'sqlite3'])
def storage(request):
    """Return each storage in turn."""
    return request.param


@pytest.fixture
def bag(tmp_path, samples, storage):
    """Return the path of a bag of the samples."""
    make_bag(tmp_path / 'bag', samples, storage)
    return tmp_path / 'bag'
