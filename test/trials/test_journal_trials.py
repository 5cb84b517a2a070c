# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trials in small: nothing is lost without being said."""

from failing_disk import run_failing_disk
from journal_trials import run_damage


def test_damage_of_every_kind(tmp_path):
    counts = run_damage(3, tmp_path, seed=7)
    assert len(counts) == 10
    assert sum(found['lost'] for found in counts.values()) == 0


def test_a_disk_that_fails_at_any_write(tmp_path):
    for found in run_failing_disk(tmp_path).values():
        assert found['held'] == found.total() > 10
