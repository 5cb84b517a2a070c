# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The stage for the pictures of the documentation: `proemlc teach` on groceries, and Chromium.

The pictures are those of the Grocery Store Dataset, below `images/grocery` of PROEMLC_DATA. The
network of `proemlc backbone install` gives the features.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

DATA = Path(os.environ.get('PROEMLC_DATA', Path(__file__).parents[2] / 'shared'))
# Pictures of each thing to teach with, new ones behind all of them, and pictures per second.
TAUGHT, NEW, RATE = 18, 4, 3
BROWSERS = ('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome')
FLAGS = ('--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage')


def write_pictures(folder, things):
    """Copy the pictures of the things: all to be taught, thing by thing, then the new ones.

    Args:
        folder: is made.
        things: label and class of the data set of each.
    """
    folder.mkdir()
    for turn, (label, kind) in enumerate(things):
        found = sorted((DATA / 'images/grocery').glob(f'{kind}_*.jpg'))[:TAUGHT + NEW]
        for place, path in enumerate(found):
            part = 0 if place < TAUGHT else 1
            shutil.copy(path, folder / f'{part}{turn:02d}_{label.replace(" ", "_")}_{place}.jpg')


@contextmanager
def teaching(folder, *source):
    """Run `proemlc teach` with the options of a source; give its address and its environment."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, '-m', 'proemlc_ros.cli.main', 'teach', *source, '--folder', folder,
         '--port', str(port), '--no-browser'],
        stdout=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith('Ready:'):
                break
        exports = dict(re.findall(r'(ROS_\w+)=(\S+)', ''.join(lines)))
        yield f'http://127.0.0.1:{port}/', {**os.environ, **exports}
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@contextmanager
def chromium():
    """Open a headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS)), None), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser, address, width, height, colours):
    """Open the page as Ann sees it, with a picture on it."""
    page = browser.new_page(viewport={'width': width, 'height': height}, color_scheme=colours)
    page.goto(address)
    page.fill('#who', 'Ann')
    page.evaluate('document.activeElement.blur()')
    page.wait_for_selector('#source:not([hidden])')
    page.locator('#connection', has_text=re.compile('^connected')).wait_for()
    return page


def seek(page, place):
    """Move to a picture by its place, from 0, and wait until its prediction is shown."""
    page.locator('#source-scrub').evaluate(
        '(bar, to) => { bar.value = to; bar.dispatchEvent(new Event("input"));'
        'bar.dispatchEvent(new Event("change")); }', place)
    page.locator('.where', has_text=re.compile(rf'^{place + 1} of')).wait_for()
    # Pictures that were under way may still be of the place before.
    page.wait_for_function(
        "stamp => BigInt(document.getElementById('camera').dataset.stamp || 0) >= stamp",
        arg=time.time_ns() + 10**9 // RATE)


def teach_thing(page, turn, label, meanwhile=None):
    """Play the pictures of a thing, type its name, and hold Enter until they are through.

    Args:
        page: of Chromium.
        turn: of the thing, from 0.
        label: its name.
        meanwhile: called between the steps, with what is done.
    """
    meanwhile = meanwhile or (lambda what: page.wait_for_timeout(100))
    seek(page, turn * TAUGHT)
    meanwhile('shown')
    page.keyboard.press('n')
    for letter in label:
        page.keyboard.type(letter)
        meanwhile('typed')
    page.click('#source-play')
    page.focus('#new-label')
    page.keyboard.down('Enter')
    # The last four are left: what comes behind them is another thing.
    while int(page.inner_text('.where').split()[0]) < (turn + 1) * TAUGHT - 4:
        meanwhile('recording')
    page.keyboard.up('Enter')
    page.click('#source-play')
    page.locator('#message', has_text=re.compile('^Learnt')).wait_for()
    meanwhile('learnt')
