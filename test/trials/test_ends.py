# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: SIGTERM amid long work ends the node and loses nothing acknowledged."""

import ends
import pytest
from ros_process import DEADLINE

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('kind', ['reembed', 'change', 'renewal', 'load', 'save', 'flood'])
def test_a_signal_amid_work_ends_the_node_and_loses_nothing(start_process, measured, kind):
    # In a process of its own: its contexts of rclpy come and go with each round.
    # A renewal takes long with few samples, too; with many, longer than a busy machine is given.
    process = start_process('python', ends.__file__, '--rounds', '1', '--samples',
                            60 if kind == 'renewal' else 300, '--only', kind)
    measured(process.wait_for(r'\w+: 1 ends.*none lost', 2 * DEADLINE)[0])
    assert process.wait() == 0, process.output


def test_a_signal_ends_a_dashboard_with_open_pages(start_process, measured):
    pytest.importorskip('aiohttp')
    process = start_process('python', ends.__file__, '--rounds', '1', '--only', 'pages')
    measured(process.wait_for(r'pages: 1 ends.*')[0])
    assert process.wait() == 0, process.output
