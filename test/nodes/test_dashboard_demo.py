# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc demo --dashboard`: the page on the simulated camera, which keeps running."""

import signal

import pytest
from browser import Page

pytestmark = pytest.mark.slow


def test_demo_goes_on_with_the_page(browser, start_process, port, tmp_path):
    demo = start_process(
        'proemlc', 'demo', '--dashboard', '--port', port, '--output', tmp_path / 'demo',
        '--hand-made', '--lesson-pictures', 6, '--exam-pictures', 6)
    demo.wait_for(r'Ctrl-C ends it')
    demo.wait_for(r'The exam is over')
    # The address comes first, not after the exam.
    assert 'exam' not in demo.output.partition('Ctrl-C ends it')[0]
    page = Page(browser, f'http://127.0.0.1:{port}/').ready()
    page.page.wait_for_selector('#camera[data-picture=yes]')
    known = page.names()
    assert 'cup' in known
    page.teach('something new')
    page.expect_names(*known, 'something new')
    assert demo.running and page.errors == []
    assert demo.stop(signal.SIGINT) == 0
    assert (tmp_path / 'demo' / 'report.html').exists()
