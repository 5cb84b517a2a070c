# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Takes the pictures of the dashboard for the documentation, from the nodes of the demo.

Run:  ./proemlc run python docs/screenshots.py [FOLDER]     (default: docs/images)

Needs Chromium and playwright (pip install playwright). Takes about a minute.
"""

import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.processes import Processes
from proemlc_ros.demo.run import MODEL_FOLDER, DemoOptions, start_nodes

# name, width, height, colours, whether the picture is held and marked
SHOTS = (
    ('dashboard_light', 1360, 900, 'light', False),
    ('dashboard_dark', 1360, 900, 'dark', True),
    ('dashboard_narrow', 390, 844, 'light', True),
)
FLAGS = ('--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage')


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / 'images')
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault('ROS_DOMAIN_ID', '83')
    with tempfile.TemporaryDirectory() as scratch, Processes(Path(scratch)) as processes:
        Path(scratch, MODEL_FOLDER).mkdir()
        curriculum = Curriculum(0, phase_pictures=40, exam_pictures=40)
        options = DemoOptions(
            Path(scratch), curriculum, 15.0, dashboard=True, port=free_port())
        start_nodes(options, processes)
        for _ in processes.lines('demo_operator'):
            pass
        take(f'http://127.0.0.1:{options.port}/', folder)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def take(address, folder):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which('chromium') or shutil.which('google-chrome'), args=FLAGS)
        for name, width, height, colours, held in SHOTS:
            page = browser.new_page(
                viewport={'width': width, 'height': height}, color_scheme=colours)
            page.goto(address)
            page.fill('#who', 'Ann')
            page.evaluate('document.activeElement.blur()')
            # Only rows near the visible part of the page show their scores.
            page.locator('.label-row').first.scroll_into_view_if_needed(timeout=60_000)
            page.locator('.label-row.seen').first.wait_for(timeout=60_000)
            page.evaluate('scrollTo(0, 0)')
            page.wait_for_timeout(1500)
            if held:
                page.click('#hold')
                page.locator('.label-row.seen').first.click()
                page.locator('.label-row:not(.seen)').first.dblclick()
                page.evaluate('scrollTo(0, 0)')
                page.wait_for_timeout(300)
            page.screenshot(path=folder / f'{name}.jpg', quality=82)
            page.close()
        browser.close()


if __name__ == '__main__':
    main()
