# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots that are damaged, or older than the journal, or all that is left."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from corrections import correct, remove, rename, turn
from durable_model_stand import scores_of, teach_some

from proemlc_ros.core import ProEMLC
from proemlc_ros.records import Correction, EventKind


def test_everything_is_there_after_a_crash_behind_a_snapshot(opened):
    durable = opened()
    teach_some(durable, 10)
    durable.snapshot()
    teach_some(durable, 10, start=10)
    rename(durable, 'cup', 'mug')
    durable.undo()
    teach_some(durable, 5, start=20)
    remove(durable, 'plate')
    expected = scores_of(durable)
    again = opened()
    assert again.snapshots.position == 10
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-12)
    assert again.model.version == durable.model.version


def test_a_damaged_snapshot_falls_back_to_the_older_one(opened, tmp_path):
    durable = opened()
    teach_some(durable, 5)
    durable.snapshot()
    teach_some(durable, 5, start=5)
    durable.snapshot()
    teach_some(durable, 5, start=10)
    expected = scores_of(durable)
    path = tmp_path / 'model/snapshot.npz'
    path.write_bytes(path.read_bytes()[:-50])
    again = opened()
    assert again.snapshots.position == 5
    np.testing.assert_array_equal(scores_of(again), expected)
    path.unlink()
    again = opened()
    assert again.snapshots.position == 5
    np.testing.assert_array_equal(scores_of(again), expected)
    (tmp_path / 'model/snapshot.npz').write_bytes(b'')
    (tmp_path / 'model/snapshot_older.npz').unlink()
    np.testing.assert_array_equal(scores_of(opened()), expected)


def test_a_damaged_snapshot_does_not_take_the_place_of_the_older_one(
        opened, tmp_path, monkeypatch):
    durable = opened()
    for number in (0, 5):
        teach_some(durable, 5, start=number)
        durable.snapshot()
    (tmp_path / 'model/snapshot.npz').write_bytes(b'')
    durable = opened()

    def full(*_, **__):
        raise OSError('no space left')
    with monkeypatch.context() as patched, pytest.raises(OSError, match='no space'):
        patched.setattr(ProEMLC, 'save', full)
        durable.snapshot()
    assert opened().snapshots.position == 5


def test_an_older_state_does_not_replace_a_newer_snapshot(opened, tmp_path):
    durable = opened()
    teach_some(durable, 5)
    durable.snapshot()
    written = (tmp_path / 'model/snapshot.npz').read_bytes()
    durable.snapshots.write(ProEMLC(), {'position': 4})
    assert durable.snapshots.position == 5
    assert (tmp_path / 'model/snapshot.npz').read_bytes() == written


def test_a_snapshot_without_its_journal_loses_nothing_later(opened, tmp_path):
    durable = opened()
    teach_some(durable, 8)
    durable.snapshot()
    shutil.rmtree(tmp_path / 'model/journal')
    durable = opened()
    teach_some(durable, 4, start=8)
    expected = scores_of(durable)
    again = opened()
    np.testing.assert_array_equal(scores_of(again), expected)
    assert again.model.learner.samples == 12


@pytest.mark.parametrize('position', [2**62, 2**63 - 1, 2**200, -1, 1.5, '7', None])
def test_a_snapshot_that_claims_an_impossible_entry_is_not_used(opened, tmp_path, position):
    durable = opened()
    teach_some(durable, 10)
    expected = scores_of(durable)
    durable.model.learner.save(tmp_path / 'model/snapshot.npz', {'position': position})
    again = opened()
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-9)
    teach_some(again, 1, start=10)
    assert again.position == 11


@pytest.mark.parametrize('later', [0, 3])
def test_a_snapshot_of_an_earlier_version_with_another_reading_is_not_used(
        opened, tmp_path, later):
    """An earlier version did not follow an undo behind a load of the own snapshot."""
    durable = opened()
    teach_some(durable, 10)
    as_it_was = durable.model.learner.copy()
    durable.snapshot()
    durable.load('')
    turn(durable, EventKind.UNDO)  # Of the load.
    turn(durable, EventKind.REDO)
    correct(durable, [Correction(4, delete=True)])
    position = durable.position
    teach_some(durable, later, start=10)
    for name in ('snapshot.npz', 'snapshot_older.npz'):
        as_it_was.save(tmp_path / 'model' / name, {'position': position, 'not_learnt': []})
    again = opened()
    assert again.model.learner.samples == len(again.table.samples) == 9 + later
    np.testing.assert_allclose(scores_of(again), scores_of(durable), atol=1e-9)
