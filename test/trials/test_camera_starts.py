# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: a feature node that is started beside a running camera goes on."""

import subprocess
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

import camera_starts

pytestmark = pytest.mark.slow


def test_two_starts(ros_domain_id):
    command = [sys.executable, camera_starts.__file__, '--rounds', '2', '--rate', '30']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (
        0, '2 starts, stuck: 0, of these ended by themselves: 0\n'), done.stderr
