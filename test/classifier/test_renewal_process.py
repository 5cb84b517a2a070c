# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a renewal lets the node go first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from proemlc_ros.classifier import renewals as process


def test_it_shares_the_session_of_the_node():
    # Linux shares the processors out by sessions, before it looks at priorities.
    started = process._start()
    try:
        assert os.getsid(started.pid) == os.getsid(0)
    finally:
        started.kill()
        started.communicate()


@pytest.mark.skipif(not hasattr(os, 'SCHED_IDLE'), reason='only Linux knows SCHED_IDLE')
def test_it_runs_only_where_nothing_else_wants_to():
    code = ('import os\nfrom proemlc_ros.classifier.renewal_task import _step_back\n'
            '_step_back(19)\nprint(os.nice(0), os.sched_getscheduler(0) == os.SCHED_IDLE)')
    answer = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                            check=True)
    assert answer.stdout.split() == ['19', 'True']
