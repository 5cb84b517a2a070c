# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share."""

import numpy as np
import pytest

from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.main import main


@pytest.fixture
def proemlc(capsys):
    """Return a function that runs the command and gives exit code, output and errors."""
    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err
    return run


@pytest.fixture
def samples():
    """Return 300 samples that a small model can learn; "robot" comes late."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 6))
    names = ('cup', 'red', 'robot')
    made = []
    for index in range(300):
        chosen = rng.random(3) < 0.4
        chosen[2] &= index >= 150
        values = centres[chosen].sum(axis=0) + 0.2 * rng.normal(size=6)
        made.append((values.astype(np.float32), tuple(np.array(names)[chosen].tolist())))
    return made


@pytest.fixture
def bag(tmp_path, samples):
    """Return the path of a bag of the samples."""
    make_bag(tmp_path / 'bag', samples)
    return tmp_path / 'bag'
