# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: corrections survive kill -9."""

from correction_kills import run


def test_no_acknowledged_correction_is_lost(tmp_path):
    counts, worst = run(6, tmp_path / 'model', seed=3)
    assert sum(counts.values()) > 20 and worst <= 1e-9
