# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A durable that is cut off anywhere goes on as if it had not been."""

from __future__ import annotations

import numpy as np
import pytest
from corrections import remove, rename
from durable_model_stand import (
    PROBES,
    make_annotation,
    new_learner,
    scores_of,
    teach_some,
)

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory, learnt_extractor
from proemlc_ros.classifier.resume import begin, resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import LabelRejectedError, UndoError, UnknownLabelError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Learnt


def test_everything_is_there_after_a_crash_without_a_snapshot(opened):
    durable = opened()
    teach_some(durable)
    expected = scores_of(durable)
    again = opened()
    np.testing.assert_array_equal(scores_of(again), expected)
    assert again.model.learner.labels == durable.model.learner.labels
    assert again.model.learner.samples == 30


def test_undo_takes_back_everything_also_after_a_restart(opened):
    durable = opened()
    teach_some(durable, 6)
    before = scores_of(durable)
    labels = durable.model.learner.labels
    durable.learn([make_annotation(100, 'cup', 'robot')])
    durable.learn([make_annotation(101, 'robot', complete=False)])
    durable.snapshot()
    durable.learn([make_annotation(102, 'owl')])
    durable = opened()
    assert durable.model.learner.labels == [*labels, 'robot', 'owl']
    assert [durable.undo().stamp for _ in range(3)] == [1102, 1101, 1100]
    assert durable.model.learner.labels == labels
    np.testing.assert_allclose(scores_of(durable), before, atol=1e-9)
    for _ in range(6):
        durable.undo()
    with pytest.raises(UndoError):
        durable.undo()
    assert durable.model.learner.samples == 0
    assert opened().model.learner.labels == []


def test_a_layer_that_waits_for_samples_survives_a_crash(tmp_path):
    def radial() -> ProEMLC:
        return ProEMLC(hidden_size=12)  # The defaults: fixed when the first samples have come.

    def open_session() -> DurableModel:
        directory = ModelDirectory(tmp_path / 'model')
        durable = DurableModel(VersionedModel(radial()), radial, directory,
                               Journal(directory.journal))
        resume(durable)
        return durable
    durable = open_session()
    teach_some(durable, 7)
    durable.snapshot()
    assert durable.model.learner.warming_up
    durable.directory.close()
    durable = open_session()
    teach_some(durable, 20, start=7)
    assert not durable.model.learner.warming_up
    for _ in range(3):
        durable.undo()
    expected = scores_of(durable)
    durable.directory.close()
    again = open_session()
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-12)
    assert again.model.learner.samples == 24
    again.directory.close()


def test_undo_follows_renamed_and_removed_labels(opened):
    durable = opened()
    teach_some(durable, 5)
    before = scores_of(durable)
    durable.learn([make_annotation(50, 'cup', 'plate', 'new')])
    rename(durable, 'new', 'newer')
    remove(durable, 'plate')
    durable = opened()
    durable.undo()
    assert durable.model.learner.labels == ['cup', 'fork', 'knife', 'spoon']
    np.testing.assert_allclose(scores_of(durable), np.delete(before, 1, axis=1), atol=1e-9)


def test_reset_and_load_are_replayed(opened):
    durable = opened()
    teach_some(durable, 8)
    durable.save('kitchen')
    kept = scores_of(durable)
    backup = durable.reset()
    assert backup.name == 'before_reset.npz'
    assert durable.model.learner.labels == []
    assert opened().model.learner.labels == []
    durable = opened()
    durable.load('kitchen.npz')
    np.testing.assert_array_equal(scores_of(durable), kept)
    teach_some(durable, 2, start=8)
    expected = scores_of(durable)
    np.testing.assert_array_equal(scores_of(opened()), expected)


def test_a_start_without_resume_forgets_on_purpose(opened, tmp_path):
    durable = opened()
    teach_some(durable, 5)
    kept = scores_of(durable)
    fresh = DurableModel(
        VersionedModel(new_learner()), new_learner, durable.directory, durable.journal)
    begin(fresh)
    backup = ProEMLC.load(tmp_path / 'model/before_reset.npz')
    np.testing.assert_array_equal(backup.scores(PROBES), kept)
    assert fresh.model.learner.labels == []
    teach_some(fresh, 1)
    assert opened().model.learner.samples == 1


def test_a_refused_annotation_leaves_no_trace(opened):
    durable = opened(max_labels=3)
    teach_some(durable, 3)
    good, bad, worse = durable.learn([
        make_annotation(10, 'cup'), make_annotation(11, 'a', 'b'), make_annotation(12, 'x\ny')])
    assert isinstance(good, Learnt)
    assert isinstance(bad, LabelRejectedError)
    assert isinstance(worse, LabelRejectedError)
    assert durable.journal.last_number == 4
    with pytest.raises(UnknownLabelError):
        remove(durable, 'owl')
    with pytest.raises(LabelRejectedError):
        rename(durable, 'cup', '')
    assert durable.journal.last_number == 4


def test_other_programs_see_what_the_model_has_learnt_from(opened, tmp_path):
    assert learnt_extractor(tmp_path / 'none') == ''
    durable = opened()
    folder = durable.directory.path
    durable.learn([make_annotation(1, 'cup', extractor='a/1')])
    assert learnt_extractor(folder) == 'a/1'  # of the journal
    durable.snapshot()
    durable.learn([make_annotation(2, 'plate')])
    assert learnt_extractor(folder) == 'a/1'  # of the snapshot
    durable.reset()
    assert learnt_extractor(folder) == ''
    durable.learn([make_annotation(3, 'cup', extractor='b/1')])
    assert learnt_extractor(folder) == 'b/1'
