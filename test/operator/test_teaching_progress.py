# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Is it good yet, which part has stopped, what is asked, and what outlives a restart."""

import asyncio
import json

import numpy as np
import pytest
from recorder import Recorder, prediction, vector

from proemlc_ros.operator.burst import burst_of
from proemlc_ros.operator.classifier_view import ClassifierView, SourceState, ViewPart
from proemlc_ros.operator.pictures import CameraPicture, PictureCache
from proemlc_ros.operator.questions import doubtful_label, is_settled, retire_sure
from proemlc_ros.operator.saved_view import SavedView
from proemlc_ros.operator.streams import ChainPart, StreamMonitor
from proemlc_ros.operator.web.payloads import Payloads
from proemlc_ros.operator.web.requests import Requests
from proemlc_ros.records import (
    Annotation,
    Event,
    EventKind,
    LabelState,
    Query,
    QueryReason,
    StampedPrediction,
)

NAMES = ('cup', 'bowl', 'plate')
LABELS = LabelState(NAMES, (3, 2, 1), (0.0, 0.0, 0.4), 6, 1)


def taught(view, stamp, predicted, *labels, **options):
    view.on_prediction(prediction(stamp, predicted), 0.0)
    view.on_learnt(Annotation(stamp, labels, **options))


def test_right_wrong_and_confused_are_counted_of_what_was_predicted_before():
    view = ClassifierView()
    taught(view, 1, ('cup',), 'cup')
    taught(view, 2, ('bowl',), 'cup')
    taught(view, 3, ('bowl',), 'cup')
    taught(view, 4, ('cup',), 'cup', complete=False)
    taught(view, 5, ('bowl', 'cup'), absent=('cup',), complete=False)
    assert view.progress.overall() == (2, 5)
    assert view.progress.by_label() == {'cup': (2, 5), 'bowl': (0, 2)}
    assert view.progress.confused() == [('cup', 'bowl', 2)]
    view.on_event(Event(EventKind.RENAME, label='cup', new_label='mug'))
    assert view.progress.confused() == [('mug', 'bowl', 2)]
    view.on_event(Event(EventKind.REMOVE, label='bowl'))
    assert view.progress.confused() == [] and 'bowl' not in view.progress.by_label()
    view.on_event(Event(EventKind.RESET))
    assert view.progress.overall() == (0, 0)


def test_held_prediction_is_compared_however_late_it_is_taught():
    view = ClassifierView()
    view.on_prediction(prediction(1, ('cup',)), 0.0)
    view.keep(1)
    for stamp in range(2, 500):
        view.on_prediction(prediction(stamp), 0.0)
    view.on_learnt(Annotation(1, ('cup',)))
    assert view.progress.overall() == (1, 1)


@pytest.mark.parametrize(('stops', 'word'), [
    (ChainPart.CAMERA, 'camera: no picture for'), (ChainPart.FEATURES, 'features: none for'),
    (ChainPart.PREDICTIONS, 'classifier: no prediction for')])
def test_first_part_that_stops_is_named(stops, word):
    monitor = StreamMonitor()
    assert monitor.stopped(100.0) == ''
    running = list(ChainPart)
    for step in range(100):
        # Behind a part that has stopped, the others have nothing to do.
        if step == 40:
            running = running[:running.index(stops)]
        for part in running:
            monitor.note(part, 0.1 * step)
        if step < 40:
            assert monitor.stopped(0.1 * step) == ''
    assert monitor.stopped(9.9).startswith(word)


def test_slow_stream_is_given_its_time():
    monitor = StreamMonitor()
    for second in range(0, 60, 3):
        monitor.note(ChainPart.CAMERA, second)
    assert monitor.stopped(63) == '' and monitor.stopped(80)


def query(stamp=7, reason=QueryReason.DOUBTFUL, **options):
    return Query(vector(stamp), 'why', ('cup', 'plate'), (0.3, 0.35), 0.2, reason, **options)


def test_doubtful_label_is_the_one_nearest_to_its_threshold():
    assert doubtful_label(query(), LABELS) == 'plate'
    assert doubtful_label(query(label='cup'), LABELS) == 'cup'
    assert doubtful_label(query(reason=QueryReason.NOVEL), LABELS) == ''


def test_question_is_settled_once_the_model_is_sure():
    def now(scores, novelty=0.2, **options):
        return StampedPrediction(7, (), np.array(scores, np.float32), novelty, 1, **options)
    assert is_settled(query(), now([0, 0, 0.9]), LABELS)
    assert not is_settled(query(), now([1, 1, 0.5]), LABELS)
    sure = np.array([0.5, 0.5, 0.95], np.float32)
    assert is_settled(query(), now([0, 0, 0.4], probabilities=sure), LABELS)
    novel = query(reason=QueryReason.NOVEL)
    assert is_settled(novel, now([], 0.1), LABELS) and not is_settled(novel, now([], 0.8), LABELS)


def test_questions_are_retired_when_sure_and_when_the_label_is_renamed():
    view = ClassifierView()
    view.on_labels(LABELS)
    view.on_query(query(7))
    view.on_query(query(8, QueryReason.NOVEL))
    asyncio.run(retire_sure(view, Recorder(view)))  # novelty 0.1, one score only
    assert [one.vector.stamp for one in view.queries] == [7]
    view.on_event(Event(EventKind.RENAME, label='plate', new_label='dish'))
    assert len(view.queries) == 0


def test_burst_has_one_id_and_leaves_near_copies_out():
    view = ClassifierView()
    actions = Recorder(view)
    requests = Requests(view, PictureCache(), actions, 'ann', lambda *_: None)
    answers = []

    async def record():
        for number, stamp in enumerate((1000, 1001, 2000)):
            view.on_vector(vector(stamp))
            answers.append(await requests.answer({
                'id': 1, 'do': 'annotate', 'stamp': str(stamp), 'labels': ['cup'], 'absent': [],
                'complete': True, 'burst': '0123456789ab', 'number': number}))
        answers.append(await requests.answer({
            'id': 1, 'do': 'annotate', 'stamp': '1', 'labels': [], 'complete': True,
            'burst': 'no such id', 'number': 0}))
    asyncio.run(record())
    assert [answer.get('skipped', False) for answer in answers] == [False, True, False, False]
    assert [burst_of(one) for one in actions.request_ids] == ['0123456789ab'] * 2
    assert not answers[-1]['done'] and '12 hexadecimal' in answers[-1]['message']


def test_queries_activity_curve_and_progress_outlive_a_restart(tmp_path):
    view, pictures = ClassifierView(), PictureCache()
    view.on_labels(LABELS)
    view.curve.add_loss(6, 0.25)
    pictures.add(CameraPicture(7, b'jpeg'))
    view.on_query(query(7, label='cup', probabilities=(0.5, 0.1)))
    pictures.hold(7)
    taught(view, 1, ('cup',), 'cup', annotator='Ann')
    saved = SavedView(tmp_path / 'new' / 'view.json', view, pictures)
    saved.save()
    assert (tmp_path / 'new' / 'view.json').stat().st_mode & 0o077 == 0

    again, later = ClassifierView(), PictureCache()
    SavedView(tmp_path / 'new' / 'view.json', again, later).load()
    assert [(one.who, one.text) for one in again.activity.entries] == [('Ann', 'taught cup')]
    assert again.curve.points == [(6, 0.25)] and again.progress.overall() == (1, 1)
    kept = next(iter(again.queries))
    assert kept.label == 'cup' and kept.vector.data.tolist() == [7, 7, 7]
    assert later.find(7).jpeg == b'jpeg'
    again.on_labels(LabelState((*NAMES, 'spoon'), (1,) * 4, (0.0,) * 4, 8, 2))
    assert again.curve.introductions == [(8, 'spoon')]
    again.note('Ben', 'taught bowl')
    assert [one.number for one in again.activity.entries] == [1, 2]


def test_page_gets_source_progress_and_the_part_that_stopped():
    view = ClassifierView()
    payloads = Payloads(view, PictureCache(), '/proemlc', lambda *line: pytest.fail(str(line)))
    assert payloads.payload(ViewPart.SOURCE) is None
    view.on_source(SourceState('images', 'a.png', 3, 9, things=('cup',)))
    payloads.forget(ViewPart.SOURCE)
    source = json.loads(payloads.payload(ViewPart.SOURCE))
    assert (source['type'], source['kind'], source['position']) == ('source', 'images', 3)
    taught(view, 1, ('bowl',), 'cup')
    progress = json.loads(payloads.payload(ViewPart.PROGRESS))
    assert progress['pairs'] == [['cup', 'bowl', 1]]
    assert progress['labels']['cup'] == {'right': 0, 'of': 1, 'confused': 'bowl'}
    health = json.loads(payloads.payload(ViewPart.HEALTH))
    assert health['stopped'] == 'classifier: not running' and health['burst_rate'] == 10


def test_damaged_state_file_is_reported_and_nothing_else(tmp_path):
    path = tmp_path / 'view.json'
    SavedView(path, ClassifierView(), PictureCache()).load()
    path.write_text('{"version": 1')
    with pytest.raises(ValueError):
        SavedView(path, ClassifierView(), PictureCache()).load()
