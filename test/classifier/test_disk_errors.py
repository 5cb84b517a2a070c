# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the disk: what is answered is what a restart finds, and learning goes on later."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess

import numpy as np
import pytest
from durable_model_stand import Opened, make_annotation, scores_of, teach_some

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError
from proemlc_ros.journal.journal import Attachments
from proemlc_ros.journal.sqlite_file import SqliteFile
from proemlc_ros.records import Learnt

IO_ERROR = sqlite3.OperationalError('disk I/O error')


@pytest.fixture
def folder(tmp_path):
    return tmp_path / 'model'


def learn(durable, number):
    answer, = durable.learn([make_annotation(number, 'cup')])
    return answer


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, 'No space left on device')


# ----- around a commit -----

def test_a_failure_behind_the_commit_does_not_reject_what_was_written(opened, monkeypatch):
    durable = opened()
    teach_some(durable, 3)
    with monkeypatch.context() as patched:
        patched.setattr(os, 'truncate', no_space)
        for number in range(10, 60):  # More than the guard at the end of the file takes.
            assert isinstance(learn(durable, number), Learnt)
    original = SqliteFile.append

    def fails_late(self, *args):
        original(self, *args)
        raise IO_ERROR
    with monkeypatch.context() as patched:
        patched.setattr(SqliteFile, 'append', fails_late)
        assert isinstance(learn(durable, 60), Learnt)
    assert isinstance(learn(durable, 61), Learnt)
    expected = scores_of(durable)
    assert opened().model.learner.samples == 55
    np.testing.assert_allclose(scores_of(opened()), expected, atol=1e-9)


def test_what_was_rejected_is_not_learnt_after_a_restart(opened, monkeypatch):
    durable = opened()
    teach_some(durable, 3)

    def fails(self, *_):
        raise IO_ERROR
    with monkeypatch.context() as patched:
        patched.setattr(SqliteFile, 'append', fails)
        assert isinstance(learn(durable, 10), JournalError)
        assert durable.journal.problem
    assert durable.model.learner.samples == 3
    assert isinstance(learn(durable, 11), Learnt)
    assert not durable.journal.problem
    stamps = [entry.record.stamp for entry in opened().journal.entries()]
    assert stamps[3:] == [1011]


def test_what_cannot_be_told_is_withdrawn(opened, monkeypatch):
    durable = opened()
    teach_some(durable, 3)
    original, make = SqliteFile.append, SqliteFile.__init__

    def fails_late(self, *args):
        original(self, *args)
        raise IO_ERROR

    def gone(self, path, read_only=False):
        raise IO_ERROR
    with monkeypatch.context() as patched:
        patched.setattr(SqliteFile, 'append', fails_late)
        patched.setattr(SqliteFile, '__init__', gone)
        answer = learn(durable, 10)
        assert isinstance(answer, JournalError) and 'may have been written' in str(answer)
        assert isinstance(learn(durable, 11), JournalError)
    assert SqliteFile.__init__ is make
    answer = learn(durable, 12)
    assert isinstance(answer, Learnt) and answer.number == 4
    stamps = [entry.record.stamp for entry in opened().journal.entries()]
    assert stamps[3:] == [1012]


# ----- all or nothing -----

def test_load_is_all_or_nothing(opened, monkeypatch, folder):
    durable = opened()
    teach_some(durable, 5)
    durable.save('kitchen')
    teach_some(durable, 5, start=5)
    before = scores_of(durable)
    for owner, name in ((Attachments, 'add'), (SqliteFile, 'append')):
        with monkeypatch.context() as patched, pytest.raises((OSError, JournalError)):
            patched.setattr(owner, name, no_space)
            durable.load('kitchen')
        np.testing.assert_array_equal(scores_of(durable), before)
        assert durable.journal.last_number == 10
        np.testing.assert_allclose(scores_of(opened()), before, atol=1e-9)
        durable = opened()


@pytest.mark.parametrize('change', ['load', 'reset'])
def test_a_snapshot_that_cannot_be_written_afterwards_is_a_warning(opened, monkeypatch, change):
    durable = opened()
    teach_some(durable, 5)
    durable.save('kitchen')
    teach_some(durable, 5, start=5)
    warnings = []
    durable.on_warning = warnings.append
    with monkeypatch.context() as patched:
        patched.setattr(durable.snapshots, 'write', no_space)
        durable.load('kitchen') if change == 'load' else durable.reset()
    assert 'cannot write the snapshot' in warnings[0]
    assert opened().model.learner.samples == (5 if change == 'load' else 0)


def test_a_reset_that_cannot_keep_the_model_changes_nothing(opened, monkeypatch):
    durable = opened()
    teach_some(durable, 5)
    with monkeypatch.context() as patched, pytest.raises(OSError, match='No space'):
        patched.setattr(ProEMLC, 'save', no_space)
        durable.reset()
    assert opened().model.learner.samples == 5


# ----- a real disk -----

@pytest.fixture
def disk(tmp_path):
    """Return the folder of a disk of 3 MB, and a function that mounts it again."""
    folder = tmp_path / 'disk'
    folder.mkdir()

    def mount(*options):
        return subprocess.run(['mount', '-t', 'tmpfs', '-o', ','.join(('size=3m', *options)),
                               'tmpfs', folder], capture_output=True).returncode
    try:
        mounted = mount() == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip('no permission to mount a disk')
    try:
        yield folder, mount
    finally:
        subprocess.run(['umount', '-l', folder], check=True)


def fill(folder):
    """Leave no byte free; return the file that takes the space."""
    filler = folder / 'filler'
    with filler.open('wb', buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            pass
    return filler


def test_a_disk_that_fills_up_and_is_freed(disk):
    folder, _ = disk
    opened = Opened(folder / 'model')
    durable = opened.durable
    teach_some(durable, 5)
    durable.save('kitchen')
    filler = fill(folder)
    acknowledged = ['cup'] * 5
    rejected = 0
    for number in range(100, 400):
        answer = learn(durable, number)
        acknowledged += [number] if isinstance(answer, Learnt) else []
        rejected += isinstance(answer, JournalError)
    assert rejected
    with pytest.raises((OSError, JournalError)):
        durable.load('kitchen')
    opened.drop()
    # A start on the full disk: everything is there, nothing can be learnt, and it says so.
    opened = Opened(folder / 'model')
    durable = opened.durable
    assert durable.model.learner.samples == len(acknowledged)
    assert isinstance(learn(durable, 500), JournalError)
    assert 'No space' in durable.journal.problem
    assert any('nothing can be learnt now' in note for note in opened.report.notes)
    filler.unlink()
    assert isinstance(learn(durable, 501), Learnt)
    assert not durable.journal.problem
    opened.drop()
    assert Opened(folder / 'model').durable.model.learner.samples == len(acknowledged) + 1


def test_a_start_on_a_full_disk_without_anything(disk):
    folder, _ = disk
    filler = fill(folder)
    opened = Opened(folder / 'model')
    assert isinstance(learn(opened.durable, 1), JournalError)
    filler.unlink()
    assert isinstance(learn(opened.durable, 2), Learnt)
    opened.drop()
    assert Opened(folder / 'model').durable.model.learner.samples == 1


@pytest.mark.parametrize('damaged', [False, True])
def test_a_start_on_a_read_only_disk(disk, damaged):
    folder, mount = disk
    opened = Opened(folder / 'model')
    teach_some(opened.durable, 5)
    opened.journal.close()
    opened.drop()
    file = folder / 'model/journal/journal_0.db3'
    if damaged:
        data = bytearray(file.read_bytes())
        data[100:4096] = os.urandom(3996)
        file.write_bytes(data)
    assert mount('remount', 'ro') == 0
    opened = Opened(folder / 'model')
    durable = opened.durable
    assert durable.model.learner.samples == 5
    assert isinstance(learn(durable, 10), JournalError)
    assert mount('remount', 'rw') == 0
    assert isinstance(learn(durable, 11), Learnt)
    assert durable.model.learner.samples == 6
    opened.drop()
    assert Opened(folder / 'model').durable.model.learner.samples == 6
