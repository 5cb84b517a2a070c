# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines: severity, name and place, without a look at other modules; not too often."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

from rclpy.logging import get_logger

from proemlc_ros.nodes.logs import ThrottledLog, errors_of, warnings_of

PROGRAM = """
import inspect
from rclpy.logging import LoggingSeverity, get_logger
from proemlc_ros.nodes.logs import log_error, log_info, log_warning

def speak():
    log_info(logger, 'one')
    log_warning(logger, 'two')
    log_error(logger, 'three')

logger = get_logger('speaker')
speak()
logger.set_level(LoggingSeverity.ERROR)
speak()
print(len(inspect.modulesbyfile))
"""


def test_lines_have_severity_name_and_place():
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM], text=True, capture_output=True, check=True,
        env={**os.environ,
             'RCUTILS_CONSOLE_OUTPUT_FORMAT': '{severity} {name} {function_name} {message}'})
    assert done.stderr.splitlines() == [
        'INFO speaker speak one', 'WARN speaker speak two', 'ERROR speaker speak three',
        'ERROR speaker speak three']
    assert done.stdout == '0\n'


class Times:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lines():
    return []


@pytest.fixture
def times():
    return Times()


@pytest.fixture
def log(lines, times):
    return ThrottledLog(lines.append, 5.0, times)


def test_lines_of_one_kind_are_held_back_and_counted(log, lines, times):
    for times.now in (0, 1, 2, 4):
        log.log('cut', f'cut at {times.now}')
    assert lines == ['cut at 0']
    for times.now in (5, 10):
        log.log('cut', f'cut at {times.now}')
    assert lines[1:] == ['cut at 5 (3 more like it since the last line)', 'cut at 10']


def test_lines_of_another_kind_are_written(log, lines):
    log.log('cut', 'cut')
    log.log('empty', 'empty')
    assert lines == ['cut', 'empty']


def test_the_period_can_change(log, lines, times):
    log.log('cut', 'first')
    log.period, times.now = 0.5, 1
    log.log('cut', 'second')
    assert lines == ['first', 'second']


def test_a_line_is_short_and_has_no_hidden_characters(log, lines):
    log.log('cut', 'x\x1b[2J\n' + 'a' * 10**6)
    assert lines[0].startswith('x\\x1b[2J\\na') and len(lines[0]) < 600


def test_warnings_and_errors_of_one_logger_do_not_hinder_each_other():
    logger = get_logger('both')
    for write in (warnings_of(logger), errors_of(logger), warnings_of(logger)):
        ThrottledLog(write, 0.0).log('kind', 'a line')
