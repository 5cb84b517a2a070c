# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Changes of the model in words, for activity and history."""

import pytest

from proemlc_ros.classifier.review import _steps_text
from proemlc_ros.journal.entries import ModelStep
from proemlc_ros.records import Annotation, Event, EventKind

CUP, PLATE = Annotation(1, ('cup',)), Annotation(2, ('plate', 'red'))
REMOVED = Event(EventKind.REMOVE, label='cup')


@pytest.mark.parametrize('records, text', [
    ([CUP], "taught 'cup'"),
    ([CUP] * 34, "taught 'cup', 34 times"),
    ([CUP, CUP, REMOVED, PLATE], "taught 'cup', 2 times; removed 'cup'; taught 'plate', 'red'"),
    ([CUP, REMOVED, PLATE, CUP, REMOVED],
     "taught 'cup'; removed 'cup'; taught 'plate', 'red' and 2 more")])
def test_several_steps_in_words(records, text):
    steps = [ModelStep(number, 0, record) for number, record in enumerate(records, 1)]
    assert _steps_text(steps) == text


@pytest.mark.parametrize('record, text', [
    (Annotation(0, ('cup',), ('bowl',), complete=False), "taught 'cup', not 'bowl'"),
    (Annotation(0, ()), 'taught none of the labels'),
    (Annotation(0, (), complete=False), 'taught nothing'),
    (Event(EventKind.UNDO), 'took back the last annotation'),
    (Event(EventKind.LOAD), 'loaded the snapshot'),
    (Event(EventKind.RELABEL, sample=7, labels=('cup',)), "relabelled sample 7 as 'cup'")])
def test_a_change_in_words(record, text):
    assert record.text == text
