# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What recovery gives is what was learnt: nothing twice, nothing lost, or it says so."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from corrections import correct, remove, rename, turn
from durable_model_stand import (
    Opened,
    make_annotation,
    new_learner,
    scores_of,
    teach_some,
)

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import LabelRejectedError, ModelDirectoryError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Correction, Event, EventKind, Learnt


@pytest.fixture
def folder(tmp_path):
    return tmp_path / 'model'


# ----- load by content -----

def test_a_loaded_file_that_is_written_again_is_not_learnt_twice(opened, folder):
    durable = opened()
    teach_some(durable, 1)
    durable.save('kitchen')
    durable.load('kitchen')
    teach_some(durable, 5, start=1)
    durable.save('kitchen')
    expected = scores_of(durable)
    path = folder / 'snapshot.npz'
    path.write_bytes(path.read_bytes()[:-50])
    again = opened()
    assert again.model.learner.samples == 6
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-9)


def test_the_content_is_kept_as_long_as_an_entry_needs_it(opened, folder):
    durable = opened()
    teach_some(durable, 3)
    durable.save('kitchen')
    durable.load('kitchen')
    kept, = (folder / 'journal/attachments').iterdir()
    assert kept.read_bytes() == (folder / 'kitchen.npz').read_bytes()
    (folder / 'kitchen.npz').unlink()
    for name in ('snapshot.npz', 'snapshot_older.npz'):
        (folder / name).unlink(missing_ok=True)
    assert opened().model.learner.samples == 3
    durable = opened()
    durable.compact()
    assert not list((folder / 'journal/attachments').iterdir())
    assert opened().model.learner.samples == 3


def test_damaged_content_is_named(opened, folder):
    durable = opened()
    teach_some(durable, 3)
    durable.model.learner.save(folder / 'kitchen.npz')  # As another robot's file.
    durable.load('kitchen')
    kept, = (folder / 'journal/attachments').iterdir()
    kept.write_bytes(kept.read_bytes() + b'x')
    (folder / 'snapshot.npz').unlink()
    with pytest.raises(ModelDirectoryError, match='entry 4 loads a model file.*damaged'):
        opened()


def test_a_load_is_a_place_in_the_table(opened, folder):
    """A file that was saved from this journal brings its samples back, to be corrected."""
    durable = opened()
    teach_some(durable, 10)
    rename(durable, 'cup', 'mug')
    saved, samples = scores_of(durable), durable.reading().samples
    durable.save('kitchen')
    teach_some(durable, 5, start=10)
    durable.undo()
    later = scores_of(durable)
    durable.load('kitchen')
    np.testing.assert_array_equal(scores_of(durable), saved)
    assert repr(durable.reading().samples) == repr(samples)
    correct(durable, [Correction(3, delete=True)])
    assert durable.model.learner.samples == 9
    corrected = scores_of(durable)
    for path in (folder / 'snapshot.npz', *(folder / 'journal/attachments').iterdir()):
        path.unlink()  # The journal alone has all of it.
    durable = opened()
    assert not opened.report.rejections
    np.testing.assert_allclose(scores_of(durable), corrected, atol=1e-9)
    for _ in range(2):
        turn(durable, EventKind.UNDO)  # The deletion, and the load.
    np.testing.assert_allclose(scores_of(durable), later, atol=1e-9)
    turn(durable, EventKind.REDO)
    np.testing.assert_allclose(scores_of(durable), saved, atol=1e-9)


# ----- retention -----

def limited(folder, **options):
    directory = ModelDirectory(folder)
    journal = Journal(directory.journal, **options)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    return durable, resume(durable)


def teach_in_batches(durable, count, start=0):
    for first in range(start, start + count, 50):
        answers = durable.learn([make_annotation(number, f'label {number % 5}')
                                 for number in range(first, first + 50)])
        assert all(isinstance(answer, Learnt) for answer in answers)


def test_a_limited_journal_keeps_what_the_older_snapshot_lacks(folder):
    options = {'max_file_bytes': 60_000, 'max_bytes': 150_000}
    durable, _ = limited(folder, **options)
    for start in range(0, 1500, 150):
        teach_in_batches(durable, 150, start)
        durable.snapshot()
    assert durable.journal.entry(1) is None
    teach_in_batches(durable, 50, 1500)
    expected = scores_of(durable)
    durable.directory.close()
    path = folder / 'snapshot.npz'
    path.write_bytes(path.read_bytes()[:-50])
    again, report = limited(folder, **options)
    assert again.model.learner.samples == 1550
    assert report.missing == []
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-9)
    again.directory.close()


def test_the_journal_does_not_grow_for_ever(folder):
    durable, _ = limited(folder, max_file_bytes=10**8, max_bytes=200_000)
    sizes = []
    for start in range(0, 3000, 250):
        teach_in_batches(durable, 250, start)
        durable.snapshot()
        sizes.append(durable.journal.size)
    assert max(sizes) < 300_000
    durable.directory.close()
    again, report = limited(folder)
    assert (again.model.learner.samples, report.missing) == (3000, [])
    again.directory.close()


def test_a_compacted_journal_reads_the_same_after_a_restart(opened):
    durable = opened()
    teach_some(durable, 20)
    durable.compact()
    running = durable.reading()
    durable.journal.close()
    again = opened().reading()
    assert (again.last, again.forgotten) == (running.last, running.forgotten) == (20, 20)
    assert list(again.steps) == list(running.steps) == []


def test_a_load_of_what_was_compacted_reads_the_same_after_a_restart(opened):
    durable = opened()
    teach_some(durable, 20)
    durable.compact()
    durable.save('kitchen')
    durable.load('kitchen')
    remove(durable, durable.model.learner.labels[0])
    running, scores = durable.reading(), scores_of(durable)
    durable.journal.close()
    again = opened()
    assert again.reading().base is not None and running.base is not None
    assert again.reading().base.number == running.base.number
    np.testing.assert_allclose(scores_of(again), scores, atol=1e-9)


def test_a_label_that_dropped_samples_have_called_absent_stays_known(opened):
    durable = opened()
    absent = make_annotation(1)._replace(labels=(), absent=('cup',), complete=False)
    durable.learn([absent])
    durable.compact()
    durable.learn([absent._replace(stamp=absent.stamp + 1)])
    durable.undo()
    assert durable.model.learner.labels == ['cup']
    durable.journal.close()
    assert opened().model.learner.labels == ['cup']


def test_compaction_keeps_the_model_and_bounds_the_journal(opened, folder):
    durable = opened()
    teach_some(durable, 30)
    expected = scores_of(durable)
    durable.compact()
    assert durable.journal.entry(30) is None
    teach_some(durable, 5, start=30)
    for name in ('', 'snapshot.npz'):
        if name:
            (folder / name).write_bytes(b'')  # Either of the pair will do.
        again = opened()
        assert again.model.learner.samples == 35
    assert not np.allclose(scores_of(again), expected)


def test_lost_entries_are_named(opened, folder):
    durable = opened()
    teach_some(durable, 10)
    durable.journal.close()
    with closing(sqlite3.connect(folder / 'journal/journal_0.db3')) as database, database:
        database.execute('DELETE FROM messages WHERE id IN (4, 6, 7)')
    durable = opened()
    report = opened.report
    assert [list(gap) for gap in report.missing] == [[4], [6, 7]]
    assert any('entries 4, 6 to 7 are lost' in note for note in report.notes)
    assert durable.model.learner.samples == 7


def test_the_undo_of_a_lost_annotation_takes_nothing_else_back(opened, folder):
    durable = opened()
    teach_some(durable, 10)
    expected = scores_of(durable)
    durable.learn([make_annotation(50, 'cup', 'owl')])
    durable.undo()
    durable.journal.close()
    with closing(sqlite3.connect(folder / 'journal/journal_0.db3')) as database, database:
        database.execute('DELETE FROM messages WHERE id = 11')
    durable = opened()
    np.testing.assert_allclose(scores_of(durable), expected, atol=1e-9)
    (number, reason), = opened.report.rejections
    assert number == 12 and 'entry 11, which is lost' in reason


def test_a_lost_undo_is_known_by_the_next_one(opened, folder):
    durable = opened()
    teach_some(durable, 10)
    expected = scores_of(durable)
    durable.learn([make_annotation(50, 'cup'), make_annotation(51, 'cup')])
    durable.undo()
    durable.undo()
    durable.journal.close()
    with closing(sqlite3.connect(folder / 'journal/journal_0.db3')) as database, database:
        database.execute('DELETE FROM messages WHERE id = 13')
    durable = opened()
    assert [list(gap) for gap in opened.report.missing] == [[13]]
    np.testing.assert_allclose(scores_of(durable), expected, atol=1e-9)


def test_an_entry_that_cannot_be_read_is_named_and_passed_over(opened, folder):
    durable = opened()
    teach_some(durable, 4)
    number = durable.journal.append([Event(EventKind.UNDO)])[0]
    durable.journal.close()
    with closing(sqlite3.connect(folder / 'journal/journal_0.db3')) as database, database:
        # An event of a kind that a later version may know, with a proof that holds.
        data, = database.execute('SELECT data FROM messages WHERE id = ?', (number,)).fetchone()
        from proemlc_ros.journal.entries import chain_of, digest_of
        changed = data[:17] + b'\x63' + data[18:] if data[17] == 1 else data
        row = database.execute('SELECT id, topic_id, timestamp FROM messages WHERE id = ?',
                               (number,)).fetchone()
        digest = digest_of((*row, changed))
        before, = database.execute('SELECT chain FROM proemlc_entries WHERE id = ?',
                                   (number - 1,)).fetchone()
        database.execute('UPDATE messages SET data = ? WHERE id = ?', (changed, number))
        database.execute('UPDATE proemlc_entries SET digest = ?, chain = ? WHERE id = ?',
                         (digest, chain_of(before, digest), number))
    durable = opened()
    assert durable.model.learner.samples == 4
    assert opened.report.rejections[0][0] == number
    teach_some(durable, 1, start=20)


# ----- what was accepted once -----

def test_limits_reject_nothing_that_was_accepted(opened, folder):
    wide = opened(max_labels=5000)
    names = [f'label {number}' for number in range(1500)]
    big = ProEMLC(hidden_size=10, labels=names)
    big.learn(np.zeros(12), ['label 0'])
    big.save(folder / 'big.npz')
    wide.load('big')
    teach_some(wide, 3)
    expected = scores_of(wide)
    for name in ('snapshot.npz', 'snapshot_older.npz'):
        (folder / name).unlink(missing_ok=True)
    again = opened(max_labels=10, max_label_length=2)
    assert opened.report.rejections == []
    np.testing.assert_allclose(scores_of(again), expected, atol=1e-9)
    with pytest.raises(LabelRejectedError):
        again.load('big')


@pytest.mark.parametrize('name', ['\u3164', 'e\u0301', ' cup', 'a\nb'])
def test_names_of_an_earlier_rule_are_learnt_again_as_they_were(opened, folder, name):
    durable = opened()
    teach_some(durable, 3)
    values = np.random.default_rng(7).normal(size=12).astype(np.float32)
    durable.journal.append([Annotation(9, (name, 'cup'), features=values),
                            Event(EventKind.RENAME, 0, 'cup', name + name)])
    again = opened()
    assert opened.report.rejections == []
    assert again.model.learner.labels == [name + name, 'plate', 'fork', name]
    again.undo()
    assert again.model.learner.labels == [name + name, 'plate', 'fork']


def test_a_loaded_snapshot_that_is_lost_is_built_again(folder):
    """All model files are gone, the content of the loaded snapshot too; the journal is whole."""
    first = Opened(folder)
    teach_some(first.durable, 12)
    first.durable.undo()
    first.durable.snapshot()
    teach_some(first.durable, 3, start=20)
    first.durable.load('')
    teach_some(first.durable, 2, start=30)
    expected = scores_of(first.durable)
    first.durable.journal.close()
    first.drop()
    for path in folder.rglob('*.npz'):
        path.unlink()
    again = Opened(folder)
    assert again.report.rejections == [] and again.durable.model.learner.samples == 13
    np.testing.assert_allclose(scores_of(again.durable), expected, atol=1e-9)
    again.drop()
