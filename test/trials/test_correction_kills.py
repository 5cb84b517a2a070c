# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: corrections survive kill -9, of the model and of the node."""

import correction_kills
import pytest
from correction_kills import run


def test_no_acknowledged_correction_is_lost(tmp_path):
    counts, worst = run(4, tmp_path / 'model', seed=3)
    assert sum(counts.values()) > 15 and worst <= 1e-9


@pytest.mark.slow
def test_no_correction_that_the_node_acknowledged_is_lost(start_process, measured):
    # In a process of its own, as whatever talks to one that is killed.
    process = start_process('python', correction_kills.__file__, '--node', '--kills', '3',
                            '--seed', '3')
    found = process.wait_for(r'3 kills; acknowledged: .*\b(\d+) burst\b.*none lost, none doubled')
    assert process.wait() == 0, process.output
    assert int(found[1]) > 10
    measured(found[0])
