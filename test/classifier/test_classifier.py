# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The whole classifier without ROS: queries, full queues, failures in the background."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from ros_process import DEADLINE

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.classifier import classifier as classifier_module
from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.queries import QueryPolicy, QueryRules
from proemlc_ros.classifier.review import Review
from proemlc_ros.classifier.versioned_model import Follower, VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    ModelDirectoryError,
    ProEMLCError,
    RateExceededError,
    TextRejectedError,
    UndoError,
    VectorRejectedError,
    WorkCancelledError,
)
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import (
    Annotation,
    Correction,
    EventKind,
    Learnt,
    QueryReason,
    StampedVector,
)

MESSAGES = RosbagsMessages()
SECOND = 1_000_000_000


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=20, activation='relu', scaling='none')


def vector(number: int) -> StampedVector:
    values = np.random.default_rng(number).normal(size=5).astype(np.float32)
    return StampedVector(number * SECOND, values)


@pytest.fixture
def classifier(tmp_path):
    directory = ModelDirectory(tmp_path / 'model')
    journal = Journal(directory.journal)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    complaints = []
    classifier = Classifier(durable, capacity=5, on_error=complaints.append)
    classifier.queries = QueryPolicy(QueryRules(rate=1e6))
    classifier.complaints = complaints
    yield classifier
    if not getattr(classifier, 'closed', False):
        classifier.close()


def annotate(classifier, *labels, stamp=0, **fields):
    return classifier.annotate(Annotation(stamp, labels, **fields))


def error_of(future):
    return future.exception(timeout=DEADLINE)


def wait_until(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def hold(classifier) -> threading.Event:
    """Keep the learning thread busy until the event is set."""
    busy, gate = threading.Event(), threading.Event()
    classifier.learning.call(lambda: (busy.set(), gate.wait()))
    assert busy.wait(DEADLINE)
    return gate


def test_from_vector_to_learnt_label(classifier):
    prediction = classifier.classify(vector(1))
    assert prediction.classification.novelty == 1.0
    assert classifier.query(vector(1), prediction) is None
    classifier.keep(vector(1))
    learnt = annotate(classifier, 'cup', stamp=SECOND).result(timeout=DEADLINE)
    assert isinstance(learnt, Learnt)
    assert learnt.introduced == ('cup',)
    again = classifier.classify(vector(1))
    assert again.classification.labels == ('cup',)
    assert again.version == learnt.version
    query = classifier.query(vector(2), classifier.classify(vector(2)))
    assert query.reason is QueryReason.NOVEL
    assert query.vector.stamp == 2 * SECOND


def test_rejections_are_answered_and_counted(classifier):
    values = vector(1).data
    futures = [annotate(classifier, 'cup'), annotate(classifier, '', features=values)]
    assert [error_of(future).cause for future in futures] == ['no_features', 'bad_label']
    assert classifier.statistics.rejected() == {'no_features': 1, 'bad_label': 1}


def test_texts_are_limited_before_they_are_kept(classifier):
    long = classifier.annotate(Annotation(SECOND, ('cup',), extractor='x' * 201))
    named = classifier.annotate(Annotation(SECOND, ('cup',), annotator='x\x1b[2J'))
    assert error_of(long).cause == 'bad_extractor' and error_of(named).cause == 'bad_annotator'
    with pytest.raises(TextRejectedError):
        classifier.classify(vector(1)._replace(extractor='x' * 10**6))
    assert classifier.matcher.held == 0 and len(classifier.matcher.buffer) == 0


def test_two_ways_to_spell_a_name_are_one_label(classifier):
    values = vector(1).data
    for name in ('caf\u00e9', 'cafe\u0301'):
        annotate(classifier, name, features=values).result(timeout=DEADLINE)
    assert classifier.durable.model.learner.labels == ['caf\u00e9']


def test_absent_names_count_as_labels_where_the_annotation_is_not_complete(classifier):
    classifier.durable.limits.max_labels = 3
    for number in range(2):
        future = annotate(classifier, complete=False, features=vector(1).data,
                          absent=tuple(f'{number} {name}' for name in 'ab'))
        error = error_of(future)
    assert error.cause == 'too_many_labels'
    assert len(classifier.durable.model.learner.labels) == 2


def test_the_first_vector_fixes_the_width_until_something_is_learnt(classifier):
    classifier.keep(vector(1))
    with pytest.raises(VectorRejectedError) as caught:
        classifier.predict(StampedVector(2, np.zeros(4, np.float32)))
    assert caught.value.cause == 'wrong_width'
    classifier.clear_buffer('deactivated', 'the node was deactivated')
    classifier.predict(StampedVector(2, np.zeros(4, np.float32)))


def test_vectors_above_the_rate_are_rejected(classifier):
    classifier.feature_rate.rate = 0.001  # so slow that the test's time adds none
    classifier.classify(vector(1))
    with pytest.raises(RateExceededError):
        classifier.classify(vector(1))
    classifier.predict(vector(1))       # the service is not part of the stream
    assert classifier.statistics.features.total == 2


def test_a_held_annotation_is_rejected_when_its_time_is_up(classifier):
    classifier.matcher.rules.hold = 0.01
    classifier.keep(vector(1))
    future = annotate(classifier, 'cup', stamp=2 * SECOND)
    assert not future.done()
    wait_until(lambda: classifier.run_periodic_work() or future.done())
    assert error_of(future).cause == 'unknown_stamp'


def test_a_full_queue_rejects_and_a_jump_clears(classifier):
    classifier.keep(vector(1))
    gate = hold(classifier)
    futures = [annotate(classifier, 'cup') for _ in range(7)]
    assert [error_of(future).cause for future in futures if future.done()] == ['queue_full'] * 2
    gate.set()
    assert sum(error_of(future) is None for future in futures) == 5
    assert classifier.jumps == 0
    classifier.clock_jumped()
    assert error_of(annotate(classifier, 'cup')).cause == 'no_features'
    assert classifier.jumps == 1
    for number in (9, 1):
        classifier.keep(vector(number))
    assert classifier.jumps == 2


def test_annotations_that_wait_share_one_transaction(classifier, monkeypatch):
    classifier.keep(vector(1))
    sizes = []
    write = classifier.durable.journal.write

    def counted(records, *rest):
        sizes.append(len(records))
        return write(records, *rest)
    monkeypatch.setattr(classifier.durable.journal, 'write', counted)
    gate = hold(classifier)
    futures = [annotate(classifier, f'label {number}') for number in range(4)]
    gate.set()
    assert [future.result(timeout=DEADLINE).number for future in futures] == [1, 2, 3, 4]
    assert sizes == [4]


def test_a_journal_that_fails_rejects_and_nothing_is_learnt(classifier, monkeypatch):
    classifier.keep(vector(1))

    def full(*_):
        raise JournalError('the disk is full')
    with monkeypatch.context() as patch:
        patch.setattr(classifier.durable.journal, 'write', full)
        assert isinstance(error_of(annotate(classifier, 'cup')), JournalError)
    assert classifier.durable.model.learner.labels == []
    assert annotate(classifier, 'cup').result(timeout=DEADLINE)


def test_a_fault_in_the_background_is_logged_and_survived(classifier, monkeypatch):
    classifier.keep(vector(1))

    def broken(annotations):
        raise RuntimeError('oops')
    with monkeypatch.context() as patch:
        patch.setattr(classifier.durable, 'learn', broken)
        assert isinstance(error_of(annotate(classifier, 'cup')), ProEMLCError)
    assert isinstance(error_of(classifier.learning.call(lambda: 1 / 0)), ZeroDivisionError)
    assert annotate(classifier, 'cup').result(timeout=DEADLINE)
    assert any('oops' in text for text in classifier.complaints)
    assert any('ZeroDivisionError' in text for text in classifier.complaints)


def test_changes_wait_behind_annotations_and_say_what_they_did(classifier):
    values = vector(1).data
    gate = hold(classifier)
    annotate(classifier, 'cup', features=values)
    renamed = classifier.rename('cup', 'mug')
    gate.set()
    assert renamed.result(timeout=DEADLINE).message == "'cup' is now 'mug'"
    assert renamed.result().events[0].kind is EventKind.RENAME
    assert classifier.save('kitchen').result(timeout=DEADLINE).events == ()
    assert classifier.undo().result(timeout=DEADLINE).message == "undid 'mug'"
    assert isinstance(error_of(classifier.undo()), UndoError)
    loaded = classifier.load('kitchen').result(timeout=DEADLINE)
    assert loaded.message == 'loaded kitchen.npz: 1 labels, 1 samples'
    assert 'before_reset.npz' in classifier.reset().result(timeout=DEADLINE).message
    assert classifier.durable.model.learner.labels == []


def test_snapshots_are_written_when_due_and_at_the_end(classifier):
    classifier.snapshots.every = 3
    classifier.keep(vector(1))
    for future in [annotate(classifier, 'cup') for _ in range(3)]:
        future.result(timeout=DEADLINE)
    wait_until(lambda: not classifier.durable.unsaved)
    last = annotate(classifier, 'plate')
    classifier.close()
    classifier.closed = True
    assert last.done()
    snapshot = ProEMLC.load(classifier.durable.directory.snapshots[0])
    assert snapshot.labels == ['cup', 'plate']
    assert snapshot.extra['position'] == 4


def test_a_snapshot_that_fails_is_logged(classifier, monkeypatch):
    def full(*_, **__):
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr(ProEMLC, 'save', full)
    classifier.keep(vector(1))
    classifier.snapshots.every = 1
    annotate(classifier, 'cup').result(timeout=DEADLINE)
    wait_until(lambda: classifier.complaints)
    assert 'No space left' in classifier.complaints[0]
    assert 'the journal has everything' in classifier.complaints[0]


def taught(classifier, count):
    """Teach some samples; return their numbers."""
    for number in range(count):
        classifier.keep(vector(number))
        done = annotate(classifier, 'cup', stamp=number * SECOND)
        yield done.result(timeout=DEADLINE).number


def test_annotations_are_learnt_while_many_samples_are_changed(classifier, monkeypatch):
    numbers, gate = [*taught(classifier, 40)], threading.Event()
    follow = Follower.followed
    monkeypatch.setattr(Follower, 'followed', lambda *all: (gate.wait(DEADLINE), follow(*all))[1])
    review, report, told = Review(classifier), classifier.work.report, []
    monkeypatch.setattr(classifier.work, 'report', lambda text: (told.append(text), report(text)))
    change = review.correct([Correction(number, ('plate',)) for number in numbers], 'Ada')
    wait_until(lambda: 'changing 40 samples' in classifier.work.progress)
    classifier.keep(vector(99))
    assert annotate(classifier, 'cup', stamp=99 * SECOND).result(timeout=DEADLINE).number
    gate.set()
    done = change.result(timeout=DEADLINE)
    assert done.message == 'changed 40 samples' and len(done.events) == 40
    assert 'changing 40 samples: 40 done' in told
    learner = classifier.durable.model.learner
    assert dict(zip(learner.labels, learner.counts)) == {'cup': 1, 'plate': 40}
    took_back = review.turn(EventKind.UNDO, [], '', False).result(timeout=DEADLINE)
    assert len(took_back.events) == 40
    assert classifier.durable.model.learner.counts == [41]
    review.close()


def test_annotations_are_learnt_while_a_label_of_many_samples_is_merged(classifier, monkeypatch):
    assert len([*taught(classifier, 40)]) == 40
    classifier.keep(vector(98))
    annotate(classifier, 'plate', stamp=98 * SECOND).result(timeout=DEADLINE)
    gate, follow, review = threading.Event(), Follower.followed, Review(classifier)
    monkeypatch.setattr(Follower, 'followed', lambda *all: (gate.wait(DEADLINE), follow(*all))[1])
    for change, counts in (
            (lambda: review.merge_labels('cup', 'plate', 'Ada'), {'plate': 42}),
            (lambda: review.turn(EventKind.UNDO, [], '', False), {'cup': 42, 'plate': 1})):
        gate.clear()
        done = change()
        wait_until(lambda: classifier.work.progress)
        classifier.keep(vector(99))
        assert annotate(classifier, 'cup', stamp=99 * SECOND).result(timeout=DEADLINE).number
        gate.set()
        assert len(done.result(timeout=DEADLINE).events) == 1
        learner = classifier.durable.model.learner
        assert dict(zip(learner.labels, learner.counts)) == counts
    review.close()


def test_long_work_can_be_cancelled_and_changes_nothing(classifier, monkeypatch):
    numbers, gate = [*taught(classifier, 40)], threading.Event()
    follow = Follower.followed
    monkeypatch.setattr(Follower, 'followed', lambda *all: (gate.wait(DEADLINE), follow(*all))[1])
    change = Review(classifier).correct([Correction(one, ('plate',)) for one in numbers], 'Ada')
    wait_until(lambda: classifier.work.progress)
    assert classifier.work.cancel() == 'changing 40 samples'
    gate.set()
    assert isinstance(error_of(change), WorkCancelledError)
    assert classifier.durable.model.learner.labels == ['cup'] and not classifier.work.cancel()


def test_closing_gives_up_long_work_and_keeps_what_was_acknowledged(classifier, tmp_path):
    assert len([*taught(classifier, 3)]) == 3
    endless = classifier.work.call(lambda: [classifier.work.report('counting')
                                            for _ in iter(int, 1)])
    gate = hold(classifier)
    waiting = classifier.undo()
    threading.Timer(0.2, gate.set).start()
    wait_until(lambda: classifier.work.progress)
    classifier.close()
    classifier.closed = True
    assert isinstance(error_of(endless), WorkCancelledError)
    assert isinstance(error_of(waiting), WorkCancelledError)
    assert Journal(tmp_path / 'model' / 'journal', read_only=True).last_number == 3


def test_closing_does_not_wait_for_a_disk_that_hangs(classifier, monkeypatch, tmp_path):
    monkeypatch.setattr(classifier_module, '_CLOSE_TIMEOUT', 0.3)
    gate = hold(classifier)
    classifier.close()
    classifier.closed = True
    assert 'does not answer in time' in classifier.complaints[-1]
    with pytest.raises(ModelDirectoryError, match='another classifier'):
        ModelDirectory(tmp_path / 'model')  # It may still be written.
    gate.set()
    wait_until(lambda: not classifier.learning._thread.is_alive())
    classifier.durable.directory.close()
