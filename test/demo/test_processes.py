# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's processes: a failing one is reported, and none is left behind."""

import os
import signal
import time

import pytest

pytest.importorskip('rclpy')

from ros_process import DEADLINE

from proemlc_ros.demo.processes import Processes
from proemlc_ros.errors import DemoError

# A feature node without parameters ends at once, and says why.
LAST_LINE = r'feature_node ended with exit code 1: .*sensors.*\(see .*feature_node\.log\)'


def test_a_process_that_fails_is_reported_with_its_last_line(ros_domain_id, tmp_path):
    with Processes(tmp_path) as processes:
        processes.start('feature_node', piped=True)
        with pytest.raises(DemoError, match=LAST_LINE):
            list(processes.lines('feature_node'))


def test_one_that_ends_while_all_should_run_is_reported(ros_domain_id, tmp_path):
    with Processes(tmp_path) as processes:
        processes.start('feature_node')
        with pytest.raises(DemoError, match=LAST_LINE):
            processes.wait_for_interrupt()


def test_all_are_ended_and_their_codes_returned(ros_domain_id, tmp_path):
    with Processes(tmp_path) as processes:
        processes.start('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}/m')
        number = processes.pids['classifier_node']
        log, deadline = tmp_path / 'classifier_node.log', time.monotonic() + DEADLINE
        while 'Model directory' not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        assert processes.stop() == {'classifier_node': 0}
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_one_that_stood_still_is_started_again(ros_domain_id, tmp_path):
    with Processes(tmp_path) as processes:
        processes.start('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}/m')
        number = processes.pids['classifier_node']
        os.kill(number, signal.SIGALRM)
        deadline = time.monotonic() + DEADLINE
        while processes.pids['classifier_node'] == number:
            processes.check()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        processes.check()
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


@pytest.mark.parametrize('local, found', [(True, 'LOCALHOST'), (False, None)])
def test_other_machines_are_left_alone_unless_their_camera_is_wanted(
        monkeypatch, tmp_path, local, found):
    monkeypatch.delenv('ROS_AUTOMATIC_DISCOVERY_RANGE', raising=False)
    assert Processes(tmp_path, local).environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE') == found
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')  # the user's own wish
    assert Processes(tmp_path, local).environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'
