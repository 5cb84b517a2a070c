# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What all operators see of the classifier."""

import pytest
from recorder import prediction, vector

from proemlc_ros.operator import classifier_view
from proemlc_ros.operator.classifier_view import (
    ClassifierView,
    Connection,
    Health,
    LearningCurve,
    ViewPart,
)
from proemlc_ros.operator.recent import RecentVectors
from proemlc_ros.records import Annotation, Event, EventKind, LabelState, Query


def test_connection_is_live_silent_or_absent():
    view = ClassifierView()
    assert view.connection(0.0) is Connection.ABSENT
    view.reachable = True
    assert view.connection(0.0) is Connection.SILENT
    view.on_health(Health(), None, now=10.0)
    assert view.connection(12.0) is Connection.LIVE
    assert view.connection(14.0) is Connection.SILENT


def test_rate_is_a_mean_over_the_last_seconds():
    view = ClassifierView()
    for step in range(100):
        view.on_prediction(prediction(step), now=step * 0.1)
    assert view.rate(9.9) == pytest.approx(10, abs=0.5)
    assert view.rate(60.0) == 0


def test_learnt_annotation_settles_its_query_and_is_logged():
    seen = []
    view = ClassifierView(on_change=seen.append)
    view.on_query(Query(vector(5), 'why'))
    view.on_learnt(Annotation(5, ('cup',), annotator='ann'))
    assert len(view.queries) == 0
    assert seen == [ViewPart.QUERIES, ViewPart.ACTIVITY, ViewPart.QUERIES]
    entry = view.activity.entries[-1]
    assert (entry.number, entry.who, entry.text) == (1, 'ann', "taught 'cup'")


@pytest.mark.parametrize('order', [(True, False), (False, True), (True,), (False,)])
def test_annotation_reported_twice_is_one_activity_entry(order):
    view = ClassifierView()
    for published in order:
        view.on_learnt(Annotation(5, ('cup',), annotator='ann'), published)
    assert len(view.activity.entries) == 1
    view.on_learnt(Annotation(6, ('cup',), annotator='ann'))
    assert len(view.activity.entries) == 2


def test_event_is_logged_with_who_asked_for_it():
    view = ClassifierView()
    view.expect(EventKind.REMOVE, 'ann')
    view.on_event(Event(EventKind.REMOVE, label='cup'))
    view.on_event(Event(EventKind.LOAD, file_name='kitchen.npz'))
    assert [(entry.who, entry.text) for entry in view.activity.entries] == [
        ('ann', "removed 'cup'"), ('', 'loaded kitchen.npz')]


def test_vector_of_a_query_outlives_the_stream():
    view = ClassifierView(vectors=RecentVectors(max_count=1))
    view.on_query(Query(vector(5), 'why'))
    view.on_vector(vector(6))
    view.on_vector(vector(7))
    assert view.vectors.find(5).data.tolist() == [5, 5, 5]


def test_curve_marks_introductions_after_the_first_label_set():
    view = ClassifierView()
    view.on_labels(LabelState(('cup',), (1,), (0.0,), 1, 1))
    view.on_labels(LabelState(('cup', 'bowl'), (1, 1), (0.0, 0.0), 9, 2))
    assert view.curve.introductions == [(9, 'bowl')]
    view.on_health(Health(), 0.25, now=0.0)
    assert view.curve.points == [(9, 0.25)]


def test_curve_marks_the_very_first_label():
    view = ClassifierView()
    view.on_labels(LabelState())
    view.on_labels(LabelState(('cup',), (1,), (0.0,), 1, 1))
    assert view.curve.introductions == [(1, 'cup')]


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


def test_the_oldest_queries_are_dropped_and_one_is_settled_by_its_stamp(monkeypatch):
    monkeypatch.setattr(classifier_view, 'MAX_QUERIES', 2)
    view = ClassifierView()
    for stamp in (1, 2, 3):
        view.on_query(Query(vector(stamp), 'why'))
    assert [query.vector.stamp for query in view.queries] == [2, 3]
    assert all(query.asked_at > 0 for query in view.queries)
    view.settle(2)
    view.settle(2)
    assert len(view.queries) == 1
