# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: corrections survive kill -9, of the model and of the node."""

import pytest
from correction_kills import run, run_node


def test_no_acknowledged_correction_is_lost(tmp_path):
    counts, worst = run(4, tmp_path / 'model', seed=3)
    assert sum(counts.values()) > 15 and worst <= 1e-9


@pytest.mark.slow
def test_no_correction_that_the_node_acknowledged_is_lost(ros, tmp_path, measured):
    counts, worst = run_node(3, tmp_path / 'model', ros, seed=3)
    assert worst <= 1e-9 and counts['burst'] > 10
    measured(f'3 kills of the node: {dict(counts)}')
