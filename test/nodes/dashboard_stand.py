# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of the page need: a browser, and classifier, camera and dashboard as processes."""

import contextlib
import json
import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest
import rclpy
from proemlc_ros.msg import FeatureVector, LabelAnnotation, LabelSet
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from ros_process import DEADLINE
from std_msgs.msg import String

from proemlc_ros.conversions import annotation_of, stamped_vector_of

FLAGS = ('--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
         # A name as other machines would use it, for this one.
         '--host-resolver-rules=MAP robot.test 127.0.0.1')
PLAYER = Path(__file__).parent / 'scene_player.py'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# What the page says where nothing new has come for a while, and it teaches nothing for that.
REFUSED = '^Not taught: (what is shown|nothing new)|does not answer; nothing was sent'


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
    """Receives feature vectors by stamp, and the annotations that the classifier has learnt.

    Args:
        context: of rclpy.
        durability: of the publisher of the vectors; scene_player.py keeps those from before.
    """

    def __init__(self, context, durability=DurabilityPolicy.VOLATILE):
        self.node = rclpy.create_node('listener', context=context)
        self.vectors = {}
        self.learnt = []
        self._scenes = {}
        self.node.create_subscription(
            FeatureVector, 'proemlc/features', self._on_features,
            QoSProfile(depth=1000, durability=durability))
        self.node.create_subscription(
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
        """Wait until the classifier has found us, so that no learnt annotation is missed.

        DDS announces subscriptions in the order in which they were made. Once the classifier has
        sent its latched labels to a subscription that was made last, it knows the earlier ones.
        """
        received = threading.Event()
        self.node.create_subscription(
            LabelSet, 'proemlc/labels', lambda message: received.set(), LATCHED)
        assert received.wait(DEADLINE), 'no labels came from the classifier'
        wait_until(lambda: self.vectors, 'feature vectors')

    def _on_features(self, message):
        vector = stamped_vector_of(message)
        self._scenes[message.header.frame_id] = vector.stamp
        self.vectors[vector.stamp] = vector

    def newest(self):
        """Return the stamp of the newest vector; all later ones will be received too."""
        return max(self.vectors)

    def show(self, scene):
        """Put things on the table and return a stamp at which they were seen."""
        wait_until(lambda: self._scene.get_subscription_count(), 'the scene player')
        self._scenes.pop(scene, None)
        self._scene.publish(String(data=scene))
        wait_until(lambda: scene in self._scenes, f'a vector of scene {scene}')
        return self._scenes[scene]

    def wait_learnt(self, count):
        """Return the annotation that was learnt as the count-th, once it came."""
        wait_until(lambda: len(self.learnt) >= count, f'{count} annotations, not {self.learnt}')
        return self.learnt[count - 1]

    def wait_vector(self, stamp):
        """Return the vector of a stamp; it may come after an annotation of it."""
        wait_until(lambda: stamp in self.vectors, f'the vector of stamp {stamp}')
        return self.vectors[stamp]

    def close(self):
        self._stop.set_result(None)
        self._thread.join(5)
        self.node.destroy_node()


def wait_until(condition, what, timeout=DEADLINE):
    """Wait for a condition, and fail with words."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f'waited {timeout} s in vain for {what}'
        time.sleep(0.02)


class Stand:
    """Classifier, camera and dashboard, each in a process of its own, and a listener."""

    def __init__(self, start_process, context, folder):
        self._start = start_process
        self.models = folder / 'models'
        self.listener = Listener(context, DurabilityPolicy.TRANSIENT_LOCAL)
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
        address = process.wait_for(r'Dashboard: (http\S+)', timeout=DEADLINE)[1]
        self.listener.wait_connected()
        return process, address


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
            self.errors.append(f'{message.type}: {message.text}')

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
