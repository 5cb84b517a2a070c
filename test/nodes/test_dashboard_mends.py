# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: keys and focus, small screens, bursts, questions, lost streams."""

import signal
import time

import pytest
from browser import Page
from dashboard_stand import DEADLINE, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def page(browser, stand, port):
    stand.dashboard, address = stand.start_dashboard(f'port:={port}')
    opened = Page(browser, address).ready()
    opened.address = address
    opened.wait_stamp(stand.listener.newest())
    yield opened
    opened.close()
    # A browser tells of a server that is away; everything else would be ours.
    assert [error for error in opened.errors
            if 'net::ERR_' not in error and 'WebSocket' not in error] == []


def focus(page):
    """Return the id of the element that has the keys; empty where the page has them."""
    return page.page.evaluate('document.activeElement.id || ""')


def test_keys_focus_and_drafts(page, stand):
    page.teach('cup')
    stand.listener.wait_learnt(1)
    escape_closes_the_near_twin(page, stand)
    enter_teaches_what_was_typed(page, stand)
    fields_give_the_keys_back(page)
    none_does_not_drop_marks(page, stand)
    new_label_leaves_the_keys_alone(page)
    long_names_are_not_cut(page)
    page.page.click('[aria-label="Rename or remove bowl"]')
    page.expect('#label-dialog-facts', 'Shown by 1 sample[.]')
    page.page.keyboard.press('Escape')


def escape_closes_the_near_twin(page, stand):
    page.type_label('cups')
    page.expect('#duplicate', 'nearly the same as “cup”')
    page.page.keyboard.press('Escape')
    page.page.wait_for_selector('#duplicate', state='hidden')
    page.expect('#view-title', '^Live')
    assert page.page.locator('#duplicate button').count() == 0
    assert page.page.input_value('#new-label') == '' and len(stand.listener.learnt) == 1


def enter_teaches_what_was_typed(page, stand):
    keyboard = page.page.keyboard
    keyboard.press(' ')
    page.expect('#view-title', '^Held')
    keyboard.press('n')
    keyboard.type('bowl')
    with page.message('^bowl marked; Enter'):
        keyboard.press('Enter')
    with page.message('Learnt: bowl'):
        keyboard.press('Enter')
    assert stand.listener.wait_learnt(2).labels == ('bowl',)
    page.expect_names('cup', 'bowl')


def fields_give_the_keys_back(page):
    keyboard = page.page.keyboard
    page.page.click('#who')
    keyboard.type('Ann')
    keyboard.press('Enter')
    assert focus(page) == ''
    page.page.focus('#label-order')
    keyboard.press('Escape')
    assert focus(page) == '' and page.page.input_value('#label-order') == 'seen'
    page.page.focus('#label-order')
    keyboard.press('?')
    page.page.wait_for_selector('#help-dialog[open]')
    keyboard.press('Escape')
    page.page.click('[name=rest][value=unknown]')
    page.page.click('[name=rest][value=absent]')
    keyboard.press(' ')
    page.expect('#view-title', '^Held')
    keyboard.press('Escape')
    page.expect('#view-title', '^Live')


def none_does_not_drop_marks(page, stand):
    keyboard = page.page.keyboard
    keyboard.press(' ')
    page.expect('#view-title', '^Held')
    keyboard.press('1')
    with page.message('Labels are marked'):
        keyboard.press('0')
    page.page.wait_for_selector('.label-row[data-mark=present] .name[title=cup]')
    keyboard.press('Escape')
    assert len(stand.listener.learnt) == 2


def new_label_leaves_the_keys_alone(page):
    keyboard = page.page.keyboard
    keyboard.press(' ')
    page.expect('#view-title', '^Held')
    page.type_label('a spoon')
    page.expect_names('a spoon', 'cup', 'bowl')
    keyboard.press('2')
    page.page.wait_for_selector('.label-row[data-mark=present] .name[title=bowl]')
    keyboard.press('Escape')
    page.expect_names('cup', 'bowl')


def long_names_are_not_cut(page):
    name = 'x' * 500
    with page.message('at most 100 characters; “x{20}…” has 500'):
        page.type_label(name)
    assert page.page.input_value('#new-label') == name
    page.page.keyboard.press('Escape')


def test_screens_bursts_and_letters(page, stand):
    small_screens(page)
    page.resize(1366, 768)
    burst(page, stand)
    names = [f'thing {number}' for number in range(12)]
    for name in names:
        page.teach(name)
    type_a_few_letters(page, stand, names)
    predicted_labels_that_do_not_fit_are_counted(page, names)


def small_screens(page):
    page.teach('cup')
    page.resize(1280, 800)
    widths = page.page.evaluate("[...document.querySelectorAll('.teach button')]"
                                '.map(button => button.getBoundingClientRect())'
                                '.map(box => [Math.round(box.width), Math.round(box.top)])')
    undo = widths[-1]
    assert undo[0] <= min(width for width, _ in widths) + 1, widths
    assert {top for _, top in widths} == {undo[1]}, widths
    page.resize(1366, 768)
    page.page.evaluate('scrollTo(0, 0)')
    page.page.keyboard.press('n')
    for element in ('#picture', '#new-label', '#message'):
        box = page.page.evaluate(f"document.querySelector('{element}').getBoundingClientRect()")
        assert box['top'] >= 0 and box['bottom'] <= 768, (element, box)
    page.page.keyboard.press('Escape')
    page.resize(390, 844)
    first = page.page.locator('.label-row').first
    assert first.bounding_box()['y'] < 600
    page.page.evaluate('scrollTo(0, 700)')
    for element in ('#camera', '#teach', '#undo'):
        box = page.page.locator(element).bounding_box()
        assert box['y'] >= 0 and box['y'] + box['height'] <= 844, element
    page.page.evaluate('scrollTo(0, 0)')


def burst(page, stand):
    """Name, then one press kept down: as many samples as it lasts, under one id."""
    stand.listener.wait_learnt(1)  # the cup
    page.wait_stamp(stand.listener.show('C'))
    keyboard = page.page.keyboard

    def type_and_keep_enter():
        keyboard.press('Escape')  # leaves the field, where it was refused before
        keyboard.press('n')
        keyboard.type('lemon')
        keyboard.down('Enter')

    record(page, 'lemon', type_and_keep_enter, lambda: keyboard.up('Enter'))
    page.expect('#message', 'Learnt: lemon, [0-9]+ samples')
    stand.listener.wait_learnt(1 + 3)
    page.expect_names('cup', 'lemon')
    record(page, 'lemon', lambda: keyboard.down('2'), lambda: keyboard.up('2'))
    record_with_the_mouse(page, 'lemon')
    stand.listener.wait_learnt(1 + 3 * 3)
    assert {one.labels for one in stand.listener.learnt[1:]} == {('lemon',)}
    page.expect('#good-yet', 'right in [0-9]+ of the last')


def record(page, name, down, up):
    """Keep a key or button down until three samples are learnt, or more."""
    def begin():
        up()  # as it is, unless it was refused before
        down()

    page.press(rf'Recording: {name}, ([3-9]|\d\d+) samples', begin)
    up()


def type_a_few_letters(page, stand, names):
    keyboard = page.page.keyboard

    def type_letters():
        keyboard.press('/')
        keyboard.type('thing 7')
        page.page.wait_for_function(HELD_BY_TYPING, polling=100)
        keyboard.press('Enter')

    page.press('Learnt: thing 7', type_letters)
    assert focus(page) == '' and page.page.input_value('#label-filter') == ''
    page.page.select_option('#label-order', 'learnt')
    page.expect_names('cup', 'lemon', *names)


# What is typed is about what was there; it is held later where the stream paused just then.
HELD_BY_TYPING = """() => {
  document.getElementById('label-filter').dispatchEvent(new Event('input'));
  return document.getElementById('view-title').textContent.startsWith('Held');
}"""


def record_with_the_mouse(page, name):
    page.row(name).hover(position={'x': 40, 'y': 10})
    record(page, name, page.page.mouse.down, page.page.mouse.up)
    page.page.mouse.move(2, 2)


def predicted_labels_that_do_not_fit_are_counted(page, names):
    page.resize(390, 844)
    page.page.evaluate("""async (names) => {
      const { state, change } = await import('./state.js');
      state.held = { prediction: { ...state.prediction, predicted: names }, marks: new Map() };
      change('prediction');
    }""", names)
    page.expect('#sees-more', r'^\+[0-9]+$')
    assert page.page.get_attribute('#sees-more', 'aria-label').endswith('thing 10, thing 11')


def test_questions_lost_streams_and_a_restart(page, stand, port):
    what_is_new(page, stand)
    is_there_one(page, stand)
    stopped_stream_is_named_and_not_taught(page, stand)
    restart_forgets_nothing(page, stand, port)


def what_is_new(page, stand):
    page.teach('bowl')  # Nothing is asked before the first label is known.
    stand.listener.show('CD')
    card = page.page.locator('#queries li.pictured').first
    card.wait_for()
    page.expect('#queries li.pictured .text >> nth=0', 'What is new here')
    card.locator('form input').fill('cup')
    with page.message('Learnt: cup'):
        card.locator('form button').click()
    assert stand.listener.wait_learnt(2).labels == ('cup',)


# Reads the question and answers it at once, since it goes when the model is sure. Older questions
# are skipped: the page shows three.
READ_AND_DENY = """() => {
  const cards = [...document.querySelectorAll('#queries li:has(.no)')];
  const card = cards.find((one) => one.innerText.includes('cup 51 %'));
  if (!card) { document.querySelector('#queries .skip-query')?.click(); return ''; }
  const text = card.innerText;
  card.querySelector('.no').click();
  return text;
}"""


def is_there_one(page, stand):
    """A question about one label, put in as the classifier would."""
    from proemlc_ros.msg import LabelQuery
    publisher = stand.listener.node.create_publisher(LabelQuery, 'proemlc/queries', 50)
    wait_until(lambda: publisher.get_subscription_count(), 'the dashboard')
    page.page.mouse.move(2, 2)
    with page.message('Learnt: not cup'):
        shown = ask_until_answered(page, lambda: publisher.publish(
            doubtful_query(LabelQuery, stand.listener)))
    assert 'Is there “cup”' in shown
    answer = stand.listener.wait_learnt(3)
    assert (answer.labels, answer.absent, answer.complete) == ((), ('cup',), False)


def doubtful_query(kind, listener):
    """Return a question about the newest vector."""
    vector = listener.vectors[listener.newest()]
    query = kind(text='close', candidates=['cup'], scores=[0.02], reason=kind.DOUBTFUL,
                 label='cup')
    query.header.stamp.sec, query.header.stamp.nanosec = divmod(vector.stamp, 10**9)
    query.features, query.extractor = vector.data.tolist(), vector.extractor
    return query


def ask_until_answered(page, ask):
    """Ask until the page has shown the question, and return its text.

    After each thing learnt the page drops the questions of which the model has become sure, so
    that the first one may go before it is seen.
    """
    from playwright.sync_api import TimeoutError as NotShown
    deadline = time.monotonic() + DEADLINE
    while True:
        ask()
        try:
            return page.page.wait_for_function(
                READ_AND_DENY, polling=100, timeout=5000).json_value()
        except NotShown:
            assert time.monotonic() < deadline, 'the page never showed the question'


def stopped_stream_is_named_and_not_taught(page, stand):
    page.expect_names('bowl', 'cup')
    stand.player.process.send_signal(signal.SIGSTOP)
    page.expect('#connection', r'(camera: no picture|features: none) for \d+ s')
    page.page.wait_for_selector('#camera[data-mode=stale]')
    with page.message('Not taught: what is shown is'):
        page.row('cup').click()
    page.page.fill('#new-label', 'spoon')
    with page.message('Not taught'):
        page.page.press('#new-label', 'Enter')
    assert page.page.input_value('#new-label') == 'spoon'  # what was typed is kept
    late = Page(page.context.browser, page.address)
    late.expect_names('bowl', 'cup')
    late.wait_stamp(1)  # The labels come before the prediction.
    with late.message('^Not taught: nothing new has come since the page was opened'):
        late.row('cup').click()
    late.close()
    stand.player.process.send_signal(signal.SIGCONT)
    page.expect('#connection', '^connected')
    page.page.wait_for_selector('#camera[data-mode=live]')
    assert len(stand.listener.learnt) == 3
    page.page.press('#new-label', 'Escape')


def restart_forgets_nothing(page, stand, port):
    page.expect('#activity', "taught 'cup'")
    stand.listener.show('GH')  # something new, which it asks about in any case
    page.page.locator('#queries li.pictured').first.wait_for()
    assert stand.dashboard.stop(signal.SIGTERM, DEADLINE) == 0
    page.expect('#connection', 'not reachable')
    stand.start_dashboard(f'port:={port}')
    page.expect('#connection', '^connected')
    page.page.reload()
    page.expect('#activity', "taught 'cup'")
    page.expect('#good-yet', 'right in')
    page.page.locator('#queries li.pictured').first.wait_for()
