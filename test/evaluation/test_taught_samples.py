# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings in which samples were corrected: what counts is what the corrections have left."""

from collections import Counter
from shutil import copytree, rmtree

import numpy as np
import pytest
from corrections import correct, rename, turn

from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.evaluation.annotation_stream import AnnotationBlock, AnnotationStream
from proemlc_ros.evaluation.bag_steps import BagSet, BagSteps
from proemlc_ros.evaluation.prequential_evaluation import PrequentialEvaluation, evaluate_bags
from proemlc_ros.evaluation.taught_samples import common_settings
from proemlc_ros.evaluation.training import CollectedSamples, train
from proemlc_ros.journal.journal import Journal, write_settings
from proemlc_ros.records import Annotation, Correction, Event, EventKind, StampedVector

SECOND = 1_000_000_000
SETTINGS = {'hidden_size': 5, 'activation': 'relu', 'scaling': 'none'}
LABELS = {1: 'cup', 2: 'plate', 3: 'cup', 4: 'fork', 5: 'spoon', 6: 'cup'}
# Entries of the journal are numbered with pictures in between: 10, 12, 14, ...
ENTRY = {number: 8 + 2 * number for number in LABELS}


@pytest.fixture
def recording(tmp_path):
    """Return a function that writes a recording of six samples and of events after them."""
    def write(*events, storage='mcap', numbered=True, name='recording'):
        with BagWriter(tmp_path / name, storage) as bag:
            for number, label in LABELS.items():
                vector = np.eye(6, dtype=np.float32)[number - 1]
                time = number * SECOND
                bag.write_vector(StampedVector(time, vector), time)
                bag.write_annotation(Annotation(time, (label,),
                                                entry=ENTRY[number] if numbered else 0),
                                     time + 10, '/proemlc/learnt')
            for place, event in enumerate(events):
                bag.write_event(event, 7 * SECOND + place)
        return BagSet([tmp_path / name])
    return write


def corrections():
    """Return what leaves mug at 1 and 6, plate at 3 and spoon at 5; 2 and 4 are gone."""
    return (Event(EventKind.RELABEL, sample=ENTRY[3], labels=('plate',), entry=30),
            Event(EventKind.DELETE, sample=ENTRY[4], entry=32),
            Event(EventKind.DELETE, sample=ENTRY[5], entry=33),
            Event(EventKind.UNDO, sample=33, entry=34),
            Event(EventKind.UNDO, sample=ENTRY[2], entry=35),
            Event(EventKind.UNDO, sample=30, entry=36),
            Event(EventKind.REDO, sample=30, entry=37),
            Event(EventKind.RENAME, label='cup', new_label='mug', entry=38))


LEFT = Counter({('mug',): 2, ('plate',): 1, ('spoon',): 1})


def said(bags):
    steps = BagSteps(bags, bags.paths[0], AnnotationStream())
    return Counter(labels for block in steps.annotation_blocks() for labels in block.labels), steps


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_what_the_corrections_left_is_the_truth(recording, storage):
    found, steps = said(recording(*corrections(), storage=storage))
    assert found == LEFT
    assert not steps.stream.rejects and not steps.notes


def test_evaluation_and_training_count_the_same(recording):
    bags = recording(*corrections())
    result = evaluate_bags(bags, PrequentialEvaluation(ProEMLC(**SETTINGS)), '', lambda _: None)
    assert result.samples == 4 and not result.rejects
    model, sums = train(bags, SETTINGS)
    assert not sums.rejects
    assert dict(zip(model.labels, model.counts, strict=True)) == {
        'mug': 2, 'plate': 1, 'spoon': 1}
    assert len(CollectedSamples.of(bags).annotations) == 4


def test_merged_labels_are_one(recording):
    found, _ = said(recording(
        Event(EventKind.MERGE_LABELS, label='fork', new_label='spoon', entry=30)))
    assert found == Counter({('cup',): 3, ('spoon',): 2, ('plate',): 1})


def test_events_that_overtook_their_annotation_count(recording):
    bags = recording(Event(EventKind.RELABEL, sample=40, labels=('mug',), entry=41))
    with BagWriter(bags.paths[0].with_name('late')) as bag:
        bag.write_vector(StampedVector(SECOND, np.ones(6, np.float32)), SECOND)
        bag.write_event(Event(EventKind.RELABEL, sample=40, labels=('mug',), entry=41), SECOND + 1)
        bag.write_annotation(Annotation(SECOND, ('cup',), entry=40), SECOND + 2,
                             '/proemlc/learnt')
    assert said(BagSet([bags.paths[0].with_name('late')]))[0] == Counter({('mug',): 1})


def test_an_undo_that_overtook_its_annotation_takes_that_one_back(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        for number, label, entry in ((1, 'cup', 4), (2, 'nonsense', 6)):
            vector = np.full(6, number, np.float32)
            bag.write_vector(StampedVector(number * SECOND, vector), number * SECOND)
            bag.write_annotation(Annotation(number * SECOND, (label,), entry=entry),
                                 number * SECOND + 10, '/proemlc/learnt')
        bag.write_event(Event(EventKind.UNDO, entry=7), 2 * SECOND + 5)
    evaluation = PrequentialEvaluation(ProEMLC(**SETTINGS))
    result = evaluate_bags(BagSet([tmp_path / 'bag']), evaluation, '', lambda _: None)
    assert result.samples == 1 and evaluation.model.labels == ['cup']


def test_corrections_of_what_was_taught_before_are_noted(recording):
    found, steps = said(recording(Event(EventKind.DELETE, sample=3, entry=30)))
    assert sum(found.values()) == 6
    assert '1 corrections are about what was taught before' in steps.notes[0]


def test_a_recording_without_numbers_says_what_was_not_repeated(recording):
    bags = recording(Event(EventKind.DELETE, sample=3), numbered=False)
    result = evaluate_bags(bags, PrequentialEvaluation(ProEMLC(**SETTINGS)), '', lambda _: None)
    assert result.samples == 6 and result.rejects == {'not_repeated_delete': 1}


def test_only_a_reset_is_left_of_the_events(recording):
    bags = recording(Event(EventKind.UNDO, entry=30), Event(EventKind.RESET, entry=31))
    (block, _), (event, _) = BagSteps(bags, bags.paths[0], AnnotationStream())
    assert isinstance(block, AnnotationBlock) and len(block) == 5
    assert event.kind is EventKind.RESET
    finally_only = BagSteps(bags, bags.paths[0], AnnotationStream(), as_it_stands=True)
    assert list(finally_only) == []


@pytest.fixture
def unnumbered(tmp_path):
    """Return a function that writes annotations and events as an early version published them."""
    def write(records):
        rmtree(tmp_path / 'early', ignore_errors=True)
        with BagWriter(tmp_path / 'early') as bag:
            for time, record in enumerate(records, 1):
                if isinstance(record, Event):
                    bag.write_event(record, time)
                else:
                    bag.write_annotation(record._replace(stamp=time), time)
        return BagSet([tmp_path / 'early'])
    return write


def annotations(count):
    chance = np.random.default_rng(1)
    return [Annotation(0, ('cup', 'red') if number % 2 else ('red',),
                       features=chance.normal(size=6).astype(np.float32))
            for number in range(count)]


def evaluated(bags, learning=True):
    evaluation = PrequentialEvaluation(ProEMLC(**SETTINGS), learning)
    result = evaluate_bags(bags, evaluation, '', lambda _: None)
    return evaluation, result


def test_events_without_numbers_are_about_the_last_annotation(unnumbered):
    said = annotations(60)
    bags = unnumbered([*said, Event(EventKind.UNDO),
                       Event(EventKind.RENAME, label='red', new_label='blue'),
                       Event(EventKind.REMOVE, label='cup')])
    model = ProEMLC(**SETTINGS)
    for one in said[:-1]:
        model.learn(one.features, ['blue'])
    evaluation, result = evaluated(bags)
    assert result.samples == 59 and evaluation.model.labels == model.labels == ['blue']
    rows = [one.features for one in said]
    np.testing.assert_allclose(evaluation.model.scores(rows), model.scores(rows), atol=1e-9)


def test_undos_reach_back_over_renames(unnumbered):
    said = annotations(300)
    rename = Event(EventKind.RENAME, label='red', new_label='crimson')
    bags = unnumbered([*said[:150], rename, *said[150:], *[Event(EventKind.UNDO)] * 101])
    model, _ = train(bags, SETTINGS)
    assert model.samples == 199 and model.labels == ['crimson', 'cup', 'red']


@pytest.mark.parametrize('learning', [True, False])
def test_what_is_undone_was_not_the_truth(unnumbered, learning):
    said = annotations(60)
    wrong, undo = Annotation(0, ('nonsense',), features=said[0].features), Event(EventKind.UNDO)
    results = []
    for given in (said, [*said, wrong, undo], [*said, wrong, undo, Event(EventKind.RESET), undo]):
        evaluation, result = evaluated(unnumbered(given), learning)
        results.append(evaluation.metrics.values())
        assert result.samples == 60 and 'nonsense' not in evaluation.metrics.labels
    assert results[0] == results[1] == results[2]


# ----- journals -----


@pytest.fixture
def taught(tmp_path):
    """Return a model directory: 45 taught; a rename undone, two relabelled, three deleted."""
    folder = tmp_path / 'model'
    directory = ModelDirectory(folder)
    durable = DurableModel(VersionedModel(ProEMLC(**SETTINGS)), lambda: ProEMLC(**SETTINGS),
                           directory, Journal(directory.journal, max_file_bytes=20_000))
    write_settings(directory.journal, ProEMLC(**SETTINGS).options.as_dict())
    names = ['banana', 'cup', 'plant']
    durable.learn([one._replace(labels=(names[place % 3],))
                   for place, one in enumerate(annotations(45))])
    rename(durable, 'cup', 'mug')
    turn(durable, EventKind.UNDO)
    numbers = list(durable.table.samples)
    correct(durable, [Correction(numbers[0], ('cup',)), Correction(numbers[1], ('plant',))])
    correct(durable, [Correction(number, delete=True) for number in numbers[10:13]])
    durable.journal.close()
    directory.close()
    return durable


@pytest.mark.parametrize('name', ['robot1', 'journal', 'model'])
def test_a_journal_reads_the_same_under_any_name(taught, tmp_path, name):
    copy = tmp_path / 'copies' / name
    copytree(taught.directory.journal, copy)
    for file in list(copy.glob('*.db3')):
        file.rename(copy / f'{name}_{file.stem.rpartition("_")[2]}.db3')
    learner = taught.model.learner
    model, sums = train(BagSet([copy]), common_settings([copy])[0])
    assert (model.samples, model.labels) == (42, ['banana', 'cup', 'plant'])
    assert not sums.rejects
    rows = np.random.default_rng(3).normal(size=(20, 6))
    np.testing.assert_allclose(model.scores(rows), learner.scores(rows), atol=1e-9)
    assert len(CollectedSamples.of(BagSet([copy])).annotations) == 42
    _, result = evaluated(BagSet([copy]))
    assert result.samples == 42
