# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Requests that clients repeat: learnt once, with the same answer, also by the next run."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from ros_process import DEADLINE

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.threads import RequestTable
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError, TextRejectedError, cause_of
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, ClientRequest, learnt_text

MESSAGES = RosbagsMessages()


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=20, activation='relu', scaling='none')


def annotation(number: int, *labels: str, **fields) -> Annotation:
    values = np.random.default_rng(number).normal(size=5).astype(np.float32)
    return Annotation(number, labels, features=values, **fields)


class Runs:
    """Classifiers on one model directory, one after the other."""

    def __init__(self, folder):
        self.folder = folder
        self.running = None

    def start(self, **options) -> Classifier:
        directory = ModelDirectory(self.folder)
        journal = Journal(directory.journal, **options)
        durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
        resume(durable)
        self.running = Classifier(durable)
        return self.running

    def crash(self) -> None:
        """Let go of the folder without a word, as kill -9 does."""
        self.running.durable.directory.close()
        self.running.learning.close()
        self.running = None


@pytest.fixture
def runs(tmp_path):
    runs = Runs(tmp_path / 'model')
    yield runs
    if runs.running is not None:
        runs.running.close()


def answer(classifier, item, request_id):
    learnt = classifier.annotate_once(item, request_id).result(DEADLINE)
    return learnt.message, learnt.version


@pytest.mark.parametrize('crash', [False, True])
def test_a_repeated_request_gets_the_entry_of_the_first(runs, crash):
    classifier = runs.start()
    classifier.annotate(annotation(1, 'box')).result(DEADLINE)
    first = classifier.annotate_once(annotation(2, 'cup'), 'a').result(DEADLINE)
    classifier.annotate(annotation(3, 'box')).result(DEADLINE)
    if crash:
        runs.crash()
        classifier = runs.start()
    again = classifier.annotate_once(annotation(2, 'cup'), 'a').result(DEADLINE)
    assert again.number == first.number == 2


def test_a_repeated_request_gets_the_first_answer_and_is_learnt_once(runs):
    classifier = runs.start()
    first = answer(classifier, annotation(1, 'cup'), 'a')
    assert first == ("learnt 'cup'; new: 'cup'", 1)
    assert answer(classifier, annotation(2, 'cup', 'box'), 'b') == (
        "learnt 'cup', 'box'; new: 'box'", 2)
    assert [answer(classifier, annotation(1, 'cup'), 'a') for _ in range(3)] == [first] * 3
    assert classifier.durable.model.learner.samples == 2
    assert classifier.statistics.repeated.total == 3


def test_the_answer_is_that_of_a_request_without_an_id(runs):
    classifier = runs.start()
    classifier.annotate(annotation(1, 'cup')).result(DEADLINE)
    plain = classifier.annotate(annotation(2, 'box')).result(DEADLINE)
    assert answer(classifier, annotation(3, 'red'), 'a') == (
        plain.message.replace('box', 'red'), plain.version + 1)
    assert answer(classifier, annotation(3), 'b')[0] == 'learnt an annotation without labels'


def test_a_request_that_waits_is_learnt_once_for_all_who_repeat_it(runs):
    classifier = runs.start()
    gate = threading.Event()
    classifier.learning.call(gate.wait)
    futures = [classifier.annotate_once(annotation(1, 'cup'), 'a') for _ in range(5)]
    gate.set()
    answers = [future.result(DEADLINE) for future in futures]
    assert len({(one.message, one.version) for one in answers}) == 1
    assert classifier.durable.model.learner.samples == 1


def test_an_id_with_another_annotation_is_rejected(runs):
    classifier = runs.start()
    answer(classifier, annotation(1, 'cup'), 'a')
    for other in (annotation(1, 'box'), annotation(2, 'cup'), annotation(1, 'cup', absent=('x',)),
                  annotation(1, 'cup', annotator='Zoe'), annotation(1, 'cup', complete=False)):
        error = classifier.annotate_once(other, 'a').exception(DEADLINE)
        assert cause_of(error) == 'request_id_reused'
    assert classifier.statistics.rejected() == {'request_id_reused': 5}
    assert classifier.durable.model.learner.samples == 1


@pytest.mark.parametrize('request_id', ['a' * 101, 'a\nb', '\u200b', ' a'])
def test_an_id_that_is_no_usable_text_is_rejected(runs, request_id):
    classifier = runs.start()
    error = classifier.annotate_once(annotation(1, 'cup'), request_id).exception(DEADLINE)
    assert isinstance(error, TextRejectedError) and cause_of(error) == 'bad_request_id'


def test_a_rejected_request_is_tried_again(runs, monkeypatch):
    classifier = runs.start()

    def full(*_):
        raise JournalError('the disk is full')
    with monkeypatch.context() as patch:
        patch.setattr(classifier.durable.journal, 'write', full)
        future = classifier.annotate_once(annotation(1, 'cup'), 'a')
        assert isinstance(future.exception(DEADLINE), JournalError)
    assert answer(classifier, annotation(1, 'cup'), 'a')[0].startswith('learnt')
    assert classifier.durable.model.learner.samples == 1


@pytest.mark.parametrize('snapshot', [False, True])
def test_the_next_run_gives_the_first_answer(runs, snapshot):
    classifier = runs.start()
    first = [answer(classifier, annotation(number, f'label {number}', 'cup'), f'id {number}')
             for number in range(1, 8)]
    if snapshot:
        classifier.durable.snapshot()
    runs.crash()
    classifier = runs.start()
    assert [answer(classifier, annotation(number, f'label {number}', 'cup'), f'id {number}')
            for number in range(1, 8)] == first
    assert classifier.durable.model.learner.samples == 7
    error = classifier.annotate_once(annotation(9, 'cup'), 'id 1').exception(DEADLINE)
    assert cause_of(error) == 'request_id_reused'


def test_an_undone_request_is_not_learnt_again(runs):
    classifier = runs.start()
    first = answer(classifier, annotation(1, 'cup'), 'a')
    classifier.undo().result(DEADLINE)
    runs.crash()
    classifier = runs.start()
    assert answer(classifier, annotation(1, 'cup'), 'a') == first
    assert classifier.durable.model.learner.samples == 0


@pytest.mark.parametrize('snapshot', [False, True])
def test_what_the_learner_rejected_is_not_answered_as_learnt_by_the_next_run(runs, snapshot):
    huge = Annotation(2, ('cup',), features=np.full(5, 3e38, np.float32))
    classifier = runs.start()
    answer(classifier, annotation(1, 'cup'), 'a')
    assert cause_of(classifier.annotate_once(huge, 'b').exception(DEADLINE)) == 'too_large'
    if snapshot:
        classifier.durable.snapshot()
    runs.crash()
    classifier = runs.start()
    assert cause_of(classifier.annotate_once(huge, 'b').exception(DEADLINE)) == 'too_large'


def test_requests_are_found_in_all_files_of_the_journal(runs):
    classifier = runs.start(max_file_bytes=20_000)
    first = {}
    for numbers in (range(1, 40), range(40, 80), range(80, 100)):  # One transaction each.
        futures = {number: classifier.annotate_once(annotation(number, 'cup'), f'id {number}')
                   for number in numbers}
        for number, future in futures.items():
            learnt = future.result(DEADLINE)
            first[f'id {number}'] = learnt.message, learnt.version
    assert len(list((runs.folder / 'journal').glob('*.db3'))) > 1
    runs.crash()
    classifier = runs.start()
    assert answer(classifier, annotation(1, 'cup'), 'id 1') == first['id 1']
    assert answer(classifier, annotation(99, 'cup'), 'id 99') == first['id 99']
    found = classifier.durable.journal.references('request:', 30)
    assert [number for number, _ in found] == list(range(70, 100))
    assert classifier.durable.journal.references('nothing:', 30) == []


def test_only_so_many_requests_are_remembered():
    table = RequestTable(most=3)
    requests = [ClientRequest(f'id {number}', 'x', 'learnt') for number in range(5)]
    table.restore(enumerate(request.reference for request in requests), except_for=())
    assert len(table) == 3
    assert table.claim(requests[4]).result() == requests[4]._replace(number=4)
    assert table.claim(requests[0]) is None


@pytest.mark.parametrize('reference', [
    '', 'request:', 'request:{}', 'request:[]', 'request:null', 'request:{"id": 1}',
    'request:\ud800',
    'request:{"id": "a", "content": "b", "message": "c", "version": "d"}'])
def test_a_reference_that_is_not_understood_is_passed_over(reference):
    table = RequestTable()
    table.restore([(1, reference)], except_for=())
    assert len(table) == 0


def test_an_answer_names_some_labels_where_there_are_many():
    text = learnt_text(tuple(f'label {number}' for number in range(1000)), ())
    assert text.startswith("learnt 'label 0', 'label 1'") and text.endswith('and 980 more')
