# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the keys do and what is on the screen, without a terminal."""

import asyncio

import numpy as np
import pytest
from recorder import Recorder

from proemlc_ros.classifier.records import LabelState, Query, StampedPrediction, StampedVector
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.classifier_view import ClassifierView, Health
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.operator.terminal.columns import clip, columns_of, fit, printable
from proemlc_ros.operator.terminal.console import Console
from proemlc_ros.operator.terminal.label_pages import LABEL_KEYS
from proemlc_ros.operator.terminal.view import ASCII, View

ENTER, ESCAPE, TAB = '\n', '\x1b', '\t'


@pytest.fixture
def seat():
    robot = ClassifierView()
    console = Console(robot, AnnotationDraft(robot.moments, 'ann'), Recorder(robot))
    view = View(console, '/proemlc')
    names = ('cup', 'bowl', 'spoon')
    robot.on_labels(LabelState(names, (3, 2, 1), (0.0, 0.1, 0.2), 6, 1))
    look(console, view, 1000)
    return console, view


def look(console, view, stamp):
    robot = console.robot
    robot.on_moment(StampedVector(stamp, np.full(2, stamp, np.float32)))
    robot.on_sight(StampedPrediction(stamp, ('cup',), np.array([0.9, -0.5, -1.0], np.float32), 0.2, 1), 0.0)
    return view.lines(20, 80, 0.0)


def text(lines):
    return '\n'.join(''.join(part for _, part in line) for line in lines)


def type_in(console, *keys):
    async def run():
        for key in keys:
            console.key(key)
        worker = asyncio.create_task(console.orders.work())
        while console.orders.waiting:
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        worker.cancel()
    asyncio.run(run())


def test_label_key_freezes_what_is_on_the_screen_and_enter_teaches_it(seat):
    console, view = seat
    console.robot.on_sight(StampedPrediction(2000, (), np.zeros(3, np.float32), 0.5, 1), 0.0)
    type_in(console, '1', '3')
    look(console, view, 3000)
    type_in(console, ENTER)
    said = console.actions.asked[0]
    assert (said.stamp, said.labels, said.complete) == (1000, ('cup', 'spoon'), True)
    assert said.features.tolist() == [1000, 1000] and said.annotator == 'ann'
    assert console.desk.frozen is None and 'learnt: cup, spoon' in console.orders.message


def test_second_press_marks_as_absent(seat):
    console, view = seat
    type_in(console, '2', '2')
    assert 'unmarked labels: unknown' in text(view.lines(20, 80, 0.0))
    type_in(console, ENTER)
    said = console.actions.asked[0]
    assert (said.labels, said.absent, said.complete) == ((), ('bowl',), False)


def test_none_of_them_and_unknown_rest(seat):
    console, _ = seat
    type_in(console, 'c', '1', ENTER)
    type_in(console, '2', '0')
    partial, none = console.actions.asked
    assert (partial.labels, partial.complete) == (('cup',), False)
    assert (none.labels, none.absent, none.complete) == ((), (), True)


def test_new_label_with_completion_and_warning(seat):
    console, view = seat
    type_in(console, 'n', 's', 'p', TAB)
    assert console.prompt.text == 'spoon' and 'spoon' in text(view.lines(20, 80, 0.0))
    type_in(console, 's', ENTER)
    assert '"spoons" is nearly "spoon"' in text(view.lines(20, 80, 0.0))
    type_in(console, 'k', '1', ENTER)
    assert console.actions.asked[-1].labels == ('spoon',)
    type_in(console, 'n', *'spoons', ENTER, 'y', ENTER)
    assert console.actions.asked[-1].labels == ('spoons',)
    type_in(console, 'n', *'spoons', ENTER, ESCAPE)
    assert console.desk.marks == {}


def test_typing_edits_and_escape_leaves_it(seat):
    console, _ = seat
    type_in(console, 'n', *'kettel', '\x7f', '\x7f', *'le', 'KEY_LEFT')
    assert console.prompt.text == 'kettle'
    type_in(console, '\x15')
    assert console.prompt.text == ''
    type_in(console, ESCAPE, ESCAPE)
    assert console.prompt is None and console.desk.frozen is None


def test_failed_annotation_keeps_the_moment_and_its_marks(seat):
    console, _ = seat
    console.actions.outcome = ActionResult(False, 'disk full')
    type_in(console, '1', ENTER)
    assert console.orders.failed and console.orders.message == 'disk full'
    assert console.desk.frozen.stamp == 1000 and console.desk.marks == {'cup': True}
    console.actions.outcome = ActionResult(True, 'done')
    type_in(console, ENTER)
    assert [said.stamp for said in console.actions.asked] == [1000, 1000]


def test_enter_twice_teaches_once(seat):
    console, _ = seat
    type_in(console, '1', ENTER, ENTER, ENTER)
    assert len(console.actions.asked) == 1


@pytest.mark.parametrize(('keys', 'asked'), [
    (['u'], ('undo', 'ann')),
    (['s', *'kitchen', ENTER], ('save', 'ann', 'kitchen')),
    (['l', *'kitchen', ENTER], ('load', 'ann', 'kitchen')),
    (['d', 'b', TAB, ENTER], ('remove', 'ann', 'bowl')),
    (['r', 'b', TAB, ENTER, *'s', ENTER], ('rename', 'ann', 'bowl', 'bowls')),
])
def test_keys_of_the_model(seat, keys, asked):
    console, _ = seat
    type_in(console, *keys)
    assert console.actions.asked == [asked]
    assert console.orders.message == 'done'


def test_answering_a_question_is_about_its_moment(seat):
    console, view = seat
    moment = StampedVector(77, np.full(2, 7, np.float32))
    console.robot.on_question(Query(moment, 'odd', ('bowl',), (0.1,), 0.9))
    assert 'the robot asks (1)' in text(view.lines(20, 80, 0.0))
    type_in(console, 'a')
    assert 'ASKED' in text(view.lines(20, 80, 0.0))
    type_in(console, '2', ENTER)
    assert console.actions.asked[0].stamp == 77
    assert console.actions.asked[0].features.tolist() == [7, 7]
    console.robot.on_question(Query(StampedVector(78, moment.data), 'odd'))
    type_in(console, 'x')
    assert 'asks nothing' in text(view.lines(20, 80, 0.0))


def test_nothing_to_label_is_said(seat):
    robot = ClassifierView()
    console = Console(robot, AnnotationDraft(robot.moments), Recorder(robot))
    type_in(console, 'n')
    assert console.orders.failed and console.prompt is None
    type_in(console, ENTER, 'a', 'x')
    assert 'nothing' in console.orders.message
    assert 'waiting' in text(View(console, '/p').lines(20, 80, 0.0))


def test_filter_and_pages_reach_a_thousand_labels(seat):
    console, view = seat
    names = tuple(f'thing {number}' for number in range(1000))
    console.robot.on_labels(LabelState(names, (1,) * 1000, (0.0,) * 1000, 9, 2))
    view.lines(20, 80, 0.0)
    assert len(console.labels.visible()) == 13
    type_in(console, 'KEY_NPAGE')
    assert console.labels.visible()[0] == ('1', 'thing 13')
    type_in(console, '/', *'777', ENTER)
    assert console.labels.visible() == [('1', 'thing 777')]
    view.lines(200, 80, 0.0)
    type_in(console, '/', '\x15', ENTER)
    assert len(console.labels.visible()) == len(LABEL_KEYS)


def test_renamed_label_loses_its_mark(seat):
    console, _ = seat
    type_in(console, '1')
    console.robot.on_labels(LabelState(('mug', 'bowl'), (3, 2), (0.0, 0.0), 6, 2))
    assert console.desk.marks == {} and 'cup: renamed or removed' in console.orders.message


def test_lost_node_is_shown_and_comes_back(seat):
    console, view = seat
    assert 'connected' in text(view.lines(20, 80, 1.0))
    assert 'classifier: not running' in text(view.lines(20, 80, 9.0))
    console.robot.on_health(Health(), None, 10.0)
    assert 'connected' in text(view.lines(20, 80, 10.0))


@pytest.mark.parametrize('size', [(1, 1), (2, 5), (3, 200), (7, 20), (50, 30), (24, 80)])
def test_every_size_of_window_is_filled_and_not_more(seat, size):
    console, view = seat
    console.robot.on_labels(LabelState(('杯子' * 20, 'e\u0301' * 9), (3, 2), (0.0, 0.0), 6, 1))
    console.helping = size == (7, 20)
    lines = view.lines(*size, 0.0)
    assert len(lines) <= size[0]
    assert all(columns_of(''.join(part for _, part in line)) <= size[1] for line in lines)


def test_labels_cannot_steer_the_terminal(seat):
    console, view = seat
    console.robot.on_labels(LabelState(('\x1b[31mred\n',), (1,), (0.0,), 1, 1))
    assert '\x1b' not in text(view.lines(20, 80, 0.0))
    assert printable('a\x07\u202eb') == 'a\ufffd\ufffdb'


def test_plain_characters_where_there_is_no_utf8(seat):
    console, _ = seat
    type_in(console, '1')
    shown = text(View(console, '/proemlc', ASCII).lines(20, 60, 0.0))
    assert '#' in shown and '+ cup' in shown and not {'█', '░', '✓'} & set(shown)


def test_help_is_shown_and_any_key_leaves_it(seat):
    console, view = seat
    type_in(console, '?')
    assert 'freeze the moment' in text(view.lines(20, 80, 0.0))
    type_in(console, '1')
    assert not console.helping and console.desk.frozen is None
    type_in(console, 'q')
    assert not console.running


def test_columns():
    assert columns_of('杯e\u0301') == 3
    assert clip('杯子杯子', 5) == '杯子…' and clip('abc', 3) == 'abc' and clip('abc', 0) == ''
    assert fit('杯', 4) == '杯  '
