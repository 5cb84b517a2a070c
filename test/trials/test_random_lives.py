# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: each fault once, under random operations and a hostile peer."""

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from pathlib import Path

pytestmark = pytest.mark.slow


def test_random_operations_faults_and_peers_lose_nothing(start_process, measured):
    process = start_process('python', Path(__file__).with_name('random_lives.py'),
                            '--minutes', '0', '--seed', '3')
    measured(process.wait_for(r'seed 3: 4 lives .*none lost, none twice.*', 300)[0])
    assert process.wait() == 0, process.output
