# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9 during renewals; a few times here, more often in test/trials/renewal_kills.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / 'trials/renewal_kills.py'


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled(tmp_path):
    spec = importlib.util.spec_from_file_location('renewal_kills', PATH)
    trial = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trial)
    trial.run(4, tmp_path / 'model', seed=3)
