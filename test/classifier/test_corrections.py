# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""After a correction the model is the one that was taught rightly from the start."""

from __future__ import annotations

import random

import numpy as np
import pytest
from corrections import correct, merge_labels, remove, rename
from durable_model_stand import WIDTH, redo, undo

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import SampleError, UndoError, UnknownLabelError
from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Annotation, ClientRequest, Correction, Event, EventKind, Learnt

INPUTS = np.random.default_rng(5).normal(size=(20, WIDTH))
NAMES = ['cup', 'plate', 'fork', 'knife', 'spoon']
SETTINGS = [
    {'warmup': 6}, {'activation': 'relu', 'scaling': 'none'},
    {'activation': 'tanh', 'scaling': 'none', 'forgetting': 0.98}]


def features_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)


def annotation(number: int, *labels: str, who: str = '', complete: bool = True) -> Annotation:
    return Annotation(1000 + number, labels, complete=complete, features=features_of(number),
                      annotator=who)


def labels_of(number: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys([NAMES[number % 5], NAMES[number % 3]]))


class Bench:
    """A model directory that is opened again and again, and what was taught rightly."""

    def __init__(self, folder, **settings):
        self.folder = folder
        self.settings = {'hidden_size': 20, 'seed': 4, **settings}
        self.directory = None
        self.open()

    def new_learner(self) -> ProEMLC:
        return ProEMLC(**self.settings)

    def open(self) -> DurableModel:
        """Open the folder as after a crash."""
        if self.directory is not None:
            self.directory.close()
        self.directory = ModelDirectory(self.folder)
        self.durable = DurableModel(VersionedModel(self.new_learner()), self.new_learner,
                                    self.directory, Journal(self.directory.journal))
        self.report = resume(self.durable)
        return self.durable

    def teach(self, *annotations: Annotation) -> list[int]:
        numbers = []
        for learnt in self.durable.learn(annotations):
            assert isinstance(learnt, Learnt), learnt
            numbers.append(learnt.number)
        return numbers

    def teach_some(self, count: int, start: int = 0, who: str = '') -> list[int]:
        return self.teach(*(annotation(number, *labels_of(number), who=who)
                            for number in range(start, start + count)))

    def assert_model_is_of(self, samples) -> None:
        """Compare with a model that has learnt these samples: (number, labels) in order."""
        expected = self.new_learner()
        for number, labels in samples:
            expected.learn(features_of(number), list(labels))
        self.assert_equals(expected)

    def assert_equals(self, expected: ProEMLC) -> None:
        learner = self.durable.model.learner
        assert sorted(learner.labels) == sorted(expected.labels)
        assert learner.samples == expected.samples
        order = [learner.labels.index(name) for name in expected.labels]
        assert [learner.counts[place] for place in order] == expected.counts
        np.testing.assert_allclose(learner.scores(INPUTS)[:, order], expected.scores(INPUTS),
                                   atol=1e-8)


@pytest.fixture(params=SETTINGS, ids=['radial', 'relu', 'forgetting'])
def bench(request, tmp_path):
    bench = Bench(tmp_path / 'model', **request.param)
    yield bench
    bench.directory.close()


def taught(count: int, **changed) -> list[tuple[int, tuple[str, ...]]]:
    """Return what `teach_some` taught, with other labels for some, None for those deleted."""
    samples = [(number, labels_of(number)) for number in range(count)]
    return [(number, changed.get(f's{number}', labels)) for number, labels in samples
            if changed.get(f's{number}', labels) is not None]


def test_any_sample_can_be_relabelled_and_deleted(bench):
    numbers = bench.teach_some(14)
    durable = bench.durable
    for place in (12, 2, 7):
        event, = correct(durable, [Correction(numbers[place], ('cup', 'new'))], 'Ada')
        assert event.kind is EventKind.RELABEL and event.annotator == 'Ada'
    correct(durable, [Correction(numbers[1], delete=True)])
    correct(durable, [Correction(numbers[9], delete=True)])
    right = taught(14, s12=('cup', 'new'), s2=('cup', 'new'), s7=('cup', 'new'), s1=None, s9=None)
    bench.assert_model_is_of(right)
    bench.open()
    assert bench.report.rejections == []
    bench.assert_model_is_of(right)
    with pytest.raises(SampleError, match='not part of the model'):
        correct(bench.durable, [Correction(numbers[9], ('cup',))])


def test_incomplete_annotations_are_corrected_without_learning_all_again(tmp_path, monkeypatch):
    bench = Bench(tmp_path / 'model', warmup=6)
    bench.teach_some(8)
    numbers = bench.teach(*(annotation(number, NAMES[number % 5], complete=False)
                            for number in range(8, 16)))

    def refuse(*args):
        raise AssertionError('everything is learnt again')

    monkeypatch.setattr('proemlc_ros.classifier.versioned_model.Follower.relearnt', refuse)
    durable = bench.durable
    correct(durable, [Correction(numbers[1], ('cup', 'fork'), complete=False)])
    correct(durable, [Correction(numbers[2], ('spoon',))])
    correct(durable, [Correction(numbers[3], delete=True)])
    undo(durable)
    expected = bench.new_learner()
    for number in range(8):
        expected.learn(features_of(number), labels_of(number))
    for number in range(8, 16):
        names = {9: ('cup', 'fork'), 10: ('spoon',)}.get(number, (NAMES[number % 5],))
        expected.learn(features_of(number), names, complete=number == 10)
    bench.assert_equals(expected)
    bench.directory.close()


def test_a_label_that_no_sample_shows_any_more_is_gone(bench):
    bench.teach_some(8)
    wrong, = bench.teach(annotation(8, 'cupp'))
    correct(bench.durable, [Correction(wrong, ('cup',))])
    assert 'cupp' not in bench.durable.model.learner.labels
    bench.assert_model_is_of([*taught(8), (8, ('cup',))])
    undo(bench.durable)
    assert 'cupp' in bench.durable.model.learner.labels
    redo(bench.durable)
    bench.durable.undo()  # The last annotation, whatever was done to it.
    bench.assert_model_is_of(taught(8))


def test_everything_can_be_undone_and_made_again(bench):
    bench.teach_some(10)
    bench.durable.save('kitchen')
    durable = bench.durable
    states = [bench.durable.model.learner.copy()]

    def do(action):
        action()
        states.append(bench.durable.model.learner.copy())
    do(lambda: rename(bench.durable, 'cup', 'mug', 'Ada'))
    do(lambda: remove(bench.durable, 'plate'))
    do(lambda: bench.teach(annotation(30, 'fork', 'owl')))
    do(lambda: merge_labels(durable, 'knife', 'fork'))
    do(lambda: correct(durable, [Correction(3, ('spoon',))]))
    do(lambda: correct(durable, [Correction(4, delete=True)]))
    do(lambda: bench.durable.load('kitchen'))
    do(lambda: bench.teach(annotation(31, 'cup')))
    do(lambda: bench.durable.reset())
    do(lambda: bench.teach(annotation(32, 'alone')))
    for state in reversed(states[:-1]):
        undo(durable)
        bench.assert_equals(state)
    bench.open()
    bench.assert_equals(states[0])
    for state in states[1:]:
        redo(bench.durable)
        bench.assert_equals(state)
    bench.open()
    bench.assert_equals(states[-1])
    with pytest.raises(UndoError, match='nothing to redo'):
        redo(bench.durable)


def test_labels_that_a_snapshot_knows_apart_are_merged(bench):
    bench.teach_some(12)
    bench.durable.snapshot()
    bench.teach_some(6, start=12)
    merged = [(number, dict.fromkeys('cup' if name == 'plate' else name for name in labels))
              for number, labels in taught(18)]
    merge_labels(bench.durable, 'plate', 'cup')
    bench.assert_model_is_of(merged)
    undo(bench.durable)
    bench.assert_model_is_of(taught(18))
    redo(bench.durable)
    bench.assert_model_is_of(merged)
    bench.open()
    bench.assert_model_is_of(merged)


def test_a_merge_behind_a_snapshot_takes_back_what_was_absent(bench):
    bench.teach_some(12)
    bench.teach(annotation(12, 'cup', complete=False)._replace(absent=('plate',)))
    bench.durable.snapshot()
    bench.teach(annotation(13, 'owl'))
    merge_labels(bench.durable, 'owl', 'plate')  # Absent is only what neither of the two is.
    expected = bench.new_learner()
    for number in range(12):
        expected.learn(features_of(number), labels_of(number))
    expected.learn(features_of(12), ['cup'], complete=False)
    expected.learn(features_of(13), ['plate'])
    bench.assert_equals(expected)
    bench.open()
    bench.assert_equals(expected)


@pytest.mark.parametrize('change', [
    lambda durable: rename(durable, 'cup', 'mug'), lambda durable: remove(durable, 'cup'),
    lambda durable: merge_labels(durable, 'cup', 'owl')], ids=['rename', 'remove', 'merge'])
def test_labels_of_a_loaded_file_change_and_come_back(bench, change):
    other = bench.new_learner()
    for number in range(20, 30):
        other.learn(features_of(number), labels_of(number))
    other.save(bench.directory.path / 'other.npz')
    bench.durable.load('other')
    bench.teach(annotation(1, 'owl'))
    before = bench.durable.model.learner
    change(bench.durable)
    changed = bench.durable.model.learner
    assert 'cup' in before.labels and 'cup' not in changed.labels
    bench.durable.snapshot()
    undo(bench.durable)
    bench.assert_equals(before)
    bench.open()
    bench.assert_equals(before)
    bench.durable.snapshot()
    redo(bench.durable)
    bench.assert_equals(changed)
    bench.open()
    bench.assert_equals(changed)


def test_a_file_that_was_still_warming_up_is_learnt_upon_in_any_order_of_labels(tmp_path):
    bench = Bench(tmp_path / 'model', warmup=6)
    other = bench.new_learner()
    other.learn(features_of(20), ['cup'])
    other.save(bench.directory.path / 'other.npz')
    bench.durable.load('other')
    first, *_ = bench.teach(*(annotation(number, name) for number, name in enumerate(
        ['cup', 'plate', 'cup', 'cup', 'fork', 'cup', 'cup', 'cup'])))
    correct(bench.durable, [Correction(first, ('fork',))])  # Before plate, and known after it.
    before = bench.durable.model.learner
    for path in bench.directory.snapshots:
        path.unlink(missing_ok=True)
    bench.open()
    bench.assert_equals(before)
    bench.directory.close()


def test_what_is_turned_later_was_not_yet_when_a_place_was_loaded(bench):
    bench.teach_some(12)
    wrong, = bench.teach(annotation(12, 'owl'))
    undo(bench.durable)
    bench.durable.snapshot()
    bench.durable.load('')
    there = bench.durable.table.last
    redo(bench.durable, [wrong])
    assert wrong in bench.durable.table.samples
    assert wrong not in bench.durable.table.at(there).samples
    bench.assert_model_is_of([*taught(12), (12, ('owl',))])
    bench.open()
    bench.assert_model_is_of([*taught(12), (12, ('owl',))])


def test_many_loads_are_as_quick_to_read_as_one():
    """Each goes back to before the last one: a fold of every branch would never end."""
    table = SampleTable()
    for number in range(1, 1201, 3):
        table.apply(JournalEntry(number, Annotation(number, ('cup',))))
        table.apply(JournalEntry(number + 1, Annotation(number + 1, ('plate',))))
        table.apply(JournalEntry(number + 2, Event(EventKind.LOAD, sample=number)))
    assert list(table.samples) == list(range(1, 1201, 3))
    assert list(table.at(1199).samples) == [*range(1, 1200, 3), 1199]
    table.apply(JournalEntry(2000, Event(EventKind.UNDO, sample=1)))
    assert list(table.samples) == list(range(4, 1201, 3))


def test_merged_labels_are_one_from_the_beginning(bench):
    bench.teach_some(12)
    merge_labels(bench.durable, 'plate', 'cup')
    bench.assert_model_is_of([
        (number, dict.fromkeys('cup' if name == 'plate' else name for name in labels))
        for number, labels in taught(12)])
    for pair in (('owl', 'cup'), ('cup', 'owl'), ('cup', 'cup')):
        with pytest.raises(UnknownLabelError):
            merge_labels(bench.durable, *pair)


def test_a_rename_is_redone_for_the_samples_before_it_alone(bench):
    bench.teach_some(12)
    rename(bench.durable, 'plate', 'dish')
    undo(bench.durable)
    bench.teach(annotation(12, 'plate', 'cup'))
    bench.teach(annotation(13, 'cup'))
    redo(bench.durable)
    bench.assert_model_is_of([
        *((number, ['dish' if name == 'plate' else name for name in labels])
          for number, labels in taught(12)), (12, ['plate', 'cup']), (13, ['cup'])])


def test_each_person_undoes_their_own_steps(bench):
    first, = bench.teach(annotation(0, 'cup', who='Ada'))
    second, = bench.teach(annotation(1, 'plate', who='Bob'))
    third, = bench.teach(annotation(2, 'fork', who='Ada'))
    fourth, = bench.teach(annotation(3, 'knife', who='Bob'))
    durable = bench.durable
    with pytest.raises(UndoError, match='the history has changed'):
        undo(durable, [third], 'Ada')
    bench.assert_model_is_of([(0, ['cup']), (1, ['plate']), (2, ['fork']), (3, ['knife'])])
    step, = undo(durable, [third], 'Ada', mine=True)
    assert step.number == third
    bench.assert_model_is_of([(0, ['cup']), (1, ['plate']), (3, ['knife'])])
    steps = undo(durable, [second, fourth], 'Bob', mine=True)
    assert [step.number for step in steps] == [fourth, second]
    with pytest.raises(UndoError, match='nothing to undo'):
        undo(durable, annotator='Bob', mine=True)
    redo(durable, [third], 'Ada', mine=True)
    bench.assert_model_is_of([(0, ['cup']), (2, ['fork'])])
    with pytest.raises(UndoError, match='the history has changed'):
        redo(durable, [fourth], 'Ada')
    assert [step.number for step in durable.reading().next_undo('Ada')] == [third]
    assert first in durable.reading().samples


def test_a_burst_is_one_step(bench):
    bench.teach_some(3)
    burst = [annotation(number, 'owl', who='Ada')._replace(request=ClientRequest.of(
        f'burst:0123456789ab:{number}', annotation(number, 'owl'))) for number in range(10, 15)]
    numbers = bench.teach(*burst)
    other, = bench.teach(annotation(20, 'cup', who='Bob'))
    durable = bench.durable
    with pytest.raises(UndoError, match='the history has changed'):
        undo(durable, [numbers[-1]], 'Ada', mine=True)
    steps = undo(durable, numbers, 'Ada', mine=True)
    assert [step.number for step in steps] == numbers[::-1]
    bench.assert_model_is_of([*taught(3), (20, ('cup',))])
    bench.open()
    durable = bench.durable
    assert [step.number for step in durable.reading().next_redo()] == numbers
    redo(durable)
    bench.assert_model_is_of([*taught(3), *((n, ('owl',)) for n in range(10, 15)), (20, ('cup',))])
    assert durable.reading().next_undo()[0].number == other


def test_a_load_is_undone_before_others_build_on_it_only(bench):
    bench.teach_some(5)
    bench.durable.save('kitchen')
    bench.durable.load('kitchen', 'Ada')
    bench.teach(annotation(7, 'owl', who='Bob'))
    with pytest.raises(UndoError, match='undo those first'):
        undo(bench.durable, annotator='Ada', mine=True)


def test_what_is_undone_after_a_load_was_in_force_before(bench):
    numbers = bench.teach_some(6)
    bench.durable.save('kitchen')
    bench.durable.load('kitchen')
    loaded = bench.durable.position
    bench.durable.undo()
    assert [*bench.durable.table.at(loaded).samples] == numbers
    bench.open()  # The snapshot of the load has the sample.
    bench.assert_model_is_of(taught(5))


def test_labels_of_a_model_file_are_not_merged_by_halves(bench):
    foreign = bench.new_learner()
    for number in range(8):
        foreign.learn(features_of(number), ['cup'] if number % 2 else ['plate'])
    foreign.save(bench.folder / 'foreign.npz')
    bench.durable.load('foreign')
    bench.teach(annotation(8, 'plate'), annotation(9, 'fork'))
    before = bench.durable.model.learner.copy()
    with pytest.raises(UndoError, match='has learnt both'):
        merge_labels(bench.durable, 'plate', 'cup')
    bench.assert_equals(before)
    # Of these the file has one, and its column becomes that of both.
    merge_labels(bench.durable, 'plate', 'fork')
    assert bench.durable.model.learner.labels == ['fork', 'cup']
    merged = bench.durable.model.learner.copy()
    remove(bench.durable, 'cup')
    undo(bench.durable)
    bench.assert_equals(merged)
    bench.open()
    bench.assert_equals(merged)


def test_a_label_that_a_model_file_knows_as_absent_stays(bench):
    foreign = bench.new_learner()
    foreign.learn(features_of(0), ['cup'])
    foreign.learn(features_of(1), [], ['owl'], complete=False)
    foreign.save(bench.folder / 'foreign.npz')
    bench.durable.load('foreign')
    number, = bench.teach(annotation(2, 'owl'))
    correct(bench.durable, [Correction(number, ('cup',))])
    assert bench.durable.model.learner.labels == ['cup', 'owl']


def test_corrections_of_a_compacted_journal(bench):
    bench.teach_some(20)
    bench.durable.compact()
    numbers = bench.teach_some(4, start=20)
    bench.durable.snapshot()
    durable = bench.durable
    with pytest.raises((SampleError, UndoError)):
        correct(durable, [Correction(3, ('cup',))])
    try:
        correct(durable, [Correction(numbers[1], ('cup', 'spoon'))])
    except UndoError:  # With forgetting, only what is behind a snapshot.
        assert 'forgetting' in bench.settings
        return
    right = taught(24, s21=('cup', 'spoon'))
    bench.assert_model_is_of(right)
    bench.open()
    bench.assert_model_is_of(right)


@pytest.mark.parametrize('seed', range(3))
def test_the_history_forgets_what_the_journal_has_dropped(bench, seed):
    chance = random.Random(seed)
    bench.teach_some(10, who='Ada')
    bench.durable.save('kitchen')
    for number in range(100, 130):
        step(bench, chance, number)
        if chance.random() < 0.15:
            bench.durable.compact()
            bench.teach(annotation(number + 500, 'cup'))
            running, started = bench.durable.reading(), SampleTable()
            started.follow(bench.durable.journal.entries())
            assert list(running.steps) == list(started.steps)
            assert repr(running.samples) == repr(started.samples)
            assert running.state.origin == started.state.origin
    before = bench.durable.model.learner
    bench.open()
    bench.assert_equals(before)


@pytest.mark.parametrize('seed', range(6))
def test_random_histories_replay_to_the_same_model(bench, seed):
    chance = random.Random(seed)
    bench.teach_some(10, who='Ada')
    bench.durable.save('kitchen')
    for number in range(100, 140):
        step(bench, chance, number)
        if chance.random() < 0.1:
            bench.durable.snapshot()
        if chance.random() < 0.1:
            before = bench.durable.model.learner
            bench.open()
            bench.assert_equals(before)
    before = bench.durable.model.learner
    for path in bench.directory.snapshots:
        path.unlink(missing_ok=True)
    bench.open()
    bench.assert_equals(before)


def step(bench, chance, number):
    """Do something to the model; what is not possible now is left out."""
    durable = bench.durable
    labels = durable.model.learner.labels
    samples = list(durable.reading().samples)
    who = chance.choice(['Ada', 'Bob'])
    partial = chance.random() < 0.2
    actions = [
        lambda: bench.teach(annotation(number, *chance.sample(NAMES, 2), who=who,
                                       complete=not partial)),
        lambda: correct(durable, [Correction(chance.choice(samples), (
            chance.choice(NAMES),))], who),
        lambda: correct(durable, [Correction(chance.choice(samples), delete=True)], who),
        lambda: undo(durable, annotator=who, mine=chance.random() < 0.5),
        lambda: redo(durable, annotator=who, mine=chance.random() < 0.5),
        lambda: rename(durable, chance.choice(labels), f'label {number}'),
        lambda: remove(durable, chance.choice(labels)),
        lambda: merge_labels(durable, *chance.sample(labels, 2)),
        lambda: durable.undo(),
        lambda: durable.load('kitchen', who),
    ]
    weights = [8, 4, 2, 4, 3, 1, 1, 1, 2, 0.3]
    try:
        chance.choices(actions, weights)[0]()
    except (UndoError, IndexError, ValueError):
        pass


def test_many_corrections_are_one_step(bench):
    numbers = bench.teach_some(45)
    durable, wanted = bench.durable, [*range(40), *range(40)]  # Repeated ones count once.
    events = correct(durable, [Correction(numbers[place], ('fork',)) for place in wanted], 'Ada')
    assert len(events) == 40
    right = [(place, ('fork',) if place < 40 else labels_of(place)) for place in range(45)]
    bench.assert_model_is_of(right)
    assert {step.number for step in undo(durable)} == {event.entry for event in events}
    bench.assert_model_is_of([(place, labels_of(place)) for place in range(45)])
    assert len(redo(bench.open())) == 40
    bench.assert_model_is_of(right)
    bench.open()
    bench.assert_model_is_of(right)


def test_a_large_undo_folds_the_journal_once(bench, monkeypatch):
    numbers = bench.teach_some(45)
    correct(bench.durable, [Correction(number, delete=True) for number in numbers[:40]])
    folds, fold = [], SampleTable._folded
    monkeypatch.setattr(SampleTable, '_folded', lambda table, *more: (
        folds.append(1), fold(table, *more))[1])
    undo(bench.durable)
    assert len(folds) <= 4
    folds.clear()
    SampleTable().follow(bench.durable.journal.entries())
    assert len(folds) == 1


def test_a_change_worked_out_aside_follows_what_came_meanwhile(bench):
    numbers = bench.teach_some(45)
    durable = bench.durable
    finish = durable.aside(durable.plans.correct(
        [Correction(number, ('fork',)) for number in numbers[:40]]), lambda: None)
    bench.teach_some(3, start=45)
    correct(durable, [Correction(numbers[2], ('spoon',)), Correction(numbers[44], delete=True)])
    assert len(finish()) == 40
    right = [(place, ('fork',) if place < 40 else labels_of(place))
             for place in range(48) if place != 44]
    bench.assert_model_is_of(right)
    bench.open()
    bench.assert_model_is_of(right)


def test_a_change_worked_out_aside_of_a_sample_that_went_meanwhile_is_none(bench):
    numbers = bench.teach_some(45)
    durable = bench.durable
    finish = durable.aside(durable.plans.correct(
        [Correction(number, ('fork',)) for number in numbers[:40]]), lambda: None)
    correct(durable, [Correction(numbers[2], delete=True)])
    with pytest.raises(SampleError, match='is not part of the model'):
        finish()
    bench.assert_model_is_of([(place, labels_of(place)) for place in range(45) if place != 2])
