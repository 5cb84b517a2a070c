# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the history in words: what undo and redo say that they did."""

import pytest

from proemlc_ros.classifier.step_text import steps_text
from proemlc_ros.journal.table import ModelStep
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
    assert steps_text(steps) == text
