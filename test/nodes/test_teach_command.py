# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc teach`: the first minute, from a folder of pictures to labels taught and predicted."""

import os
import re
import signal
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from browser import Page
from dashboard_stand import wait_until

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.conversions import annotation_of
from proemlc_ros.demo.tabletop import _draw_scene
from proemlc_ros.features.backbone.store import backbone_folder, default_backbone

pytestmark = pytest.mark.slow
# Pictures of each thing, and of each second: they last for 25 s, so that a burst ends before the
# next thing comes, however slowly the browser looks.
EACH, RATE = 150, 6
THINGS = ('cup', 'banana', 'plant')
# Places of pictures of each thing behind those that a burst reaches.
NOT_TAUGHT = range(EACH - 6, EACH - 1)
# Tests have a home of their own, without the networks that the user has installed.
USERS_DATA = backbone_folder().parents[1]


def write_pictures(folder):
    folder.mkdir()
    for thing in THINGS:
        for number in range(EACH):
            rng = np.random.default_rng(number)
            picture = _draw_scene((thing,), rng)[..., ::-1]
            cv2.imwrite(str(folder / f'{THINGS.index(thing)}_{thing}_{number}.jpg'), picture)
    (folder / '0_broken.jpg').write_bytes(b'no picture')


class Presses:
    """Counts what a person presses; a name that is typed counts apart."""

    def __init__(self, page):
        self._keyboard = page.page.keyboard
        self.count = 0

    def press(self, key):
        self.count += 1
        self._keyboard.press(key)

    def down(self, key):
        self.count += 1
        self._keyboard.down(key)

    def up(self, key):
        self._keyboard.up(key)

    def type(self, name):
        self._keyboard.type(name)


@pytest.fixture
def teach_pictures(start_process, port, tmp_path):
    """Return a function that starts the command on a folder of pictures, as a user would."""
    write_pictures(tmp_path / 'pictures')

    def start(*options, **environment):
        return start_process('proemlc', 'teach', '--images', tmp_path / 'pictures', '--port',
                             port, '--folder', tmp_path / 'taught', '--rate', RATE,
                             *options, environment=environment)
    return start


def test_first_minute_from_a_folder(browser, teach_pictures, tmp_path, measured):
    teach = teach_pictures('--hand-made')
    page = open_page(browser, teach)
    teach.wait_for(re.escape(str(tmp_path / 'taught' / 'model')))
    teach_all(page, measured)
    predict_new_pictures(page, measured)
    pause_and_scrub(page)
    each_part_that_stops_is_named(page, teach)
    assert page.errors == []
    page.close()
    assert teach.stop(signal.SIGINT) == 0
    check_journal(tmp_path / 'taught' / 'model' / 'journal')
    again = teach_pictures('--hand-made')
    page = open_page(browser, again)
    page.expect('#label-count', '3')  # the same command goes on with what was taught
    page.expect('#activity', "taught 'plant'")
    page.expect('#history-list', "taught 'plant', [0-9]+ times")  # a burst is one step
    with page.message("took back: taught 'plant', [0-9]+ times"):
        page.page.keyboard.press('u')
    page.expect('#label-count', '2')
    page.close()
    assert again.stop(signal.SIGTERM) == 0


@pytest.mark.skipif(default_backbone() is None, reason='needs a backbone (proemlc backbone)')
def test_first_minute_with_deep_features(browser, teach_pictures, measured):
    teach = teach_pictures(XDG_DATA_HOME=str(USERS_DATA))
    page = open_page(browser, teach)
    assert 'Using deep features' in teach.output
    teach_all(page, measured)
    predict_new_pictures(page, measured)
    assert page.errors == []
    page.close()
    assert teach.stop(signal.SIGINT) == 0


def teach_all(page, measured):
    for number, thing in enumerate(THINGS):
        samples, presses = teach_thing(page, number, thing)
        measured(f'first minute: {samples} samples of {thing} in its name and {presses} presses')
        assert samples >= 30 and presses <= 3


def each_part_that_stops_is_named(page, teach):
    """Stop each node in turn; the page says which part it is, and that it is back."""
    for node, words in (('source_node', 'camera: no picture for'), ('feature_node', 'features: '),
                        ('classifier_node', 'classifier|no sign of life|is gone')):
        process = child(teach.process.pid, node)
        os.kill(process, signal.SIGSTOP)
        page.expect('#connection', words)
        os.kill(process, signal.SIGCONT)
        page.expect('#connection', '^connected')


def child(parent, module):
    """Return the number of a child process by the module that it runs."""
    numbers = Path(f'/proc/{parent}/task/{parent}/children').read_text().split()
    return next(int(number) for number in numbers
                if f'proemlc_ros.nodes.{module}' in Path(f'/proc/{number}/cmdline').read_text())


def open_page(browser, teach):
    """Open the page once teach says that it is there."""
    address = teach.wait_for(r'\APage: +(http\S+)')[1]
    teach.wait_for('Ready: +open the page')
    page = Page(browser, address)
    page.page.wait_for_selector('#source:not([hidden])')
    return page.ready()


def seek(page, position, shown=None):
    page.page.locator('#source-scrub').evaluate(
        '(bar, to) => { bar.value = to; bar.dispatchEvent(new Event("input"));'
        'bar.dispatchEvent(new Event("change")); }', position)
    page.expect('.where', shown or f'^{position + 1} of')


def teach_thing(page, number, thing):
    """Go to the thing's pictures, let them run, and record: name, and as few presses as can be."""
    seek(page, number * EACH + 1)
    presses = Presses(page)
    page.page.click('#source-play')
    presses.count += 1
    presses.press('n')
    presses.type(thing)
    before = presses.count

    def hold():
        presses.up('Enter')  # as it is, unless it was refused before
        presses.count = before
        presses.down('Enter')

    page.press(f'Recording: {thing}, ([3-9][0-9]|1[0-9][0-9]) samples', hold)
    presses.up('Enter')
    page.expect('#message', f'Learnt: {thing}, [0-9]+ samples')
    page.page.click('#source-play')
    samples = int(page.page.inner_text('#message').split(', ')[1].split()[0])
    return samples, presses.count


def predict_new_pictures(page, measured):
    """Most pictures that were not taught are named rightly, and every label among them."""
    seen = {thing: [] for thing in THINGS}
    for number, thing in enumerate(THINGS):
        for place in NOT_TAUGHT:
            seek(page, number * EACH + place + 1)  # one broken picture comes first
            page.wait_stamp(time.time_ns())  # later ones are of this picture
            seen[thing].append(' '.join(page.page.inner_text('#sees').split()))
    right = {thing: texts.count(thing) for thing, texts in seen.items()}
    measured(f'first minute: {right} of {len(NOT_TAUGHT)} new pictures each named rightly')
    assert min(right.values()) >= 1 and sum(right.values()) >= 10, seen


def pause_and_scrub(page):
    """Pictures are stepped through while the source stands still; broken ones are passed."""
    seek(page, 2 * EACH + 3)
    page.page.click('#source-step')
    page.expect('.where', f'^{2 * EACH + 5} of {3 * EACH + 1}')
    page.page.click('#source-back')
    page.expect('.where', f'^{2 * EACH + 4} of')
    seek(page, 0, '^2 of .*0_cup_0.jpg')


def check_journal(folder):
    with BagReader(folder) as bag:
        topics = bag.of_type('proemlc_ros/msg/LabelAnnotation')
        taught = [annotation_of(message) for _, _, message in bag.messages(topics)]
    for thing in THINGS:
        assert sum(one.labels == (thing,) for one in taught) >= 30


SHOWS_THE_PLANT = """async () => {
  const { state } = await import('./state.js');
  return state.source.shown.join() === 'plant';
}"""


def teach_often(page, name):
    """Teach what is before the camera in several lights; colours alone do not see past one."""
    for _ in range(4):
        page.wait_stamp(time.time_ns() + 500_000_000)  # what is taught is the picture on the page
        page.teach(name)


def test_simulated_camera_shows_what_is_asked_for(browser, start_process, port, tmp_path):
    teach = start_process('proemlc', 'teach', '--port', port, '--hand-made', '--folder',
                          tmp_path / 'taught')
    page = open_page(browser, teach)
    assert page.names() == []  # nothing was taught beforehand
    things = page.page.locator('#source .things button')
    things.filter(has_text='cup').wait_for()
    teach_often(page, 'cup')
    things.filter(has_text='cup').click()
    things.filter(has_text='plant').click()
    pressed = page.page.locator('#source .things button[aria-pressed=true]')
    wait_until(lambda: pressed.all_inner_texts() == ['plant'], 'the plant alone')
    page.page.wait_for_function(SHOWS_THE_PLANT)  # the buttons say what was asked for
    teach_often(page, 'plant')
    page.expect('#sees', '^plant$')
    page.close()
    assert teach.stop(signal.SIGINT) == 0
