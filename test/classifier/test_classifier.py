# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The whole classifier without ROS: questions, full queues, and what happens behind the scenes."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from proemlc_ros.bags.definitions import RosbagsMessages
from proemlc_ros.bags.journal import Journal
from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.durable_model import DurableModel, Learnt
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.queries import QueryPolicy, QueryReason, QueryRules
from proemlc_ros.classifier.records import Annotation, StampedVector
from proemlc_ros.classifier.validation import Validation
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError, ProEMLCError

MESSAGES = RosbagsMessages()
SECOND = 1_000_000_000


def new_model() -> ProEMLC:
    return ProEMLC(hidden_size=20, activation='relu', scaling='none')


def moment(number: int) -> StampedVector:
    values = np.random.default_rng(number).normal(size=5).astype(np.float32)
    return StampedVector(number * SECOND, values)


@pytest.fixture
def classroom(tmp_path):
    directory = ModelDirectory(tmp_path / 'model')
    journal = Journal(directory.journal, MESSAGES)
    session = DurableModel(VersionedModel(new_model()), new_model, directory, journal)
    complaints = []
    room = Classifier(session, Validation(), QueryPolicy(QueryRules(rate=1e6)), 5, complaints.append)
    room.complaints = complaints
    yield room
    if not getattr(room, 'closed', False):
        room.close()


class Answers(list):
    """Collects answers from another thread."""

    def __call__(self, annotation, answer) -> None:
        self.append(answer)

    def wait(self, count: int) -> Answers:
        deadline = time.monotonic() + 20
        while len(self) < count:
            assert time.monotonic() < deadline, self
            time.sleep(0.005)
        return self


def test_from_moment_to_lesson(classroom):
    verdict = classroom.classify(moment(1))
    assert verdict.found.novelty == 1.0
    question = classroom.question(moment(1), verdict)
    assert question.reason is QueryReason.NOVEL
    classroom.keep(moment(1))
    answers = Answers()
    classroom.annotate(Annotation(SECOND, ('cup',)), answers)
    learnt, = answers.wait(1)
    assert isinstance(learnt, Learnt)
    assert learnt.introduced == ('cup',)
    again = classroom.classify(moment(1))
    assert again.found.labels == ('cup',)
    assert again.version == learnt.version


def test_refusals_are_answered_and_counted(classroom):
    answers = Answers()
    classroom.annotate(Annotation(0, ('cup',)), answers)
    classroom.annotate(Annotation(0, ('',)), answers)
    causes = [error.cause for error in answers.wait(2)]
    assert causes == ['no_features', 'bad_label']
    assert classroom.statistics.rejects == {'no_features': 1, 'bad_label': 1}


def test_a_held_annotation_is_refused_by_and_by(classroom):
    classroom.intake.matcher.rules.hold = 0.01
    classroom.keep(moment(1))
    answers = Answers()
    classroom.annotate(Annotation(2 * SECOND, ('cup',)), answers)
    assert not answers
    time.sleep(0.02)
    classroom.expire()
    assert answers.wait(1)[0].cause == 'unknown_stamp'


def test_a_full_queue_refuses_and_a_jump_forgets(classroom):
    classroom.keep(moment(1))
    gate = threading.Event()
    classroom.teacher.call(gate.wait)
    time.sleep(0.05)
    answers = Answers()
    for _ in range(7):
        classroom.annotate(Annotation(0, ('cup',)), answers)
    assert [error.cause for error in answers] == ['queue_full'] * 2
    gate.set()
    answers.wait(7)
    assert sum(isinstance(answer, Learnt) for answer in answers) == 5
    assert classroom.jumps == 0
    classroom.clock_jumped()
    classroom.annotate(Annotation(0, ('cup',)), answers)
    assert answers.wait(8)[-1].cause == 'no_features'
    assert classroom.jumps == 1
    for number in (9, 1):
        classroom.keep(moment(number))
    assert classroom.jumps == 2


def test_annotations_that_wait_share_one_transaction(classroom, monkeypatch):
    classroom.keep(moment(1))
    sizes = []
    append = classroom.session.journal.append

    def counted(statements):
        sizes.append(len(statements))
        return append(statements)
    monkeypatch.setattr(classroom.session.journal, 'append', counted)
    gate = threading.Event()
    classroom.teacher.call(gate.wait)
    time.sleep(0.05)
    answers = Answers()
    for number in range(4):
        classroom.annotate(Annotation(0, (f'label {number}',)), answers)
    gate.set()
    answers.wait(4)
    assert sizes == [4]
    assert [answer.number for answer in answers] == [1, 2, 3, 4]


def test_a_journal_that_fails_is_told_and_nothing_is_learnt(classroom, monkeypatch):
    classroom.keep(moment(1))

    def full(statements):
        raise JournalError('the disk is full')
    with monkeypatch.context() as patch:
        patch.setattr(classroom.session.journal, 'append', full)
        answers = Answers()
        classroom.annotate(Annotation(0, ('cup',)), answers)
        assert isinstance(answers.wait(1)[0], JournalError)
    assert classroom.session.pupil.model.labels == []
    classroom.annotate(Annotation(0, ('cup',)), answers)
    assert isinstance(answers.wait(2)[1], Learnt)


def test_a_fault_in_the_background_is_logged_and_survived(classroom, monkeypatch):
    classroom.keep(moment(1))

    def broken(annotations):
        raise RuntimeError('oops')
    answers = Answers()
    with monkeypatch.context() as patch:
        patch.setattr(classroom.session, 'teach', broken)
        classroom.annotate(Annotation(0, ('cup',)), answers)
        assert isinstance(answers.wait(1)[0], ProEMLCError)
    classroom.teacher.call(lambda: 1 / 0)
    classroom.annotate(Annotation(0, ('cup',)), answers)
    answers.wait(2)
    assert any('oops' in text for text in classroom.complaints)
    assert any('ZeroDivisionError' in text for text in classroom.complaints)


def test_snapshots_are_written_when_due_and_at_the_end(classroom):
    classroom.snapshots.every = 3
    classroom.keep(moment(1))
    answers = Answers()
    for _ in range(3):
        classroom.annotate(Annotation(0, ('cup',)), answers)
    answers.wait(3)
    deadline = time.monotonic() + 20
    while classroom.session.unsaved:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    classroom.annotate(Annotation(0, ('plate',)), answers)
    classroom.close()
    classroom.closed = True
    assert len(answers) == 4
    snapshot = ProEMLC.load(classroom.session.directory.snapshots[0])
    assert snapshot.labels == ['cup', 'plate']
    assert snapshot.extra['position'] == 4


def test_a_snapshot_that_fails_is_logged(classroom, monkeypatch):
    def full(*_, **__):
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr(ProEMLC, 'save', full)
    classroom.keep(moment(1))
    classroom.snapshots.every = 1
    answers = Answers()
    classroom.annotate(Annotation(0, ('cup',)), answers)
    answers.wait(1)
    deadline = time.monotonic() + 20
    while not classroom.complaints:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert 'No space left' in classroom.complaints[0]
    assert 'the journal has everything' in classroom.complaints[0]
