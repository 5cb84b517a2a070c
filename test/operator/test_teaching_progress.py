# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Is it good yet, which part has stopped, what is asked, and what outlives a restart."""

import asyncio
import json

import numpy as np
import pytest
from recorder import Recorder, prediction, vector

from proemlc_ros.operator.actions import retire_sure
from proemlc_ros.operator.classifier_view import (
    ChainPart,
    ClassifierView,
    SourceState,
    StreamMonitor,
    ViewPart,
)
from proemlc_ros.operator.draft import burst_of
from proemlc_ros.operator.progress import Truth
from proemlc_ros.operator.questions import doubtful_label, is_settled
from proemlc_ros.operator.recent import CameraPicture, PictureCache
from proemlc_ros.operator.saved_view import SavedView
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
    TaughtSample,
)

NAMES = ('cup', 'bowl', 'plate')
LABELS = LabelState(NAMES, (3, 2, 1), (0.0, 0.0, 0.4), 6, 1)


def taught(view, stamp, predicted, *labels, **options):
    view.on_prediction(prediction(stamp, predicted), 0.0)
    view.on_learnt(Annotation(stamp, labels, **options))


def test_the_truth_is_what_the_classifier_publishes_with_mistakes_of_samples():
    labels = LabelState(NAMES, (10, 8, 1), (0.0,) * 3, 19, 1, judged=18, right=np.float32(14 / 18),
                        judged_counts=(10, 8, 0), recalls=(np.float32(0.6), 1.0, 0.0))
    mistake = TaughtSample(7, 0, Annotation(1, ('cup',)), True, 0.3, 'bowl', ('bowl',))
    early = TaughtSample(8, 0, Annotation(2, ('plate',)), True, float('nan'), '', ('cup',))
    truth = Truth.of_labels(labels, [mistake, early])
    assert (truth.right, truth.of) == (14, 18)
    assert {name: one[:3] for name, one in truth.labels.items()} == {
        'cup': (6, 10, 10), 'bowl': (8, 8, 8), 'plate': (0, 0, 1)}
    assert truth.labels['cup'].taken_for == {'bowl': [mistake]}
    assert truth.sentence == 'Would be right on 8 of 10 pictures like those taught.'
    assert truth.needs_more == [
        'plate needs more: 1 of at least 5 samples.',
        'cup is taken for bowl: show both from the sides on which they look alike.']
    assert Truth.of_labels(LABELS, [mistake]) == Truth()
    odd = labels._replace(right=float('nan'), recalls=(float('inf'), -1.0, 2.0))
    assert Truth.of_labels(odd, []).right == 0


def test_confusions_have_two_pictures_and_bursts_are_single_views():
    def sample(number, label, expected, doubt=0.1, pictured=True):
        return TaughtSample(number, 0, Annotation(number, (label,) if label else ()), pictured,
                            doubt, '', (expected,))
    samples = [sample(1, 'cup', 'bowl', pictured=False), sample(2, 'cup', 'bowl'),
               sample(3, 'bowl', 'plate'), sample(4, 'bowl', 'bowl'), sample(5, 'bowl', 'bowl'),
               *(sample(number, 'plate', 'plate') for number in range(6, 12))]
    labels = LabelState(NAMES, (2, 3, 6), (0.0,) * 3, 11, 1, judged=11, right=8 / 11,
                        judged_counts=(2, 3, 6), recalls=(0.0, 2 / 3, 1.0))
    truth = Truth.of_labels(labels, samples, dict.fromkeys(range(6, 12), 'burst'))
    first, second = truth.confusions
    assert (first.label, first.other, first.times) == ('cup', 'bowl', 2)
    # One that has a picture, beside the bowl that is nearest to a cup.
    assert (first.mistaken.number, first.beside.number) == (2, 4)
    assert (second.mistaken.number, second.beside.number) == (3, 6)
    assert [truth.labels[name].views for name in NAMES] == [2, 3, 1] and truth.views == 6
    assert truth.caution == ''
    assert truth.needs_more[-1] == ('plate: one recording. Record again in another place, other '
                                    'light, from farther away.')
    bursts = Truth.of_labels(labels, samples, {one.number: one.annotation.labels[0]
                                               for one in samples})
    assert bursts.caution == ('They are of 3 recordings, alike within each: expect less of new '
                              'views.')
    view = ClassifierView()
    view.on_truth(truth)
    payloads = Payloads(view, PictureCache(), '/proemlc', lambda *line: pytest.fail(str(line)))
    progress = json.loads(payloads.payload(ViewPart.PROGRESS))
    assert progress['confusions'][0] == {
        'label': 'cup', 'other': 'bowl', 'count': 2, 'pictures': [2, 4]}


def test_rights_and_wrongs_are_counted_of_what_was_predicted_before():
    view = ClassifierView()
    taught(view, 1, ('cup',), 'cup')
    taught(view, 2, ('bowl',), 'cup')
    taught(view, 3, ('bowl',), 'cup')
    taught(view, 4, ('cup',), 'cup', complete=False)
    taught(view, 5, ('bowl', 'cup'), absent=('cup',), complete=False)
    assert list(view.progress) == [True, False, False, True, False]
    view.on_event(Event(EventKind.RESET))
    assert not view.progress


def test_held_prediction_is_compared_however_late_it_is_taught():
    view = ClassifierView()
    view.on_prediction(prediction(1, ('cup',)), 0.0)
    view.keep(1)
    for stamp in range(2, 500):
        view.on_prediction(prediction(stamp), 0.0)
    view.on_learnt(Annotation(1, ('cup',)))
    assert list(view.progress) == [True]


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
    assert [(one.who, one.text) for one in again.activity.entries] == [('Ann', "taught 'cup'")]
    assert again.curve.points == [(6, 0.25)] and list(again.progress) == [True]
    kept = next(iter(again.queries))
    assert kept.label == 'cup' and kept.vector.data.tolist() == [7, 7, 7]
    assert later.find(7).jpeg == b'jpeg'
    again.on_labels(LabelState((*NAMES, 'spoon'), (1,) * 4, (0.0,) * 4, 8, 2))
    assert again.curve.introductions == [(8, 'spoon')]
    path = tmp_path / 'new' / 'view.json'
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, 'progress': [  # as before version 1.0
        [['cup'], [], []], [['cup'], ['bowl'], []]]}))
    earlier = ClassifierView()
    SavedView(path, earlier, PictureCache()).load()
    assert list(earlier.progress) == [True, False]
    again.note('Ben', 'taught bowl')
    assert [one.number for one in again.activity.entries] == [1, 2]


def test_page_gets_source_progress_and_the_part_that_stopped():
    view = ClassifierView()
    payloads = Payloads(view, PictureCache(), '/proemlc', lambda *line: pytest.fail(str(line)))
    assert payloads.payload(ViewPart.SOURCE) is None
    view.on_source(SourceState('images', 'a.png', 3, 9, things=('cup',), since=2**60 + 1))
    payloads.forget(ViewPart.SOURCE)
    source = json.loads(payloads.payload(ViewPart.SOURCE))
    assert (source['type'], source['kind'], source['position']) == ('source', 'images', 3)
    assert source['since'] == str(2**60 + 1)
    taught(view, 1, ('bowl',), 'cup')
    progress = json.loads(payloads.payload(ViewPart.PROGRESS))
    assert (progress['right'], progress['of'], progress['confusions']) == (0, 1, [])
    health = json.loads(payloads.payload(ViewPart.HEALTH))
    assert health['stopped'].startswith('the classifier is gone') and health['burst_rate'] == 10


def test_damaged_state_file_is_reported_and_nothing_else(tmp_path):
    path = tmp_path / 'view.json'
    SavedView(path, ClassifierView(), PictureCache()).load()
    path.write_text('{"version": 1')
    with pytest.raises(ValueError):
        SavedView(path, ClassifierView(), PictureCache()).load()
