# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of page and terminal for the documentation, of groceries and a table taught.

Run:  ./proemlc run python docs/screenshots.py [FOLDER]     (default: docs/images)

Needs Chromium, playwright, pexpect and pyte. Takes about two minutes.
"""

import html
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from stage import (
    DATA,
    NEW,
    RATE,
    TAUGHT,
    chromium,
    open_page,
    seek,
    teach_thing,
    teaching,
    write_pictures,
)

from proemlc_ros.demo.tabletop import TeachableTable

# Labels, and the classes of the data set.
THINGS = (('banana', 'Banana'), ('avocado', 'Avocado'), ('lemon', 'Lemon'),
          ('pineapple', 'Pineapple'), ('carrots', 'Carrots'), ('red pepper', 'Red-Bell-Pepper'),
          ('mushroom', 'Brown-Cap-Mushroom'), ('kiwi', 'Kiwi'))
# name, width, height, colours, what is shown, of which thing
SHOTS = (
    ('dashboard_light', 1366, 860, 'light', 'live', 5),
    ('dashboard_dark', 1366, 860, 'dark', 'held', 3),
    ('dashboard_narrow', 390, 844, 'light', 'held', 0),
    ('good_yet_light', 1366, 860, 'light', 'good', 1),
    ('good_yet_dark', 1366, 860, 'dark', 'good', 1),
    ('gallery_light', 1366, 768, 'light', 'gallery', 1),
    ('gallery_dark', 1366, 768, 'dark', 'gallery', 1),
    ('gallery_narrow', 390, 844, 'light', 'gallery', 1),
)

TUTORIAL = Path(__file__).parent / 'tutorials/in_space.md'
FILES = r'`([\w/]+\.(?:yaml|py))`:\n\n```\w+\n(.*?)^```'
# Presses the box whose centre is next to a place, and that is about as large as a thing.
PRESS_NEAREST = """([x, y]) => {
  const far = document.getElementById('box-list').regions.map(({ region }) =>
    Math.hypot(region.center_x - x, region.center_y - y)
      + Math.abs(Math.hypot(region.size_x, region.size_y) - 75) / 2);
  document.querySelectorAll('#box-list button')[far.indexOf(Math.min(...far))].click();
}"""


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / 'images')
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        pictures = Path(scratch, 'groceries')
        write_pictures(pictures, THINGS)
        with teaching(Path(scratch, 'taught'), '--images', pictures, '--rate',
                      str(RATE)) as (address, environment):
            with chromium() as browser:
                take(browser, address, folder)
            take_terminal(folder / 'terminal.svg', environment)
        take_space(Path(scratch), folder)
        take_folders(Path(scratch), folder)


def take(browser, address, folder):
    """Teach all things, two pictures wrongly, and take the pictures of the page."""
    page = open_page(browser, address, 1366, 860, 'light')
    for turn, (label, _) in enumerate(THINGS):
        teach_thing(page, turn, label)
    for thing, wrong in ((1, '3'), (6, '8')):
        seek(page, new_picture(thing) + 1)
        page.keyboard.press(wrong)
        page.wait_for_timeout(1000)
    page.close()
    for name, width, height, colours, what, thing in SHOTS:
        page = open_page(browser, address, width, height, colours)
        seek(page, new_picture(thing))
        page.wait_for_timeout(2000)
        shown = {'live': lambda page: page, 'held': hold_and_mark, 'gallery': open_gallery,
                 'good': find_confusions}[what](page)
        shown.screenshot(path=folder / f'{name}.jpg', type='jpeg', quality=82)
        page.close()


def new_picture(thing):
    """Return the place of the first picture of a thing that was not taught."""
    return len(THINGS) * TAUGHT + thing * NEW


def open_gallery(page):
    """Show what was taught, most doubtful first, with a sample chosen."""
    page.click('#open-gallery')
    page.select_option('#gallery-order', 'doubtful')
    page.locator('#gallery .sample .suggest').first.wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#gallery img')].every(one => one.naturalWidth)")
    page.locator('#gallery .thumb').first.click()
    page.evaluate('document.activeElement.blur()')
    page.wait_for_timeout(300)
    return page


def find_confusions(page):
    """Return the panel that tells how good the model is, with the labels that are confused."""
    page.wait_for_function("""() => [...document.querySelectorAll('#confusions img')].length
        && [...document.querySelectorAll('#confusions img')].every((one) => one.naturalWidth)""")
    return page.locator('#truth-card')


def hold_and_mark(page):
    """Hold the picture; mark the label that is there, and one that is not."""
    page.click('#hold')
    page.locator('.label-row.seen').first.click()
    page.locator('.label-row:not(.seen)').first.dblclick()
    page.evaluate('scrollTo(0, 0)')
    page.wait_for_timeout(300)
    return page


def take_space(scratch, folder):
    """Follow the tutorial on things in space, and take its picture."""
    for name, text in re.findall(FILES, TUTORIAL.read_text(), re.MULTILINE | re.DOTALL):
        (scratch / name).parent.mkdir(exist_ok=True)
        (scratch / name).write_text(text)
    with (teaching(scratch / 'table', '--features', scratch / 'boxes.yaml') as (address, _),
          chromium() as browser):
        page = open_page(browser, address, 1366, 860, 'light')
        for thing, label in (('cup', 'cup'), ('', ''), ('plant', 'plant'), ('book', ''),
                             ('phone', ''), ('banana', 'banana')):
            put(page, thing)
            home = TeachableTable()._home[thing or 'cup']
            for _ in range(5):
                teach_box(page, (home.x, home.y), label)
        put(page, 'cup', 'banana', 'plant', 'book', 'phone')
        page.wait_for_timeout(3000)
        page.click('#hold')
        page.wait_for_timeout(300)
        page.screenshot(path=folder / 'space_named.jpg', type='jpeg', quality=82)


def take_folders(scratch, folder):
    """Teach a few pictures by the names of their folders; then look at the model files."""
    for label, kind in THINGS[:4]:
        (scratch / 'named' / label).mkdir(parents=True)
        for path in sorted((DATA / 'images/grocery').glob(f'{kind}_*.jpg'))[:3]:
            shutil.copy(path, scratch / 'named' / label)
    with (teaching(scratch / 'by_folder', '--images', scratch / 'named', '--rate', str(RATE),
                   '--hand-made') as (address, _), chromium() as browser):
        page = open_page(browser, address, 1366, 860, 'light')
        seek(page, 1)
        page.click('#source-folders')
        page.locator('#message', has_text=re.compile('12 of 12')).wait_for(timeout=0)
        seek(page, 4)
        page.locator('section.view').screenshot(
            path=folder / 'folder_names.jpg', type='jpeg', quality=82)
        page.click('#save')
        page.fill('#file-name', 'kitchen')
        page.click('#file-go')
        page.locator('#message', has_text=re.compile('kitchen.npz')).wait_for()
        page.click('#load')
        page.locator('#file-list option', has_text='kitchen').wait_for(state='attached')
        page.locator('#file-dialog').screenshot(
            path=folder / 'model_files.jpg', type='jpeg', quality=82)


def put(page, *things):
    """Put exactly these things before the simulated camera."""
    for button in page.locator('#source .things button').all():
        if (button.get_attribute('aria-pressed') == 'true') != (button.inner_text() in things):
            button.click()
            page.wait_for_timeout(500)
    page.wait_for_timeout(1500)


def teach_box(page, place, label):
    """Teach the box that fits best what is at a place; no label: none of them."""
    page.locator('#box-list button').first.wait_for()
    page.evaluate(PRESS_NEAREST, [*place])
    page.locator('#message', has_text=re.compile('^Box held')).wait_for()
    for key in ['n', *label, 'Enter'] if label else ['0']:
        page.keyboard.press(key)
    if label:
        page.locator('#message', has_text='marked').wait_for()
        page.keyboard.press('Enter')
    page.locator('#message', has_text=re.compile('^Learnt')).wait_for()


def take_terminal(path, environment, rows=24, columns=80):
    """Draw a terminal of 80 x 24 with teleop in it, held and marked."""
    import pexpect
    import pyte

    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    child = pexpect.spawn(
        sys.executable, ['-m', 'proemlc_ros.nodes.teleop_node'], dimensions=(rows, columns),
        env={**environment, 'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8'})

    def read_until(found, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not found('\n'.join(screen.display)):
            try:
                stream.feed(child.read_nonblocking(65536, timeout=0.2))
            except pexpect.TIMEOUT:
                pass

    read_until(lambda text: 'sees:' in text and '%' in text, 60)
    child.send(' 2')
    read_until(lambda text: 'HELD' in text and '✓' in text, 10)
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
