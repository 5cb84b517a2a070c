# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The dashboard's page in a headless Chromium."""

import contextlib
import json
import os
import re
import shutil

import pytest
from ros_process import DEADLINE

FLAGS = ('--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
         # A name as other machines would use it, for this one.
         '--host-resolver-rules=MAP robot.test 127.0.0.1')
# What the page says where nothing new has come for a while, and it teaches nothing for that.
REFUSED = '^Not taught: (what is shown|nothing new)|does not answer; nothing was sent'


def find_chromium():
    """Return the path of Chromium, or skip the test."""
    pytest.importorskip('playwright', reason='needs playwright (pip install playwright)')
    # The first is Chromium without windows, which takes a quarter less of the processor.
    names = (os.environ.get('CHROMIUM', ''), 'chromium-headless-shell', 'chromium',
             'chromium-browser', 'google-chrome')
    found = next(filter(None, (shutil.which(name) for name in names if name)), None)
    return found or pytest.skip('needs Chromium (apt-get install chromium-headless-shell)')


@contextlib.contextmanager
def chromium():
    """Open a headless Chromium with an empty profile."""
    path = find_chromium()
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Page:
    """A browser's page, with what went wrong in it."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**{'viewport': {'width': 1440, 'height': 900},
                                              **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * DEADLINE)
        self.errors = []
        self.page.on('pageerror', lambda error: self.errors.append(f'error: {error}'))
        self.page.on('dialog', lambda dialog: (
            self.errors.append(f'dialog: {dialog.message}'), dialog.dismiss()))
        self.page.on('console', self._on_console)
        self.page.goto(address)

    def _on_console(self, message):
        if message.type in ('error', 'warning'):
            self.errors.append(f'{message.type}: {message.text} {message.location.get("url", "")}')

    def ready(self):
        """Wait until predictions and pictures come in.

        The player announces its vectors before its pictures: the dashboard receives both then.
        """
        self.expect('#connection', '^connected')
        self.wait_stamp(1)
        self.page.wait_for_selector('#camera[data-picture=yes]')
        return self

    def expect(self, selector, text):
        """Wait until an element shows a text (a regular expression)."""
        from playwright.sync_api import expect
        expect(self.page.locator(selector)).to_have_text(
            re.compile(text), timeout=1000 * DEADLINE)

    def wait_stamp(self, stamp):
        """Wait until the page shows a prediction that is not older than a stamp."""
        self.page.wait_for_function(
            "stamp => BigInt(document.getElementById('camera').dataset.stamp || 0) >= stamp",
            arg=stamp)

    @contextlib.contextmanager
    def message(self, text):
        """Do something, and wait for the message about it; one from before does not count."""
        self.page.evaluate("document.getElementById('message').textContent = ''")
        yield
        self.expect('#message', text)

    def press(self, text, act):
        """Do something live, and wait for the message about it.

        The page teaches nothing old: where the stream paused just then, it is done again.
        """
        while True:
            self.page.wait_for_selector('#camera:not([data-mode=stale])')
            with self.message(f'{text}|{REFUSED}'):
                act()
            if not re.search(REFUSED, self.page.text_content('#message')):
                return

    def open_question(self, of='#queries li'):
        """Open a question; another one where the model became sure of it just then."""
        while True:
            self.page.locator(f'{of} .answer').first.click()
            self.expect('#view-title', '^(The robot asks about|Held at)')
            if self.page.inner_text('#view-title').startswith('The robot asks'):
                return
            self.page.mouse.move(2, 2)  # or the list would stay as it is
            self.page.keyboard.press('Escape')
            self.expect('#view-title', '^Live')

    def begin_box(self, begin):
        """Begin to draw a box; on another picture where there was none of that moment."""
        while True:
            self.page.wait_for_selector('#camera[data-picture=yes]')
            with self.message('^Draw a box|^There is no picture to draw on'):
                begin()
            if self.page.text_content('#message').startswith('Draw'):
                return
            self.page.keyboard.press('Escape')

    def resize(self, width, height):
        """Give the window another size, and wait until the page is drawn for it."""
        self.page.set_viewport_size({'width': width, 'height': height})
        self.page.wait_for_function('width => innerWidth === width', arg=width)
        self.page.evaluate('() => new Promise((done) => requestAnimationFrame('
                           '() => requestAnimationFrame(() => done())))')

    def names(self):
        """Return the labels in the list, in order."""
        return self.page.locator('#label-list .name').evaluate_all(
            'names => names.map(name => name.title)')

    def expect_names(self, *names):
        """Wait until the list shows these labels."""
        self.page.wait_for_function(
            """wanted => JSON.stringify(wanted) === JSON.stringify(
              [...document.querySelectorAll('#label-list .name')].map(name => name.title))""",
            arg=list(names))

    def row(self, name):
        """Return the button of a label."""
        return self.page.locator(f'#label-list .name[title={quoted(name)}]').locator('xpath=..')

    def type_label(self, name):
        """Type the name of a new label and press Enter."""
        self.page.fill('#new-label', name)
        self.page.press('#new-label', 'Enter')

    def teach(self, name):
        """Type a label, and wait until it is learnt, in the list, and the page live again."""
        self.press(f'^Learnt: {re.escape(name)}', lambda: self.type_label(name))
        # The list comes by another way than the message.
        self.row(name).wait_for(state='attached')

    def close(self):
        self.context.close()


def quoted(name):
    return '"' + name.replace('\\', '\\\\').replace('"', '\\"') + '"'


def check_with_axe(page, where):
    """Fail on serious violations; the page has axe's script already."""
    found = page.page.evaluate('axe.run()')['violations']
    serious = [(one['id'], [node['html'][:160] for node in one['nodes']]) for one in found
               if one['impact'] in ('serious', 'critical')]
    assert serious == [], f'{where}: {json.dumps(serious, indent=1)}'
