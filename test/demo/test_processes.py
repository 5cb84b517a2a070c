# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's processes: a failing one is reported, and none is left behind."""

import os
import signal
import threading
import time

import pytest

pytest.importorskip('rclpy')

from ros_process import DEADLINE

from proemlc_ros.demo.processes import _ENDING as ENDING
from proemlc_ros.demo.processes import Processes, _Interrupts
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


def test_one_that_was_killed_is_started_again_but_not_for_ever(ros_domain_id, tmp_path):
    told = []
    with Processes(tmp_path, restarted=told.append) as processes:
        processes.start('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}/m')
        with pytest.raises(DemoError, match='classifier_node ended with exit code -9'):
            while True:
                number = processes.pids['classifier_node']
                os.kill(number, signal.SIGKILL)
                os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
                processes.check()
    assert told == ['classifier_node'] * 3


@pytest.mark.parametrize('local, found', [(True, 'LOCALHOST'), (False, None)])
def test_other_machines_are_left_alone_unless_their_camera_is_wanted(
        monkeypatch, tmp_path, local, found):
    monkeypatch.delenv('ROS_AUTOMATIC_DISCOVERY_RANGE', raising=False)
    assert Processes(tmp_path, local).environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE') == found
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')  # the user's own wish
    assert Processes(tmp_path, local).environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'


@pytest.fixture
def heard():
    """Let both signals be heard, also where the tests run in the background of a shell."""
    earlier = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    yield
    for number, handler in earlier.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('number', ENDING)
def test_both_signals_interrupt(heard, number):
    with _Interrupts(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


@pytest.mark.parametrize('number', ENDING)
def test_one_that_comes_in_a_step_is_raised_after_it(heard, number):
    done = False
    with _Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        with interrupts.deferred():
            os.kill(os.getpid(), number)
            done = True
    assert done


def test_one_that_comes_while_all_is_ended_is_forgotten(heard):
    with _Interrupts() as interrupts:
        with interrupts.ignored():
            os.kill(os.getpid(), signal.SIGTERM)
        with interrupts.deferred():
            pass


def test_the_earlier_handlers_come_back_and_ignored_signals_stay_ignored(heard):
    earlier = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        before = [signal.getsignal(number) for number in ENDING]
        with _Interrupts():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) != before[0]
        assert [signal.getsignal(number) for number in ENDING] == before
    finally:
        signal.signal(signal.SIGTERM, earlier)


def test_in_another_thread_it_does_nothing(heard):
    before = signal.getsignal(signal.SIGINT)

    def work():
        with _Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    seen = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
