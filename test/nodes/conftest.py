# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the operators' nodes."""

import pytest

# Imports are inside, so that tests of other nodes can be collected where something is missing.


@pytest.fixture(scope='module')
def browser():
    """Return a headless Chromium, or skip."""
    from dashboard_stand import chromium

    with chromium() as running:
        yield running


@pytest.fixture
def stand(start_process, ros, tmp_path):
    """Return classifier and eyes as processes, and a listener; see dashboard_stand.Stand."""
    from dashboard_stand import Stand

    running = Stand(start_process, ros, tmp_path)
    yield running
    running.listener.close()
