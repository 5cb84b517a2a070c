# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A replay in blocks gives the model, loss, undo stack and label-set version of the run itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from corrections import correct, remove, rename, turn

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import TooLargeError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Annotation, Correction, EventKind, Learnt

WIDTH = 8
INPUTS = np.random.default_rng(1).normal(size=(30, WIDTH))


def make_annotation(number: int, scale: float = 1.0) -> Annotation:
    values = (np.random.default_rng(number).normal(size=WIDTH) * scale).astype(np.float32)
    labels = (f'label {number % 6}', *([f'rare {number // 50}'] if number % 50 > 40 else []))
    return Annotation(number, labels, features=values, complete=number % 7 > 0,
                      absent=() if number % 7 else (f'absent {number // 200}',))


class Bench:
    """Opens a model directory again and again."""

    def __init__(self, folder, settings, window=50, offset=0.0):
        self.folder = folder
        self.settings = {'hidden_size': 40, **settings}
        self.window = window
        self.offset = offset
        self.directory = None

    def new_learner(self):
        return ProEMLC(**self.settings)

    def open(self):
        if self.directory is not None:
            self.directory.close()
        self.directory = ModelDirectory(self.folder)
        model = VersionedModel(self.new_learner(), undo_depth=100, window=self.window)
        model.threshold_offset = self.offset
        durable = DurableModel(model, self.new_learner, self.directory,
                               Journal(self.directory.journal))
        self.report = resume(durable)
        return durable


def learn(durable, *numbers):
    for first in range(0, len(numbers), 20):
        for answer in durable.learn([make_annotation(n) for n in numbers[first:first + 20]]):
            assert isinstance(answer, Learnt), answer


def run(durable):
    """Do everything that a journal can hold."""
    learn(durable, *range(120))
    durable.undo()
    durable.undo()
    durable.save('kitchen')
    learn(durable, *range(120, 300))
    rename(durable, 'label 2', 'label two')
    learn(durable, 300, 301)
    remove(durable, 'label two')
    durable.undo()
    learn(durable, *range(302, 500))
    durable.undo()
    learn(durable, *range(500, 540))
    durable.undo()
    durable.undo()
    learn(durable, 700, 701)


@pytest.mark.parametrize(('settings', 'offset'), [
    ({}, 0.0), ({}, 0.3), ({'activation': 'relu', 'scaling': 'none'}, 0.0),
    ({'activation': 'tanh', 'forgetting': 0.99}, 0.0)])
def test_everything_is_as_it_was(tmp_path, settings, offset):
    bench = Bench(tmp_path / 'model', settings, offset=offset)
    durable = bench.open()
    run(durable)
    model, again = durable.model, bench.open().model
    assert bench.report.rejections == [] and bench.report.missing == []
    assert bench.report.replayed == durable.journal.last_number
    assert again.learner.labels == model.learner.labels
    assert again.learner.counts == model.learner.counts
    assert again.learner.samples == model.learner.samples
    np.testing.assert_allclose(again.learner.scores(INPUTS), model.learner.scores(INPUTS),
                               atol=1e-9)
    for learner in (again.learner, model.learner):  # In a stream, the rule may be a bit behind.
        learner.fit_decision()
    np.testing.assert_allclose(again.learner.thresholds, model.learner.thresholds, atol=1e-9)
    # The rolling loss is that of the samples in force with their present labels, decided by rules
    # of slightly different age.
    assert again.hamming.loss == pytest.approx(model.hamming.loss, abs=0.04)
    assert again.version == model.version
    assert again.extractor == model.extractor
    bench.directory.close()


@pytest.mark.parametrize('settings', [{}, {'activation': 'relu', 'scaling': 'none'}])
def test_a_resumed_model_decides_as_the_one_that_went_on(tmp_path, settings):
    bench = Bench(tmp_path / 'model', settings)
    durable = bench.open()
    learn(durable, *range(430))
    model, again = durable.model, bench.open().model
    np.testing.assert_allclose(again.learner.thresholds, model.learner.thresholds, atol=1e-9)
    np.testing.assert_allclose(again.learner.probabilities(INPUTS),
                               model.learner.probabilities(INPUTS), atol=1e-9)
    assert again.hamming.loss == model.hamming.loss
    for number in range(430, 460):
        learn(durable, number)
        again.learn(make_annotation(number))
    np.testing.assert_allclose(again.learner.thresholds, model.learner.thresholds, atol=1e-9)
    bench.directory.close()


def test_one_rejected_annotation_does_not_reject_its_block(tmp_path, monkeypatch):
    # An earlier version did not record it, nor does one that is killed at once.
    monkeypatch.setattr(DurableModel, '_record_rejected', lambda *numbers: None)
    bench = Bench(tmp_path / 'model', {'activation': 'relu', 'scaling': 'none'})
    durable = bench.open()
    learn(durable, *range(30))
    answer, = durable.learn([make_annotation(30, scale=1e25)])
    assert not isinstance(answer, Learnt)
    learn(durable, *range(31, 100))
    again = bench.open()
    (number, reason), = bench.report.rejections
    assert number == 31 and 'precision' in reason
    assert any('entry 31 was not learnt again' in note for note in bench.report.notes)
    np.testing.assert_allclose(again.model.learner.scores(INPUTS),
                               durable.model.learner.scores(INPUTS), atol=1e-9)
    bench.directory.close()


@pytest.mark.parametrize('lost', [(20,), (19, 20), (19,), (21,), (20, 21)])
def test_undos_of_lost_annotations_take_nothing_else_back(tmp_path, lost):
    """Entries 19 and 20 are undone by 21 and 22; all of it long before the rolling loss."""
    bench = Bench(tmp_path / 'model', {'activation': 'relu', 'scaling': 'none'}, window=10)
    durable = bench.open()
    learn(durable, *range(20))
    durable.undo()
    durable.undo()
    learn(durable, *range(20, 80))
    durable.journal.close()
    with closing(sqlite3.connect(tmp_path / 'model/journal/journal_0.db3')) as database, database:
        database.executemany('DELETE FROM messages WHERE id = ?', [(number,) for number in lost])
    durable = bench.open()
    assert bench.report.missing or bench.report.notes
    expected, learner = bench.new_learner(), durable.model.learner
    for number in (*range(18), *range(20, 80)):
        said = make_annotation(number)
        expected.learn(said.features, said.labels, said.absent, said.complete)
    assert learner.samples == expected.samples
    np.testing.assert_allclose(
        learner.scores(INPUTS)[:, [learner.labels.index(name) for name in expected.labels]],
        expected.scores(INPUTS), atol=1e-8)
    bench.directory.close()


def test_what_the_learner_rejected_is_known_to_every_reader_of_the_journal(tmp_path):
    bench = Bench(tmp_path / 'model', {'activation': 'relu', 'scaling': 'none'})
    durable = bench.open()
    learn(durable, *range(5))
    huge = make_annotation(5)._replace(features=np.full(WIDTH, 3e38, np.float32),
                                       labels=('last', 'gone'))
    first, rejected, last = durable.learn([
        make_annotation(6), huge, make_annotation(7)._replace(labels=('new', 'last'))])
    labels = durable.model.learner.labels
    assert labels[-2:] == ['new', 'last']
    assert isinstance(first, Learnt) and isinstance(last, Learnt)
    assert isinstance(rejected, TooLargeError)
    for path in bench.directory.snapshots:  # They know it too.
        path.unlink(missing_ok=True)
    durable = bench.open()
    assert durable.model.learner.labels == labels == [*durable.table.state.labels]
    durable.reset()
    for path in bench.directory.snapshots:
        path.unlink(missing_ok=True)
    durable = bench.open()
    turn(durable, EventKind.UNDO)  # Of the reset.
    assert durable.model.learner.samples == len(durable.table.samples) == 7
    assert 7 not in durable.table.steps
    table = SampleTable().follow(Journal(durable.journal.folder, read_only=True).entries())
    assert [*table.samples] == [1, 2, 3, 4, 5, 6, 8]
    durable.compact()
    assert not durable.table.rejected and not bench.open().table.rejected


def test_many_samples_are_corrected_behind_a_compaction(tmp_path):
    # Nothing can be learnt again from the start, however many samples a correction is about.
    bench = Bench(tmp_path / 'model', {'activation': 'relu', 'scaling': 'none'})
    durable = bench.open()
    learn(durable, *range(20))
    durable.compact()
    learn(durable, *range(20, 70))
    for _ in range(2):
        durable.snapshot()  # Both hold the samples, and their entries stay.
    said = dict(durable.table.samples)
    correct(durable, [Correction(number, (*one.labels, 'other'), one.absent, one.complete)
                      for number, one in said.items()])
    assert len(said) == 50 and durable.model.learner.counts[-1] == 50
    durable = bench.open()
    assert not bench.report.rejections
    expected = bench.new_learner()
    for number in range(70):
        one = make_annotation(number)
        labels = one.labels if number < 20 else (*one.labels, 'other')
        expected.learn(one.features, labels, one.absent, one.complete)
    assert durable.model.learner.samples == 70
    np.testing.assert_allclose(
        durable.model.learner.scores(INPUTS)[:, [durable.model.learner.labels.index(name)
                                                 for name in expected.labels]],
        expected.scores(INPUTS), atol=1e-8)
    bench.directory.close()
