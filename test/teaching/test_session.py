# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A session that is cut off anywhere goes on as if it had not been."""

from __future__ import annotations

import numpy as np
import pytest

from proemlc_ros.bags.definitions import RosbagsMessages
from proemlc_ros.bags.journal import Journal
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    LabelRejectedError,
    ModelDirectoryError,
    UndoError,
    UnknownLabelError,
)
from proemlc_ros.teaching.limits import Limits
from proemlc_ros.teaching.model_directory import ModelDirectory
from proemlc_ros.teaching.moments import Annotation
from proemlc_ros.teaching.pupil import Pupil
from proemlc_ros.teaching.resuming import begin, resume
from proemlc_ros.teaching.session import Learnt, Session

MESSAGES = RosbagsMessages()
WIDTH = 12
PROBES = np.random.default_rng(99).normal(size=(20, WIDTH))


def new_model() -> ProEMLC:
    return ProEMLC(hidden_size=40, seed=3)


def make_annotation(number: int, *labels: str, **fields) -> Annotation:
    values = np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)
    return Annotation(1000 + number, labels, features=values, **fields)


class Opened:
    """A session on a folder, as the node makes it."""

    def __init__(self, folder, **limits):
        self.directory = ModelDirectory(folder)
        self.journal = Journal(self.directory.journal, MESSAGES)
        self.session = Session(Pupil(new_model()), new_model, self.directory, self.journal,
                               Limits(**limits))
        self.report = resume(self.session)

    def drop(self):
        """Let go without any farewell, as a crash does."""
        self.directory.close()


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


def scores_of(session) -> np.ndarray:
    return session.pupil.model.scores(PROBES)


def teach_some(session, count: int = 30, start: int = 0) -> None:
    names = ['cup', 'plate', 'fork', 'knife', 'spoon']
    for number in range(start, start + count):
        chosen = names[:1 + number % len(names)][-2:]
        answer, = session.teach([make_annotation(number, *chosen)])
        assert isinstance(answer, Learnt), answer


def test_everything_is_there_after_a_crash_without_a_snapshot(opened):
    session = opened()
    teach_some(session)
    expected = scores_of(session)
    again = opened()
    np.testing.assert_array_equal(scores_of(again), expected)
    assert again.pupil.model.labels == session.pupil.model.labels
    assert again.pupil.model.samples == 30


def test_everything_is_there_after_a_crash_behind_a_snapshot(opened):
    session = opened()
    teach_some(session, 10)
    session.snapshot()
    teach_some(session, 10, start=10)
    session.rename('cup', 'mug')
    session.undo()
    teach_some(session, 5, start=20)
    session.remove('plate')
    expected = scores_of(session)
    again = opened()
    assert again.snapshot_position == 10
    np.testing.assert_array_equal(scores_of(again), expected)
    assert again.pupil.version == session.pupil.version


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

    def open_session() -> Session:
        directory = ModelDirectory(tmp_path / 'model')
        session = Session(Pupil(radial()), radial, directory,
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


def test_a_damaged_snapshot_falls_back_to_the_older_one(opened, tmp_path):
    session = opened()
    teach_some(session, 5)
    session.snapshot()
    teach_some(session, 5, start=5)
    session.snapshot()
    teach_some(session, 5, start=10)
    expected = scores_of(session)
    path = tmp_path / 'model/snapshot.npz'
    path.write_bytes(path.read_bytes()[:-50])
    again = opened()
    assert again.snapshot_position == 5
    np.testing.assert_array_equal(scores_of(again), expected)
    (tmp_path / 'model/snapshot.npz').write_bytes(b'')
    (tmp_path / 'model/snapshot_older.npz').unlink()
    np.testing.assert_array_equal(scores_of(opened()), expected)


def test_a_snapshot_without_its_journal_loses_nothing_later(opened, tmp_path):
    import shutil
    session = opened()
    teach_some(session, 8)
    session.snapshot()
    shutil.rmtree(tmp_path / 'model/journal')
    session = opened()
    teach_some(session, 4, start=8)
    expected = scores_of(session)
    again = opened()
    np.testing.assert_array_equal(scores_of(again), expected)
    assert again.pupil.model.samples == 12


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
    fresh = Session(Pupil(new_model()), new_model, session.directory, session.journal)
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


def test_two_sessions_cannot_share_a_folder(opened, tmp_path):
    opened()
    with pytest.raises(ModelDirectoryError, match='another classifier'):
        ModelDirectory(tmp_path / 'model')


@pytest.mark.parametrize('name', ['../x', '/etc/passwd', 'a/b', '.hidden', 'a\nb', '..', 'a\\b',
                                  'x' * 300])
def test_file_names_stay_inside(opened, name):
    session = opened()
    for action in (session.save, session.load):
        with pytest.raises(ModelDirectoryError, match='plain file name'):
            action(name)


def test_links_out_and_large_files_are_refused(opened, tmp_path):
    session = opened()
    outside = tmp_path / 'outside.npz'
    outside.write_bytes(b'x')
    (tmp_path / 'model/link.npz').symlink_to(outside)
    with pytest.raises(ModelDirectoryError, match='link'):
        session.load('link')
    with pytest.raises(ModelDirectoryError, match='link'):
        session.save('link')
    assert outside.read_bytes() == b'x'
    session.save('big')
    session.directory.max_file_bytes = 10
    with pytest.raises(ModelDirectoryError, match='max_model_file_mb'):
        session.load('big')
    with pytest.raises(ModelDirectoryError, match='big.npz'):
        session.load('missing')
