# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: a fault at some of the system calls leaves the old state or the new one."""

import os
import shutil

import pytest
import system_call_faults


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(os.environ.get('CC', 'cc')), reason='needs a C compiler')
def test_a_fault_at_a_system_call_leaves_old_or_new(start_process, measured):
    process = start_process('python', system_call_faults.__file__, '--every', '7')
    found = process.wait_for(r'(\d+) faults; every outcome old or new')
    assert process.wait() == 0, process.output
    assert int(found[1]) >= 50
    measured(found[0])
