# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Takes the pictures of the page and the terminal for the documentation, from the nodes of the demo.

Run:  ./proemlc run python docs/screenshots.py [FOLDER]     (default: docs/images)

Needs Chromium, playwright, pexpect and pyte. Takes about a minute.
"""

import html
import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.processes import Processes
from proemlc_ros.demo.run import MODEL_FOLDER, DemoOptions, start_nodes

# name, width, height, colours, what is shown
SHOTS = (
    ('dashboard_light', 1366, 768, 'light', 'live'),
    ('dashboard_dark', 1366, 768, 'dark', 'held'),
    ('dashboard_narrow', 390, 844, 'light', 'held'),
    ('gallery_light', 1366, 768, 'light', 'gallery'),
    ('gallery_dark', 1366, 768, 'dark', 'gallery'),
    ('gallery_narrow', 390, 844, 'light', 'gallery'),
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
        classifier = take(f'http://127.0.0.1:{options.port}/', folder)
        take_terminal(folder / 'terminal.svg', classifier)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def take(address, folder):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which('chromium') or shutil.which('google-chrome'), args=FLAGS)
        for name, width, height, colours, what in SHOTS:
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
            {'live': lambda page: None, 'held': hold_and_mark, 'gallery': open_gallery}[what](page)
            classifier = page.text_content('#classifier')
            page.screenshot(path=folder / f'{name}.jpg', type='jpeg', quality=82)
            page.close()
        browser.close()
    return classifier


def open_gallery(page):
    """Show what was taught, most doubtful first, with a sample chosen."""
    page.click('#open-gallery')
    page.select_option('#gallery-order', 'doubtful')
    page.locator('#gallery .sample').first.wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#gallery img')].every(one => one.naturalWidth)")
    page.locator('#gallery .thumb').first.click()
    page.evaluate('document.activeElement.blur()')
    page.wait_for_timeout(300)


def hold_and_mark(page):
    """Hold a picture; mark a label as present and another as absent."""
    hold_something_seen(page)
    page.locator('.label-row.seen').first.click()
    page.locator('.label-row:not(.seen)').first.dblclick()
    page.evaluate('scrollTo(0, 0)')
    page.wait_for_timeout(300)


def hold_something_seen(page):
    """Hold a picture in which one of the labels on the screen is predicted."""
    while True:
        page.click('#hold')
        page.wait_for_timeout(300)
        if page.locator('.label-row.seen').count():
            return
        page.click('#hold')
        page.wait_for_timeout(300)


def take_terminal(path, classifier, rows=24, columns=80):
    """Draw a terminal of 80 x 24 with teleop in it, frozen and marked."""
    import pexpect
    import pyte

    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    child = pexpect.spawn(
        sys.executable, ['-m', 'proemlc_ros.nodes.teleop_node', '--ros-args', '-p',
                         f'classifier:={classifier}'], dimensions=(rows, columns),
        env={**os.environ, 'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8'})

    def read_until(found, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not found('\n'.join(screen.display)):
            try:
                stream.feed(child.read_nonblocking(65536, timeout=0.2))
            except pexpect.TIMEOUT:
                pass

    read_until(lambda text: 'sees:' in text and '%' in text, 60)
    read_until(lambda text: 'the robot asks (' in text, 10)
    child.send('a')
    read_until(lambda text: 'likeliest' in text, 10)
    read_until(lambda text: False, 1)
    path.write_text(as_svg(screen, rows, columns), encoding='utf-8')
    child.send('q')
    child.close(force=True)


def as_svg(screen, rows, columns):
    """Return the screen of a terminal as an SVG."""
    names = {'default': '#d8dee4', 'green': '#7bd88f', 'red': '#ff8a80', 'brown': '#f0c674'}

    def colour(name, default):
        return names.get(name, f'#{name}' if len(name) == 6 else default)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * 9} {rows * 18 + 8}"'
             ' font-family="monospace" font-size="14.6" xml:space="preserve">'
             '<rect width="100%" height="100%" fill="#14181d"/>']
    for row in range(rows):
        for column in range(columns):
            cell = screen.buffer[row][column]
            front, back = colour(cell.fg, '#d8dee4'), colour(cell.bg, '')
            if cell.reverse:
                front, back = '#14181d', front
            x, y = 9 * column, 18 * row + 4
            if back and cell.bg != 'default' or cell.reverse:
                parts.append(f'<rect x="{x}" y="{y}" width="9.3" height="18.3" fill="{back}"/>')
            if cell.data == '▀':
                parts.append(f'<rect x="{x}" y="{y}" width="9.3" height="9.3" fill="{front}"/>')
            elif cell.data.strip():
                weight = ' font-weight="bold"' if cell.bold else ''
                parts.append(f'<text x="{x}" y="{y + 14}" fill="{front}"{weight}>'
                             f'{html.escape(cell.data)}</text>')
    return ''.join([*parts, '</svg>\n'])


if __name__ == '__main__':
    main()
