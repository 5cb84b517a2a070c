# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""An undo is exact, or says no and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from corrections import remove, rename

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError, UndoError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Learnt

WIDTH = 16
INPUTS = np.random.default_rng(3).integers(0, 4096, (20, WIDTH)).astype(float)
ILL_CONDITIONED = {'hidden_size': 60, 'activation': 'relu', 'scaling': 'none', 'seed': 1}


def make_annotation(number: int) -> Annotation:
    values = np.random.default_rng(number).integers(0, 4096, WIDTH).astype(np.float32)
    return Annotation(number, (f'label {number % 4}', f'rare {number // 5}'), features=values)


class Bench:
    """Durable models on one folder, and models that learn the same without a journal."""

    def __init__(self, folder, **settings):
        self.folder = folder
        self.settings = settings or ILL_CONDITIONED
        self.durable = None
        self.warnings = []

    def new_learner(self):
        return ProEMLC(**self.settings)

    def open(self):
        if self.durable is not None:
            self.durable.directory.close()
        directory = ModelDirectory(self.folder)
        self.durable = DurableModel(
            VersionedModel(self.new_learner()), self.new_learner, directory,
            Journal(directory.journal), on_warning=self.warnings.append)
        self.report = resume(self.durable)
        return self.durable

    def learn(self, *numbers):
        for number in numbers:
            answer, = self.durable.learn([make_annotation(number)])
            assert isinstance(answer, Learnt), answer

    def assert_has_learnt(self, *numbers):
        never = self.new_learner()
        for number in numbers:
            annotation = make_annotation(number)
            never.learn(annotation.features, annotation.labels)
        learner = self.durable.model.learner
        assert learner.labels == never.labels
        assert learner.counts == never.counts
        np.testing.assert_allclose(learner.scores(INPUTS), never.scores(INPUTS), atol=1e-8)
        np.testing.assert_allclose(learner.thresholds, never.thresholds, atol=1e-8)


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path / 'model')
    bench.open()
    yield bench
    bench.durable.directory.close()


def test_every_undo_is_exact_where_unlearning_is_ill_conditioned(bench):
    bench.learn(*range(12))
    for left in range(11, -1, -1):
        assert bench.durable.undo().stamp == left
        bench.assert_has_learnt(*range(left))
    with pytest.raises(UndoError):
        bench.durable.undo()


def test_undo_begins_at_the_snapshot_before_the_annotation(bench):
    bench.learn(*range(10))
    bench.durable.snapshot()
    bench.learn(10, 11)
    bench.durable.snapshot()
    bench.learn(12)
    bench.durable.undo()
    bench.learn(13)
    for expected in (13, 11, 10, 9):
        assert bench.durable.undo().stamp == expected
    bench.assert_has_learnt(*range(9))


def test_undo_follows_labels_that_were_renamed_and_removed_meanwhile(bench):
    bench.learn(*range(6))
    rename(bench.durable, 'rare 1', 'seldom')
    remove(bench.durable, 'label 2')
    bench.durable.undo()
    learner = bench.durable.model.learner
    assert learner.labels == ['label 0', 'rare 0', 'label 1', 'label 3']
    never = bench.new_learner()
    for number in range(5):
        never.learn(make_annotation(number).features, make_annotation(number).labels)
    never.remove_label('label 2')
    np.testing.assert_allclose(learner.scores(INPUTS), never.scores(INPUTS), atol=1e-8)


def test_a_restart_between_gives_the_same(bench):
    bench.learn(*range(8))
    bench.durable.undo()
    bench.durable.undo()
    bench.learn(20, 21)
    bench.durable.undo()
    version = bench.durable.model.version
    bench.open()
    assert bench.report.rejections == []
    bench.assert_has_learnt(*range(6), 20)
    assert bench.durable.model.version == version
    assert bench.durable.undo().stamp == 20
    bench.assert_has_learnt(*range(6))


def test_an_undo_that_is_not_possible_changes_nothing(bench, monkeypatch):
    bench.learn(*range(5))
    before = bench.durable.model.learner.scores(INPUTS)

    def full(*_):
        raise JournalError('the disk is full')
    with monkeypatch.context() as patched:
        patched.setattr(bench.durable.journal, 'write', full)
        with pytest.raises(JournalError):
            bench.durable.undo()
    bench.durable.snapshot()
    bench.durable.compact()
    with pytest.raises(UndoError, match='no annotation is left'):
        bench.durable.undo()
    np.testing.assert_array_equal(bench.durable.model.learner.scores(INPUTS), before)
    assert bench.durable.journal.last_number == 5


@pytest.mark.parametrize('settings', [
    {}, {'activation': 'relu', 'scaling': 'none'}, {'activation': 'tanh', 'forgetting': 0.98},
    {'ridge': 1e-6}, {'direct_links': True}])
def test_undo_is_exact_with_other_settings(tmp_path, settings):
    bench = Bench(tmp_path / 'model', hidden_size=40, seed=2, **settings)
    bench.open()
    bench.learn(*range(40))
    bench.durable.snapshot()
    bench.learn(*range(40, 60))
    for _ in range(29):
        bench.durable.undo()
    bench.assert_has_learnt(*range(31))
    bench.durable.directory.close()
