# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: all tools agree with the classifier about what it was taught."""

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from recorded_hour import run

from proemlc_ros.journal.journal import Journal

pytestmark = pytest.mark.slow


def test_tools_agree_with_the_node_about_a_recorded_hour(ros, tmp_path):
    found = run(21, tmp_path, ros)
    node = found.pop('node')
    # 21, two corrected and one merged beside them; what was undone or deleted does not count.
    assert node['samples'] == 24
    assert set(node['counts']) == {'cup', 'plate', 'fork', 'spoon', 'blue', 'tray'}
    assert Journal(tmp_path / 'node' / 'journal', read_only=True).pictures()
    for name, result in found.items():
        assert result['samples'] == node['samples'], name
        if 'counts' in result:
            assert result['counts'] == node['counts'], name
    # A journal is judged with the settings of its own node.
    assert found['evaluate journal']['settings']['hidden_size'] == 40
    assert found['train journal']['settings']['hidden_size'] == 40
    assert found['evaluate bag']['metrics'] == found['evaluate journal']['metrics']
