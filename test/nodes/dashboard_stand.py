# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of the page need: a browser, and classifier, eyes and dashboard as processes."""

import contextlib
import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest
import rclpy
from proemlc_ros.msg import FeatureVector, LabelAnnotation
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future
from std_msgs.msg import String

from proemlc_ros.conversions import annotation_of, stamped_vector_of

FLAGS = ('--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage')
PLAYER = Path(__file__).parent / 'scene_player.py'


def find_chromium():
    """Return the path of Chromium, or skip the test."""
    pytest.importorskip('playwright', reason='needs playwright (pip install playwright)')
    names = (os.environ.get('CHROMIUM', ''), 'chromium', 'chromium-browser', 'google-chrome')
    found = next(filter(None, (shutil.which(name) for name in names if name)), None)
    return found or pytest.skip('needs Chromium (apt-get install chromium)')


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


class Listener:
    """Hears what is on the wire: features by stamp, and what the classifier has learnt."""

    def __init__(self, context):
        self.node = rclpy.create_node('listener', context=context)
        self.moments = {}
        self.learnt = []
        self.node.create_subscription(
            FeatureVector, 'proemlc/features', self._on_features, 1000)
        self._learnt = self.node.create_subscription(
            LabelAnnotation, 'proemlc/learnt',
            lambda message: self.learnt.append(annotation_of(message)), 50)
        self._scene = self.node.create_publisher(String, 'scene', 10)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(self.node)
        self._stop = Future(executor=executor)
        self._thread = threading.Thread(
            target=executor.spin_until_future_complete, args=(self._stop,), daemon=True)
        self._thread.start()

    def wait_connected(self):
        """Wait until the classifier is found, or what it tells at first goes unheard."""
        wait_until(lambda: self._learnt.get_publisher_count() and self.moments, 'the classifier',
                   60.0)
        time.sleep(0.5)  # The classifier has to find us as well.

    def _on_features(self, message):
        moment = stamped_vector_of(message)
        self.moments[moment.stamp] = moment

    def show(self, scene):
        """Put things on the table and wait until they are seen."""
        wait_until(lambda: self._scene.get_subscription_count(), 'the scene player')
        self._scene.publish(String(data=scene))
        time.sleep(0.4)

    def wait_learnt(self, count):
        wait_until(lambda: len(self.learnt) >= count, f'{count} annotations, not {self.learnt}')
        return self.learnt[count - 1]

    def close(self):
        self._stop.set_result(None)
        self._thread.join(5)
        self.node.destroy_node()


def wait_until(condition, what, timeout=30.0):
    """Wait for a condition, and fail with words."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f'waited {timeout} s in vain for {what}'
        time.sleep(0.02)


class Stand:
    """Classifier, eyes and dashboard, each in a process of its own, and who listens to them."""

    def __init__(self, start_process, context, folder):
        self._start = start_process
        self.models = folder / 'models'
        self.listener = Listener(context)
        self.player = start_process('python', PLAYER)
        self.classifier = self.start_classifier()

    def start_classifier(self, *parameters):
        process = self._start(
            'classifier_node', '--ros-args', '-p', f'model_directory:={self.models}',
            '-p', 'hidden_size:=500', '-p', 'activation:=relu', *parameters,
            environment={'OPENBLAS_NUM_THREADS': '1'})
        self.classifier = process
        return process

    def start_dashboard(self, *parameters, **options):
        """Start the dashboard and return the process and the page's address."""
        process = self._start('dashboard_node', '--ros-args', *(
            part for parameter in ('port:=0', *parameters) for part in ('-p', parameter)),
            **options)
        address = process.wait_for(r'Dashboard: (http\S+)', timeout=90)[1]
        self.listener.wait_connected()
        return process, address


class Page:
    """A browser's page, with what went wrong in it."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**{'viewport': {'width': 1440, 'height': 900},
                                              **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.errors = []
        self.page.on('pageerror', lambda error: self.errors.append(f'error: {error}'))
        self.page.on('dialog', lambda dialog: (
            self.errors.append(f'dialog: {dialog.message}'), dialog.dismiss()))
        self.page.on('console', self._on_console)
        self.page.goto(address)

    def _on_console(self, message):
        if message.type in ('error', 'warning'):
            self.errors.append(f'{message.type}: {message.text}')

    def ready(self):
        """Wait until predictions come in."""
        self.expect('#connection', '^connected', timeout=90_000)
        self.expect('#view-title', r'\d')
        return self

    def expect(self, selector, text, timeout=15_000):
        """Wait until an element shows a text (a regular expression)."""
        from playwright.sync_api import expect
        expect(self.page.locator(selector)).to_have_text(re.compile(text), timeout=timeout)

    def names(self):
        """Return the labels in the list, in order."""
        return self.page.locator('#label-list .name').evaluate_all(
            'names => names.map(name => name.title)')

    def expect_names(self, *names):
        """Wait until the list shows these labels."""
        deadline = time.monotonic() + 15
        while self.names() != list(names):
            assert time.monotonic() < deadline, (self.names(), names)
            self.page.wait_for_timeout(50)

    def row(self, name):
        """Return the button of a label."""
        return self.page.locator(f'#label-list .name[title={quoted(name)}]').locator('xpath=..')

    def add(self, name):
        """Teach a new label by its name."""
        self.page.fill('#new-label', name)
        self.page.press('#new-label', 'Enter')

    def close(self):
        self.context.close()


def quoted(name):
    return '"' + name.replace('\\', '\\\\').replace('"', '\\"') + '"'
