# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc teach`: the first minute, from a folder of pictures to labels taught and predicted."""

import re
import signal
import socket
from urllib.parse import urlsplit

import cv2
import numpy as np
import pytest
from dashboard_stand import Page, wait_until

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.conversions import annotation_of
from proemlc_ros.demo.tabletop import draw_scene

pytestmark = pytest.mark.slow
# Pictures of each thing, and of each second.
EACH, RATE = 60, 12
THINGS = ('cup', 'banana', 'plant')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def write_pictures(folder):
    folder.mkdir()
    for thing in THINGS:
        for number in range(EACH):
            rng = np.random.default_rng(number)
            picture = draw_scene((thing,), rng)[..., ::-1]
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


def test_first_minute_from_a_folder(browser, start_process, tmp_path, measured):
    write_pictures(tmp_path / 'pictures')
    port = free_port()
    command = ('proemlc', 'teach', '--images', tmp_path / 'pictures', '--port', port,
               '--folder', tmp_path / 'taught', '--rate', RATE, '--hand-made')
    teach = start_process(*command)
    address = teach.wait_for(r'\APage: +(http\S+)', timeout=90)[1]
    teach.wait_for(re.escape(str(tmp_path / 'taught' / 'model')))
    page = open_page(browser, address)
    for number, thing in enumerate(THINGS):
        samples, presses = teach_thing(page, number, thing)
        measured(f'first minute: {samples} samples of {thing} in its name and {presses} presses')
        assert samples >= 30 and presses <= 3
    pause_and_scrub(page)
    assert page.errors == []
    page.close()
    assert teach.stop(signal.SIGINT, timeout=90) == 0
    check_journal(tmp_path / 'taught' / 'model' / 'journal')
    again = start_process(*command)
    page = open_page(browser, again.wait_for(r'\APage: +(http\S+)', timeout=90)[1])
    page.expect('#label-count', '3')  # the same command goes on with what was taught
    page.expect('#activity', 'taught plant')
    page.close()
    assert again.stop(signal.SIGINT, timeout=90) == 0


def open_page(browser, address):
    """Open the page as soon as it is there; the address is printed before the nodes are up."""
    place = urlsplit(address)
    wait_until(lambda: accepts(place.hostname, place.port), f'the page at {address}')
    page = Page(browser, address)
    page.page.wait_for_selector('#source:not([hidden])')
    return page.ready()


def accepts(host, port):
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


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
    presses.down('Enter')
    page.expect('#message', f'Recording: {thing}, (3[0-9]|4[0-9]) samples')
    presses.up('Enter')
    page.expect('#message', f'Learnt: {thing}, [0-9]+ samples')
    page.page.click('#source-play')
    samples = int(page.page.inner_text('#message').split(', ')[1].split()[0])
    return samples, presses.count


def pause_and_scrub(page):
    """Every thing is predicted in a picture that was shown again; broken pictures are passed."""
    for number, thing in enumerate(THINGS):
        seek(page, number * EACH + 3)
        page.expect('#sees', f'^{thing}$')
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


def test_simulated_camera_shows_what_is_asked_for(browser, start_process, tmp_path):
    port = free_port()
    teach = start_process('proemlc', 'teach', '--port', port, '--hand-made', '--folder',
                          tmp_path / 'taught')
    page = open_page(browser, teach.wait_for(r'\APage: +(http\S+)', timeout=90)[1])
    assert page.names() == []  # nothing was taught beforehand
    things = page.page.locator('#source .things button')
    things.filter(has_text='cup').wait_for()
    page.teach('cup')
    things.filter(has_text='cup').click()
    things.filter(has_text='plant').click()
    page.page.wait_for_selector('#source button[aria-pressed=true] >> text=plant')
    page.teach('plant')
    page.expect('#sees', 'plant')
    page.close()
    assert teach.stop(signal.SIGINT, timeout=90) == 0
