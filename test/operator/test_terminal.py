# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the keys do and what is on the screen, without a terminal."""

import asyncio
import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from recorder import Recorder, vector

from proemlc_ros.features.sensor_arrays import jpeg_of
from proemlc_ros.operator.actions import (
    ActionResult,
    HistoryLine,
    HistoryList,
    SampleList,
)
from proemlc_ros.operator.classifier_view import ChainPart, ClassifierView, Health, SourceState
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.operator.recent import CameraPicture
from proemlc_ros.operator.terminal.console import Console
from proemlc_ros.operator.terminal.layout import Layout
from proemlc_ros.operator.terminal.text import (
    ASCII,
    _character_columns,
    clip,
    columns_of,
    fit,
    printable,
)
from proemlc_ros.operator.terminal.widgets import LABEL_KEYS
from proemlc_ros.records import (
    Annotation,
    LabelState,
    Query,
    SampleOrder,
    StampedPrediction,
    StampedVector,
    TaughtSample,
)

ENTER, ESCAPE, TAB = '\n', '\x1b', '\t'


@pytest.fixture
def terminal():
    view = ClassifierView()
    console = Console(view, AnnotationDraft(view.vectors, 'ann'), Recorder(view))
    layout = Layout(console, '/proemlc')
    names = ('cup', 'bowl', 'spoon')
    view.on_labels(LabelState(names, (3, 2, 1), (0.0, 0.1, 0.2), 6, 1))
    show(console, layout, 1000)
    return console, layout


def show(console, layout, stamp):
    scores = np.array([0.9, -0.5, -1.0], np.float32)
    console.view.on_vector(vector(stamp, width=2))
    console.view.on_prediction(StampedPrediction(stamp, ('cup',), scores, 0.2, 1), 0.0)
    return layout.lines(20, 80, 0.0)


def text(lines):
    return '\n'.join(''.join(part for _, part in line) for line in lines)


def type_in(console, *keys):
    async def run():
        for key in keys:
            console.key(key)
        worker = asyncio.create_task(console.commands.work())
        while console.commands.waiting:
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        worker.cancel()
    asyncio.run(run())


def test_held_label_keys_mark_what_is_on_the_screen_and_enter_teaches_it(terminal):
    console, layout = terminal
    console.view.on_prediction(StampedPrediction(2000, (), np.zeros(3, np.float32), 0.5, 1), 0.0)
    type_in(console, ' ', '1', '3')
    show(console, layout, 3000)
    type_in(console, ENTER)
    annotation = console.actions.asked[0]
    assert (annotation.stamp, annotation.labels) == (1000, ('cup', 'spoon'))
    assert annotation.complete
    assert annotation.features.tolist() == [1000, 1000] and annotation.annotator == 'ann'
    assert console.draft.frozen is None and "learnt: 'cup', 'spoon'" in console.commands.message


def test_frozen_prediction_without_its_vector_is_marked(terminal):
    console, layout = terminal
    console.view.on_prediction(StampedPrediction(2000, (), np.zeros(3, np.float32), 0.5, 1), 0.0)
    layout.lines(20, 100, 0.0)
    type_in(console, ' ')
    assert 'no features yet' in text(layout.lines(20, 100, 0.0))
    console.view.on_vector(vector(2000))
    assert 'no features' not in text(layout.lines(20, 100, 0.0))


def test_second_press_marks_as_absent(terminal):
    console, layout = terminal
    type_in(console, ' ', '2', '2')
    assert 'unmarked labels: unknown' in text(layout.lines(20, 80, 0.0))
    type_in(console, ENTER)
    annotation = console.actions.asked[0]
    assert (annotation.labels, annotation.absent, annotation.complete) == ((), ('bowl',), False)


def test_none_of_them_and_unknown_rest(terminal):
    console, _ = terminal
    type_in(console, 'c', ' ', '1', ENTER)
    type_in(console, ' ', '2', '0')  # a mark is not dropped by a slip of the finger
    assert 'Enter teaches them' in console.commands.message and console.draft.marks
    type_in(console, ESCAPE, ' ', '0')
    partial, none = console.actions.asked
    assert (partial.labels, partial.complete) == (('cup',), False)
    assert (none.labels, none.absent, none.complete) == ((), (), True)


def test_new_label_with_completion_and_warning(terminal):
    console, layout = terminal
    type_in(console, 'n', 's', 'p', TAB)
    assert console.prompt.text == 'spoon' and 'spoon' in text(layout.lines(20, 80, 0.0))
    type_in(console, 's', ENTER)
    assert '"spoons" is nearly "spoon"' in text(layout.lines(20, 80, 0.0))
    type_in(console, 'k', '1', ENTER)
    assert console.actions.asked[-1].labels == ('spoon',)
    type_in(console, 'n', *'spoons', ENTER, 'y', ENTER)
    assert console.actions.asked[-1].labels == ('spoons',)
    type_in(console, 'n', *'spoons', ENTER, ESCAPE)
    assert console.draft.marks == {}


def test_typing_edits_and_escape_leaves_it(terminal):
    console, _ = terminal
    type_in(console, 'n', *'kettel', '\x7f', '\x7f', *'le', 'KEY_LEFT')
    assert console.prompt.text == 'kettle'
    type_in(console, '\x15')
    assert console.prompt.text == ''
    type_in(console, ESCAPE, ESCAPE)
    assert console.prompt is None and console.draft.frozen is None


def test_failed_annotation_keeps_the_draft(terminal):
    console, _ = terminal
    console.actions.result = ActionResult(False, 'disk full')
    type_in(console, '1', ENTER)
    assert console.commands.failed and console.commands.message == 'disk full'
    assert console.draft.frozen.stamp == 1000 and console.draft.marks == {'cup': True}
    console.actions.result = ActionResult(True, 'done')
    type_in(console, ENTER)
    assert [annotation.stamp for annotation in console.actions.asked] == [1000, 1000]


def test_enter_twice_teaches_once(terminal):
    console, _ = terminal
    type_in(console, '1', ENTER, ENTER, ENTER)
    assert len(console.actions.asked) == 1


@pytest.mark.parametrize(('keys', 'asked'), [
    (['u'], ('undo', 'ann')),
    (['s', *'kitchen', ENTER], ('save', 'ann', 'kitchen', True)),
    (['l', *'kitchen', ENTER], ('load', 'ann', 'kitchen')),
    (['d', 'b', TAB, ENTER], ('remove', 'ann', 'bowl')),
    (['R', 'b', TAB, ENTER, *'s', ENTER], ('rename', 'ann', 'bowl', 'bowls')),
])
def test_keys_of_the_model(terminal, keys, asked):
    console, _ = terminal
    type_in(console, *keys)
    assert console.actions.asked == [asked]
    assert console.commands.message == 'done'


def test_answer_is_about_the_vector_of_its_query(terminal):
    console, layout = terminal
    asked = StampedVector(77, np.full(2, 7, np.float32))
    console.view.on_query(Query(asked, 'odd', ('bowl',), (0.1,), 0.9))
    assert 'the robot asks (1)' in text(layout.lines(20, 80, 0.0))
    type_in(console, 'a')
    assert 'ASKED' in text(layout.lines(20, 80, 0.0))
    type_in(console, '2', ENTER)
    assert console.actions.asked[0].stamp == 77
    assert console.actions.asked[0].features.tolist() == [7, 7]
    console.view.on_query(Query(StampedVector(78, asked.data), 'odd'))
    type_in(console, 'x')
    assert 'asks nothing' in text(layout.lines(20, 80, 0.0))


def test_question_about_one_label_has_scores_picture_and_yes_or_no(terminal):
    console, layout = terminal
    pixels = np.zeros((60, 80, 3), np.uint8)
    pixels[:, 40:] = 255
    console.pictures.add(CameraPicture(77, jpeg_of(pixels)))
    asked = StampedVector(77, np.full(2, 7, np.float32))
    console.view.on_query(Query(asked, 'close', ('bowl', 'cup'), (0.14, -0.9), 0.2))
    type_in(console, 'a')
    shown = text(layout.lines(24, 80, 0.0))
    assert 'is there "bowl"?' in shown
    assert 'bowl 57%, cup 5%' in shown
    assert '@@@@@' in shown
    layout.colours = True
    colours = {style for line in layout.lines(24, 80, 0.0) for style, _ in line}
    assert {'16/16', '231/231'} <= colours
    type_in(console, 'n')
    answer = console.actions.asked[0]
    assert (answer.labels, answer.absent, answer.complete) == ((), ('bowl',), False)
    console.view.on_query(Query(StampedVector(78, asked.data), 'close', ('cup',), (0.0,), 0.2))
    type_in(console, 'a', 'y')
    assert console.actions.asked[1].labels == ('cup',)
    assert console.actions.asked[1].complete is False


def test_arrow_keys_turn_the_pictures_of_a_folder(terminal):
    console, layout = terminal
    type_in(console, 'KEY_RIGHT')  # a camera cannot be turned
    assert console.actions.asked == []
    console.view.on_source(SourceState('images', 'cup/01.jpg', 3, 20, playing=False))
    type_in(console, 'KEY_RIGHT', 'KEY_LEFT')
    assert console.actions.asked == [('control_source', 'step', 0, ()),
                                     ('control_source', 'back', 0, ())]
    assert '4 of 20, paused  cup/01.jpg' in text(layout.lines(20, 100, 0.0))
    console.actions.result = ActionResult(False, 'the source of the pictures does not answer')
    type_in(console, 'KEY_RIGHT')
    assert console.commands.failed and 'does not answer' in console.commands.message


def test_old_picture_is_not_frozen_by_accident(terminal):
    console, layout = terminal
    console.view.streams.note(ChainPart.FEATURES, 0.0)
    console.view.on_health(Health(), None, 9.0)
    assert 'features: none for 9 s' in text(layout.lines(20, 80, 9.0))
    type_in(console, '1')
    assert console.actions.asked == [] and 'not taught' in console.commands.message
    type_in(console, ' ')
    assert console.draft.frozen is None and 'once more' in console.commands.message
    type_in(console, ' ')
    assert console.draft.frozen.stamp == 1000


def test_nothing_to_label_gives_a_message(terminal):
    view = ClassifierView()
    console = Console(view, AnnotationDraft(view.vectors), Recorder(view))
    type_in(console, 'n')
    assert console.commands.failed and console.prompt is None
    type_in(console, ENTER, 'a', 'x')
    assert 'nothing' in console.commands.message
    assert 'waiting' in text(Layout(console, '/p').lines(20, 80, 0.0))


def test_filter_and_pages_reach_a_thousand_labels(terminal):
    console, layout = terminal
    names = tuple(f'thing {number}' for number in range(1000))
    console.view.on_labels(LabelState(names, (1,) * 1000, (0.0,) * 1000, 9, 2))
    layout.lines(20, 80, 0.0)
    assert len(console.labels.visible()) == 13
    type_in(console, 'KEY_NPAGE')
    assert console.labels.visible()[0] == ('1', 'thing 13')
    type_in(console, '/', *'777', ENTER)
    assert console.labels.visible() == [('1', 'thing 777')]
    layout.lines(200, 80, 0.0)
    type_in(console, '/', '\x15', ENTER)
    assert len(console.labels.visible()) == len(LABEL_KEYS)


def test_renamed_label_loses_its_mark(terminal):
    console, _ = terminal
    type_in(console, ' ', '1')
    console.view.on_labels(LabelState(('mug', 'bowl'), (3, 2), (0.0, 0.0), 6, 2))
    assert console.draft.marks == {} and 'cup: renamed or removed' in console.commands.message


def test_lost_node_is_shown_and_comes_back(terminal):
    console, layout = terminal
    assert 'connected' in text(layout.lines(20, 80, 1.0))
    assert 'the classifier is gone; waiting' in text(layout.lines(20, 80, 9.0))
    console.view.on_health(Health(), None, 10.0)
    assert 'classifier: no prediction for 10 s' in text(layout.lines(20, 80, 10.0))
    console.view.on_prediction(StampedPrediction(9, (), np.zeros(3, np.float32), 0.5, 1), 10.0)
    assert 'connected' in text(layout.lines(20, 80, 10.0))


@pytest.mark.parametrize('size', [(1, 1), (2, 5), (3, 200), (7, 20), (50, 30), (24, 80)])
def test_every_size_of_window_is_filled_and_not_more(terminal, size):
    console, layout = terminal
    console.view.on_labels(LabelState(('杯子' * 20, 'e\u0301' * 9), (3, 2), (0.0, 0.0), 6, 1))
    console.helping = size == (7, 20)
    lines = layout.lines(*size, 0.0)
    assert len(lines) <= size[0]
    assert all(columns_of(''.join(part for _, part in line)) <= size[1] for line in lines)


def test_labels_cannot_control_the_terminal(terminal):
    console, layout = terminal
    console.view.on_labels(LabelState(('\x1b[31mred\n',), (1,), (0.0,), 1, 1))
    assert '\x1b' not in text(layout.lines(20, 80, 0.0))
    assert printable('a\x07\u202eb') == 'a\ufffd\ufffdb'


def test_plain_characters_where_there_is_no_utf8(terminal):
    console, _ = terminal
    type_in(console, ' ', '1')
    shown = text(Layout(console, '/proemlc', ASCII).lines(20, 60, 0.0))
    assert '#' in shown and '+ cup' in shown and not {'█', '░', '✓'} & set(shown)


def test_help_is_shown_and_any_key_leaves_it(terminal):
    console, layout = terminal
    type_in(console, '?')
    assert 'hold what is shown' in text(layout.lines(20, 80, 0.0))
    type_in(console, '1')
    assert not console.helping and console.draft.frozen is None
    type_in(console, 'q')
    assert not console.running


@pytest.mark.parametrize('library', ['wcwidth', 'none'])
def test_columns_of_characters_with_and_without_the_library(library, monkeypatch):
    if library == 'none':
        monkeypatch.setitem(sys.modules, 'wcwidth', None)
    else:
        pytest.importorskip('wcwidth')
    columns = _character_columns()
    assert [columns(character) for character in 'a杯\u0301é'] == [1, 2, 0, 1]


def test_columns():
    assert columns_of('杯e\u0301') == 3
    assert clip('杯子杯子', 5) == '杯子…' and clip('abc', 3) == 'abc' and clip('abc', 0) == ''
    assert fit('杯', 4) == '杯  '


def test_screen_survives_numbers_that_are_not_finite_and_scores_that_are_missing(terminal):
    console, layout = terminal
    nan = float('nan')
    console.view.on_labels(LabelState(('cup', 'bowl', 'spoon'), (3, 2, 1),
                                      (nan, float('inf'), 0.2), 6, 1))
    console.view.on_prediction(StampedPrediction(
        2000, ('cup',), np.array([nan, np.inf], np.float32), nan, 1), 0.0)
    screen = text(layout.lines(20, 80, 0.0))
    assert 'spoon' in screen


class ReviewRecorder:
    """Has three samples and four steps; records what is asked."""

    def __init__(self):
        self.asked = []

    async def samples(self, choice):
        self.asked.append((choice.order, choice.offset))
        return SampleList(30, [
            TaughtSample(7, 0, Annotation(0, ('cup',), annotator='ada'), doubt=0.5,
                         doubtful='cup', expected=('bowl',)),
            TaughtSample(9, 0, Annotation(0, ()))], ['ada'])

    async def history(self, who, mine, offset, limit):
        step = HistoryLine(12, 0.0, "taught 'cup'", 'ada')
        return HistoryList(4, [step], [step], [HistoryLine(11, 0.0, 'deleted sample 3')])

    def __getattr__(self, name):
        async def act(*arguments):
            self.asked.append((name, *arguments))
            return ActionResult(True, 'done')
        return act


def test_taught_samples_and_history_are_lists(terminal):
    console, layout = terminal
    review = console.actions = ReviewRecorder()
    for key in ('G', 'o', 'o', 'n'):
        type_in(console, key)
    assert review.asked == [
        (SampleOrder.NEWEST, 0), (SampleOrder.OLDEST, 0), (SampleOrder.DOUBTFUL, 0),
        (SampleOrder.DOUBTFUL, 12)]
    shown = text(layout.lines(24, 80, 0.0))
    assert '30 samples, doubtful first' in shown
    assert '7' in shown and 'others say: bowl' in shown
    review.asked.clear()
    type_in(console, 'r', '7', ENTER, '\x15', *'bowl, red', ENTER)
    assert review.asked[0] == ('change_samples', 'ann', [7], ('bowl', 'red'), False)
    type_in(console, 'r', '7', ENTER, '\x15', *'bowls, "a, b"', ENTER)
    assert '"bowls" is nearly "bowl"' in text(layout.lines(24, 80, 0.0))
    type_in(console, '1')
    assert ('change_samples', 'ann', [7], ('bowl', 'a, b'), False) in review.asked
    type_in(console, 'd', '8', ENTER)
    assert console.commands.failed and 'has the number 8' in console.commands.message
    type_in(console, 'd', '9', ENTER)
    assert ('change_samples', 'ann', [9], (), True) in review.asked
    type_in(console, ESCAPE, 'H')
    assert "u takes back: taught 'cup' (ada)" in text(layout.lines(24, 80, 0.0))
    review.asked.clear()
    for key in ('u', 'm', 'r', ESCAPE):
        type_in(console, key)
    assert review.asked == [('turn', 'ann', True, [12], False), ('turn', 'ann', False, [11], True)]
    type_in(console, 'M', 'b', TAB, ENTER, 'c', TAB, ENTER)
    assert review.asked[-1] == ('merge_labels', 'ann', 'bowl', 'cup')


def test_a_file_that_exists_is_overwritten_only_after_a_yes(terminal):
    console, _ = terminal
    console.actions.result = ActionResult(False, 'kitchen.npz exists already')
    type_in(console, 's', *'kitchen', ENTER)
    assert 'overwrite' in console.prompt.prefix
    type_in(console, 'y', ENTER)
    assert console.actions.asked == [('save', 'ann', 'kitchen', True), ('save', 'ann', 'kitchen')]


def test_what_is_unknown_is_said_with_the_best_guess(terminal):
    console, layout = terminal
    console.view.on_prediction(StampedPrediction(
        2000, (), np.array([-0.2, -0.1, -0.9], np.float32), 0.99, 1, unknown=True), 0.0)
    lines = layout.lines(20, 80, 0.0)
    assert "sees: I don't know   bowl?" in text(lines) and 'new to it' in text(lines)
    assert ('dim', '   bowl?') in [part for line in lines for part in line]


SCRIPT = """
import curses
from proemlc_ros.operator.terminal.screen import Screen, glyphs_of_terminal, set_locale
from proemlc_ros.operator.terminal.text import ASCII

def draw(window):
    screen = Screen(window)
    list(screen.keys())
    screen.draw([[('plain', ''.join((glyphs.full, glyphs.present, glyphs.absent, glyphs.dot)))]])
    return screen.size

set_locale()
glyphs = glyphs_of_terminal()
size = curses.wrapper(draw)
print('ascii' if glyphs is ASCII else 'unicode', 'has', *size)
"""


@pytest.mark.parametrize(('locale', 'expected'), [
    ({'LANG': 'de_DE.UTF-8', 'LC_ALL': 'xx_YY.UTF-8'}, 'unicode'),  # not installed here
    ({'LC_ALL': 'C'}, 'ascii'),
    ({'LC_ALL': 'C.UTF-8'}, 'unicode')])
def test_a_terminal_without_size_and_with_any_locale(locale, expected):
    master, slave = pty.openpty()  # of 0 x 0
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(('LC_', 'LANG', 'LINES', 'COLUMNS'))}
    with subprocess.Popen([sys.executable, '-c', SCRIPT], stdin=slave, stdout=slave,
                          stderr=subprocess.PIPE, env={**environment, 'TERM': 'xterm', **locale}
                          ) as process:
        os.close(slave)
        seen = b''
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            seen += part
        errors = process.stderr.read().decode()
    os.close(master)
    assert process.returncode == 0, errors
    assert f'{expected} has 24 80'.encode() in seen
    assert b'?' not in seen.replace(b'\x1b[?', b'')


def test_live_keys_teach_at_once_and_go_on_while_they_are_kept_down(terminal):
    console, layout = terminal
    for stamp in (2000, 3000):
        show(console, layout, stamp)
        type_in(console, '1', '1')  # the second one is of the same picture
    show(console, layout, 4000)
    type_in(console, ENTER)
    assert [(one.stamp, one.labels) for one in console.actions.asked] == [
        (stamp, ('cup',)) for stamp in (2000, 3000, 4000)]
    show(console, layout, 5000)
    type_in(console, '0')
    assert console.actions.asked[-1].labels == () and console.actions.asked[-1].complete


def test_more_of_one_view_brings_nothing_and_the_terminal_says_what_would(terminal):
    console, layout = terminal
    said = []
    for stamp in (3000, 3001, 3002, 3003, 9000):
        show(console, layout, stamp)  # the vectors of near stamps are near
        type_in(console, LABEL_KEYS[0])
        said.append(console.commands.message)
    assert said[:3] == ["learnt: 'cup'"] * 3 and said[4] == "learnt: 'cup'"
    assert said[3] == ("learnt: 'cup'. More of this view brings nothing: turn it, change the "
                       'light, or show it in another place.')


def test_the_terminal_asks_for_the_empty_place_after_the_first_label(terminal):
    console, layout = terminal
    for samples, words in ((4, 'Now show the empty place: hold 0.'), (6, 'show the empty place'),
                           (7, 'Now show a second thing')):
        console.view.on_labels(LabelState(('cup',), (4,), (0.0,), samples, samples))
        assert words in text(show(console, layout, 2000 + samples))


def test_the_first_label_is_led_to_as_on_the_page():
    view = ClassifierView()
    console = Console(view, AnnotationDraft(view.vectors, 'ann'), Recorder(view))
    layout = Layout(console, '/proemlc')
    view.on_labels(LabelState())
    show(console, layout, 1000)
    screen = text(layout.lines(20, 80, 0.0))
    assert 'Show a thing, type its name, hold Enter.' in screen and 'name (Esc' in screen
    type_in(console, *'cup', ENTER)
    assert [(one.stamp, one.labels) for one in console.actions.asked] == [(1000, ('cup',))]
    view.on_labels(LabelState(('cup',), (1,), (0.0,), 1, 2))
    console.commands.say('')
    assert 'Show cup again from other sides: hold 1.' in text(layout.lines(20, 80, 0.0))


def test_sure_unsure_and_unknown_look_different(terminal):
    console, layout = terminal
    styles = {}
    for share in (.95, .43):
        console.view.on_prediction(StampedPrediction(
            int(share * 100), ('cup',), np.zeros(3, np.float32), .1, 1,
            probabilities=np.array([share, 0, 0], np.float32)), 0.0)
        styles[share] = layout.lines(20, 80, 0.0)[2][-1]
    assert styles == {.95: ('bold', 'cup'), .43: ('dim', 'cup 43%')}
