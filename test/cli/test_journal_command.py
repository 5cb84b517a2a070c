# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc journal check | repair | backup | compact`, also beside a classifier that runs."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.cli.options import load_model
from proemlc_ros.cli.terminal import ProgressBar
from proemlc_ros.core import ProEMLC
from proemlc_ros.journal.check import back_up
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Learnt

MESSAGES = RosbagsMessages()
WIDTH = 8
INPUTS = np.random.default_rng(1).normal(size=(10, WIDTH))


def make_annotation(number):
    values = np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)
    return Annotation(number, (f'label {number % 5}',), features=values)


def new_learner():
    return ProEMLC(hidden_size=20, activation='relu', scaling='none')


def open_model(folder, **options):
    directory = ModelDirectory(folder)
    journal = Journal(directory.journal, **options)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    return durable, resume(durable)


def learn(durable, *numbers):
    for answer in durable.learn([make_annotation(number) for number in numbers]):
        assert isinstance(answer, Learnt), answer


@pytest.fixture
def folder(tmp_path):
    """Return a model directory of 40 entries, with a snapshot of the first 20 and a file."""
    durable, _ = open_model(tmp_path / 'model')
    learn(durable, *range(1, 11))
    durable.save('kitchen')
    durable.load('kitchen')
    learn(durable, *range(12, 21))
    durable.snapshot()
    learn(durable, *range(21, 41))
    durable.journal.close()
    durable.directory.close()
    return tmp_path / 'model'


def test_results_for_programs(folder, proemlc, tmp_path):
    code, out, _ = proemlc('journal', 'check', folder, '--json')
    assert code == 0 and json.loads(out)['last'] == 40 and json.loads(out)['problems'] == []
    assert proemlc('train', folder, '-o', tmp_path / 'new.npz')[0] == 0
    code, out, _ = proemlc('info', folder, tmp_path / 'new.npz', '--json')
    journal, model = map(json.loads, out.splitlines())
    assert (journal['kind'], model['kind']) == ('journal', 'model')
    assert journal['samples'] == model['samples'] == 39
    assert journal['labels'] == model['labels'] == {
        f'label {number}': 8 - (number == 1) for number in (1, 2, 3, 4, 0)}
    damage(folder, 30)
    code, out, _ = proemlc('journal', 'check', folder, '--json')
    assert code == 1 and 'entry 30' in ' '.join(json.loads(out)['problems'])


@pytest.mark.parametrize('given', ['.', 'model', 'model/journal'])
def test_every_command_takes_the_folder_of_teach(folder, proemlc, tmp_path, given):
    path = tmp_path / given
    for words in (('info', path), ('journal', 'check', path), ('evaluate', path),
                  ('train', path, '-o', tmp_path / 'new.npz'), ('select', path, '--sizes', '5'),
                  ('merge', path, '-o', tmp_path / 'merged.npz')):
        code, out, error = proemlc(*words)
        assert code == 0, (words, error)
    assert ProEMLC.load(tmp_path / 'merged.npz').samples == 39
    if given != 'model/journal':
        assert proemlc('evaluate', path, '--model', path, '--frozen')[0] == 0
        assert proemlc('journal', 'backup', path, tmp_path / 'copy')[0] == 0
        assert proemlc('journal', 'compact', path)[0] == 0


def damage(folder, number):
    file = folder / 'journal/journal_0.db3'
    data = bytearray(file.read_bytes())
    data[data.index(make_annotation(number).features.tobytes())] ^= 1
    file.write_bytes(data)


def test_check_counts_what_is_proven(proemlc, folder):
    code, out, _ = proemlc('journal', 'check', folder)
    assert code == 0
    assert '1 journal file, last entry 40; 40 entries proven, 0 of an earlier version' in out
    assert 'snapshot.npz: whole, holds the entries up to 20' in out


@pytest.mark.parametrize('action', ['check', 'repair', 'compact'])
def test_reading_a_journal_shows_its_progress(proemlc, folder, monkeypatch, action):
    done = []

    class Bar(ProgressBar):
        def advance(self, steps=1):
            done.append((self._total, steps))

    monkeypatch.setattr('proemlc_ros.cli.journal.ProgressBar', Bar)
    assert proemlc('journal', action, folder)[0] == 0
    assert done == 40 * [(40, 1)]


def test_check_names_what_is_damaged_and_changes_nothing(proemlc, folder):
    damage(folder, 30)
    (folder / 'snapshot_older.npz').write_bytes(b'')
    attachment, = (folder / 'journal/attachments').iterdir()
    attachment.write_bytes(b'')
    before = {path: path.read_bytes() for path in folder.rglob('*') if path.is_file()}
    code, out, _ = proemlc('journal', 'check', folder)
    assert code == 1
    assert 'damaged: journal_0.db3: entry 30 is not what was written' in out
    assert 'damaged: snapshot_older.npz' in out
    assert attachment.name in out
    assert before == {path: path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def test_repair_keeps_what_proves_itself(proemlc, folder):
    damage(folder, 30)
    code, out, _ = proemlc('journal', 'repair', folder)
    assert code == 0
    assert 'entries 30 are lost' in out and '1 repair, 39 entries' in out
    assert proemlc('journal', 'repair', folder)[1].startswith(f'{folder}: 0 repairs')
    code, out, _ = proemlc('journal', 'check', folder)
    assert code == 1 and 'no entry has the number 30' in out


def test_check_and_repair_take_the_folder_of_a_journal(proemlc, folder, tmp_path):
    copy = (folder / 'journal').rename(tmp_path / 'robot1')
    assert proemlc('journal', 'check', copy)[0] == 0
    assert proemlc('journal', 'repair', copy)[1].startswith(f'{copy}: 0 repairs')
    copy.rename(folder / 'journal')
    code, out, _ = proemlc('journal', 'check', folder / 'journal')
    assert code == 0 and 'snapshot.npz: whole' in out
    durable, _ = open_model(folder)
    code, _, err = proemlc('journal', 'repair', folder / 'journal')
    assert code == 1 and 'another classifier uses' in err
    durable.directory.close()


def test_check_names_a_missing_end(proemlc, folder):
    with closing(sqlite3.connect(folder / 'journal/journal_0.db3')) as database, database:
        for table in ('messages', 'proemlc_entries'):
            database.execute(f'DELETE FROM {table} WHERE id > 10')
    code, out, _ = proemlc('journal', 'check', folder)
    assert code == 1
    assert 'the journal ended with entry 40, its files end with entry 10' in out


def test_compact_drops_what_both_snapshots_hold(proemlc, folder):
    durable, _ = open_model(folder)
    expected = durable.model.learner.scores(INPUTS)
    durable.directory.close()
    code, out, _ = proemlc('journal', 'compact', folder)
    assert code == 0 and 'the snapshots hold the entries up to 40' in out
    assert not list((folder / 'journal/attachments').iterdir())
    code, out, _ = proemlc('journal', 'check', folder)
    assert code == 0 and '0 entries proven' in out
    durable, report = open_model(folder)
    assert report.missing == []
    np.testing.assert_allclose(durable.model.learner.scores(INPUTS), expected, atol=1e-9)
    learn(durable, 41)
    durable.directory.close()


def test_compact_without_a_snapshot_asks_for_one(proemlc, folder):
    for name in ('snapshot.npz', 'snapshot_older.npz'):
        (folder / name).unlink(missing_ok=True)
    code, _, err = proemlc('journal', 'compact', folder)
    assert code == 1 and 'start the classifier once' in err


@pytest.mark.parametrize('action', ['repair', 'compact'])
def test_a_running_classifier_is_not_disturbed(proemlc, folder, action):
    durable, _ = open_model(folder)
    code, _, err = proemlc('journal', action, folder)
    assert code == 1 and 'another classifier uses' in err
    assert proemlc('journal', 'check', folder)[0] == 0
    durable.directory.close()


def test_a_folder_without_a_journal_is_named(proemlc, tmp_path):
    for words in (('check',), ('repair',), ('compact',), ('backup', tmp_path / 'copy')):
        code, _, err = proemlc('journal', words[0], tmp_path, *words[1:])
        assert code == 1 and 'no journal in this folder' in err


def test_backup_gives_a_directory_that_goes_on(proemlc, folder, tmp_path):
    code, out, _ = proemlc('journal', 'backup', folder, tmp_path / 'copy')
    assert code == 0 and 'entries up to 40' in out
    durable, _ = open_model(tmp_path / 'copy')
    assert durable.model.learner.samples == 39
    durable.directory.close()
    code, _, err = proemlc('journal', 'backup', folder, tmp_path / 'copy')
    assert code == 1 and 'not empty' in err


def test_backup_while_much_is_learnt(tmp_path):
    """The copy has a prefix of what was acknowledged before its end, also while files go."""
    durable, _ = open_model(tmp_path / 'model', max_file_bytes=60_000, max_bytes=240_000)
    acknowledged = []
    done = threading.Event()

    def annotate():
        number = 0
        while not done.is_set():
            numbers = range(number + 1, number + 8)
            learn(durable, *numbers)
            number = numbers[-1]
            acknowledged.extend(numbers)
            if number % 70 == 0:
                durable.snapshot()
    thread = threading.Thread(target=annotate)
    thread.start()
    try:
        for copy in range(4):
            before = len(acknowledged)
            while len(acknowledged) < before + 100:
                done.wait(0.001)
            back_up(tmp_path / 'model', tmp_path / str(copy))
            ended = len(acknowledged)
            copied, report = open_model(tmp_path / str(copy))
            learnt = copied.model.learner.samples
            assert before <= learnt <= ended + 7
            assert report.missing == [] and report.rejections == []
            never = new_learner()
            for number in range(1, learnt + 1):
                annotation = make_annotation(number)
                never.learn(annotation.features, annotation.labels)
            np.testing.assert_allclose(copied.model.learner.scores(INPUTS), never.scores(INPUTS),
                                       atol=1e-8)
            copied.directory.close()
    finally:
        done.set()
        thread.join()
        durable.directory.close()


def test_the_model_of_a_compacted_journal_is_whole(proemlc, folder, tmp_path):
    whole = load_model(folder)
    assert whole.samples == 39
    durable, _ = open_model(folder)
    durable.snapshot()
    durable.journal.close()
    durable.directory.close()
    assert proemlc('journal', 'compact', folder)[0] == 0
    assert Journal(folder / 'journal', read_only=True).dropped()
    for path in (folder, folder / 'journal'):
        compacted = load_model(path)
        assert (compacted.samples, compacted.labels) == (39, whole.labels)
        np.testing.assert_allclose(compacted.scores(INPUTS), whole.scores(INPUTS), atol=1e-8)
