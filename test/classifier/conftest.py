# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of teaching."""

from __future__ import annotations

import pytest
from durable_model_stand import Opened


@pytest.fixture
def opened(tmp_path):
    sessions = []

    def make(**limits):
        while sessions:
            sessions.pop().drop()
        sessions.append(Opened(tmp_path / 'model', **limits))
        return sessions[-1].session
    yield make
    sessions[-1].drop()
