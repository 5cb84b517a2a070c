# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A session that is cut off anywhere goes on as if it had not been."""

from __future__ import annotations

import numpy as np
import pytest
from durable_model_stand import MESSAGES, PROBES, make_annotation, new_model, scores_of, teach_some

from proemlc_ros.bags.journal import Journal
from proemlc_ros.classifier.durable_model import DurableModel, Learnt
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import begin, resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import LabelRejectedError, UndoError, UnknownLabelError


def test_everything_is_there_after_a_crash_without_a_snapshot(opened):
    session = opened()
    teach_some(session)
    expected = scores_of(session)
    again = opened()
    np.testing.assert_array_equal(scores_of(again), expected)
    assert again.pupil.model.labels == session.pupil.model.labels
    assert again.pupil.model.samples == 30


def test_undo_takes_back_everything_also_after_a_restart(opened):
    session = opened()
    teach_some(session, 6)
    before = scores_of(session)
    labels = session.pupil.model.labels
    session.teach([make_annotation(100, 'cup', 'robot')])
    session.teach([make_annotation(101, 'robot', complete=False)])
    session.snapshot()
    session.teach([make_annotation(102, 'owl')])
    session = opened()
    assert session.pupil.model.labels == [*labels, 'robot', 'owl']
    assert [session.undo().stamp for _ in range(3)] == [1102, 1101, 1100]
    assert session.pupil.model.labels == labels
    np.testing.assert_allclose(scores_of(session), before, atol=1e-9)
    for _ in range(6):
        session.undo()
    with pytest.raises(UndoError):
        session.undo()
    assert session.pupil.model.samples == 0
    assert opened().pupil.model.labels == []


def test_a_layer_that_waits_for_samples_survives_a_crash(tmp_path):
    def radial() -> ProEMLC:
        return ProEMLC(hidden_size=12)  # The defaults: fixed when the first samples have come.

    def open_session() -> DurableModel:
        directory = ModelDirectory(tmp_path / 'model')
        session = DurableModel(VersionedModel(radial()), radial, directory,
                          Journal(directory.journal, MESSAGES))
        resume(session)
        return session
    session = open_session()
    teach_some(session, 7)
    session.snapshot()
    assert session.pupil.model.warming_up
    session.directory.close()
    session = open_session()
    teach_some(session, 20, start=7)
    assert not session.pupil.model.warming_up
    for _ in range(3):
        session.undo()
    expected = scores_of(session)
    session.directory.close()
    again = open_session()
    np.testing.assert_array_equal(scores_of(again), expected)
    assert again.pupil.model.samples == 24
    again.directory.close()


def test_undo_follows_renamed_and_removed_labels(opened):
    session = opened()
    teach_some(session, 5)
    before = scores_of(session)
    session.teach([make_annotation(50, 'cup', 'plate', 'new')])
    session.rename('new', 'newer')
    session.remove('plate')
    session = opened()
    session.undo()
    assert session.pupil.model.labels == ['cup', 'fork', 'knife', 'spoon']
    np.testing.assert_allclose(scores_of(session), np.delete(before, 1, axis=1), atol=1e-9)


def test_reset_and_load_are_replayed(opened):
    session = opened()
    teach_some(session, 8)
    session.save('kitchen')
    kept = scores_of(session)
    backup = session.reset()
    assert backup.name == 'before_reset.npz'
    assert session.pupil.model.labels == []
    assert opened().pupil.model.labels == []
    session = opened()
    session.load('kitchen.npz')
    np.testing.assert_array_equal(scores_of(session), kept)
    teach_some(session, 2, start=8)
    expected = scores_of(session)
    np.testing.assert_array_equal(scores_of(opened()), expected)


def test_a_start_without_resume_forgets_on_purpose(opened, tmp_path):
    session = opened()
    teach_some(session, 5)
    kept = scores_of(session)
    fresh = DurableModel(VersionedModel(new_model()), new_model, session.directory, session.journal)
    begin(fresh)
    backup = ProEMLC.load(tmp_path / 'model/before_reset.npz')
    np.testing.assert_array_equal(backup.scores(PROBES), kept)
    assert fresh.pupil.model.labels == []
    teach_some(fresh, 1)
    assert opened().pupil.model.samples == 1


def test_a_refused_annotation_leaves_no_trace(opened):
    session = opened(max_labels=3)
    teach_some(session, 3)
    good, bad, worse = session.teach([
        make_annotation(10, 'cup'), make_annotation(11, 'a', 'b'), make_annotation(12, 'x\ny')])
    assert isinstance(good, Learnt)
    assert isinstance(bad, LabelRejectedError)
    assert isinstance(worse, LabelRejectedError)
    assert session.journal.last_number == 4
    with pytest.raises(UnknownLabelError):
        session.remove('owl')
    with pytest.raises(LabelRejectedError):
        session.rename('cup', '')
    assert session.journal.last_number == 4
