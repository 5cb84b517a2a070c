# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trials of a damaged journal in small: nothing crashes, nothing is lost in silence."""

from journal_damage import OTHERS, run


def test_a_damaged_journal(tmp_path):
    counts = run(len(OTHERS), tmp_path, seed=3)
    assert len(counts) == len(OTHERS) + 1
    assert all({*found} <= {'held', 'said'} for found in counts.values())
