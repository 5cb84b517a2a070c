# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines carry severity, name and place, and are written without a look at other modules."""

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

PROGRAM = """
import inspect
from rclpy.logging import LoggingSeverity, get_logger
from proemlc_ros.nodes.log_lines import log_error, log_info, log_warning

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
