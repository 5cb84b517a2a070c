# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators share, and one operator's desk."""

import numpy as np
import pytest

from proemlc_ros.classifier.records import (
    Annotation,
    Event,
    EventKind,
    LabelState,
    Query,
    StampedPrediction,
    StampedVector,
)
from proemlc_ros.operator.classifier_view import ClassifierView, Connection, Health, ViewPart
from proemlc_ros.operator.curve import LearningCurve
from proemlc_ros.operator.draft import AnnotationDraft, annotation_about
from proemlc_ros.operator.query_queue import QueryQueue
from proemlc_ros.operator.recent_vectors import RecentVectors


def moment(stamp, width=3):
    return StampedVector(stamp, np.full(width, stamp, np.float32), 'test/1')


def sight(stamp, predicted=(), version=1):
    return StampedPrediction(stamp, predicted, np.zeros(0, np.float32), 0.5, version)


def test_annotation_carries_stamp_and_features_of_the_frozen_moment():
    moments = RecentVectors(max_count=2)
    desk = AnnotationDraft(moments, 'ann')
    moments.add(moment(7))
    desk.freeze(sight(7))
    for stamp in range(100, 200):  # the operator types slowly, the flow goes on
        moments.add(moment(stamp))
    desk.press('cup')
    said = desk.annotation()
    assert (said.stamp, said.labels, said.extractor) == (7, ('cup',), 'test/1')
    assert said.features.tolist() == [7, 7, 7]
    assert (said.complete, said.annotator) == (True, 'ann')


def test_annotation_of_a_forgotten_moment_keeps_its_stamp():
    said = annotation_about(RecentVectors(), 42, ('cup',))
    assert (said.stamp, said.features) == (42, None)


def test_marks_step_from_present_to_absent_to_none():
    desk = AnnotationDraft(RecentVectors())
    desk.freeze(sight(1))
    assert [desk.press('cup') for _ in range(4)] == [True, False, None, True]


def test_absent_mark_leaves_the_rest_unknown():
    desk = AnnotationDraft(RecentVectors())
    desk.freeze(sight(1))
    desk.mark('bowl', present=False)
    said = desk.annotation()
    assert (said.labels, said.absent, said.complete) == ((), ('bowl',), False)


def test_freezing_another_moment_drops_the_marks_and_the_same_one_keeps_them():
    desk = AnnotationDraft(RecentVectors())
    desk.freeze(sight(1))
    desk.press('cup')
    desk.freeze(sight(1))
    assert desk.marks == {'cup': True}
    desk.freeze(sight(2))
    assert desk.marks == {}


def test_nothing_frozen_gives_no_annotation():
    with pytest.raises(ValueError, match='frozen'):
        AnnotationDraft(RecentVectors()).annotation()


def test_mark_of_a_label_that_was_renamed_elsewhere_is_dropped_and_a_typed_one_stays():
    desk = AnnotationDraft(RecentVectors())
    desk.freeze(sight(1))
    desk.press('cups')
    desk.press('brand new')
    assert desk.drop_lost({'cups'}, {'cup'}) == ['cups']
    assert desk.marks == {'brand new': True}


def test_recent_moments_are_bounded_by_count_bytes_and_holds():
    moments = RecentVectors(max_count=3, max_bytes=40, max_held=1)
    for stamp in (1, 2, 3, 4):
        moments.add(moment(stamp))
    assert moments.find(1) is None and moments.find(2) is not None
    moments.add(moment(5, width=9))  # 36 bytes: leaves room for nothing else
    assert moments.find(4) is None and moments.find(5) is not None
    assert moments.hold(5) and not moments.hold(99)
    moments.hold(6, moment(6))
    moments.add(moment(7))
    assert moments.find(6) is not None


def test_moment_with_the_same_stamp_counts_once():
    moments = RecentVectors(max_bytes=24)
    moments.add(moment(1))
    for _ in range(5):
        moments.add(moment(2))
    assert moments.find(1) is not None


def test_question_queue_forgets_the_oldest_and_settles_by_stamp():
    queue = QueryQueue(max_count=2)
    for stamp in (1, 2, 3):
        queue.add(Query(moment(stamp), 'why'))
    assert [question.vector.stamp for question in queue] == [2, 3]
    assert queue.settle(2) and not queue.settle(2)
    assert len(queue) == 1


def test_robot_tells_live_silent_and_absent_apart():
    robot = ClassifierView()
    assert robot.connection(0.0) is Connection.ABSENT
    robot.reachable = True
    assert robot.connection(0.0) is Connection.SILENT
    robot.on_health(Health(), None, now=10.0)
    assert robot.connection(12.0) is Connection.LIVE
    assert robot.connection(14.0) is Connection.SILENT


def test_robot_rate_is_a_mean_over_the_last_seconds():
    robot = ClassifierView()
    for step in range(100):
        robot.on_sight(sight(step), now=step * 0.1)
    assert robot.rate(9.9) == pytest.approx(10, abs=0.5)
    assert robot.rate(60.0) == 0


def test_robot_settles_a_question_that_was_answered_and_notes_who_did_it():
    seen = []
    robot = ClassifierView(watch=seen.append)
    robot.on_question(Query(moment(5), 'why'))
    robot.on_taught(Annotation(5, ('cup',), annotator='ann'))
    assert len(robot.questions) == 0
    assert seen == [ViewPart.QUESTIONS, ViewPart.ACTIVITY, ViewPart.QUESTIONS]
    deed = robot.activity.deeds[-1]
    assert (deed.number, deed.who, deed.text) == (1, 'ann', 'taught cup')


@pytest.mark.parametrize('order', [(True, False), (False, True), (True,), (False,)])
def test_annotation_heard_of_twice_is_one_deed(order):
    robot = ClassifierView()
    for echo in order:
        robot.on_taught(Annotation(5, ('cup',), annotator='ann'), echo)
    assert len(robot.activity.deeds) == 1
    robot.on_taught(Annotation(6, ('cup',), annotator='ann'))
    assert len(robot.activity.deeds) == 2


def test_event_is_noted_with_who_asked_for_it():
    robot = ClassifierView()
    robot.expect(EventKind.REMOVE, 'ann')
    robot.on_event(Event(EventKind.REMOVE, label='cup'))
    robot.on_event(Event(EventKind.LOAD, file_name='kitchen.npz'))
    assert [(deed.who, deed.text) for deed in robot.activity.deeds] == [
        ('ann', 'removed cup'), ('', 'loaded kitchen.npz')]


def test_moment_of_a_question_outlives_the_flow():
    robot = ClassifierView(moments=RecentVectors(max_count=1))
    robot.on_question(Query(moment(5), 'why'))
    robot.on_moment(moment(6))
    robot.on_moment(moment(7))
    assert robot.moments.find(5).data.tolist() == [5, 5, 5]


def test_curve_marks_introductions_after_the_first_look():
    robot = ClassifierView()
    robot.on_labels(LabelState(('cup',), (1,), (0.0,), 1, 1))
    robot.on_labels(LabelState(('cup', 'bowl'), (1, 1), (0.0, 0.0), 9, 2))
    assert robot.curve.introductions == [(9, 'bowl')]
    robot.on_health(Health(), 0.25, now=0.0)
    assert robot.curve.points == [(9, 0.25)]


def test_curve_marks_the_very_first_label():
    robot = ClassifierView()
    robot.on_labels(LabelState())
    robot.on_labels(LabelState(('cup',), (1,), (0.0,), 1, 1))
    assert robot.curve.introductions == [(1, 'cup')]


def test_curve_takes_points_back_with_an_undo_and_stays_bounded():
    curve = LearningCurve(max_points=10)
    for samples in range(1000):
        curve.add_loss(samples, 1 / (samples + 1))
        assert len(curve.points) <= 10
    assert curve.points[-1][0] == 999
    curve.add_loss(500, 0.1)
    assert curve.points[-1] == (500, 0.1)
    assert all(samples <= 500 for samples, _ in curve.points)
    assert not curve.add_loss(500, 0.1)
