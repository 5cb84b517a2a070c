# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the moving picture of the README: three things taught, and a wrong sample found.

Run:  ./proemlc run python docs/film.py [FILE]     (default: docs/images/teaching.webp)

Needs Chromium and playwright. What takes a minute is shown in 15 s; nothing else is changed.
"""

import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
from stage import (
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

THINGS = (('banana', 'Banana'), ('avocado', 'Avocado'), ('lemon', 'Lemon'))
WIDTH, HEIGHT, STRIP = 1200, 720, 50
# Size of a frame in the file, milliseconds of one, and quality of the file.
SIZE, FRAME, QUALITY = (1000, 642), 125, 60
# Caption and seconds of each part, in order.
PARTS = {
    'teach 0': ('Show a banana, type its name, hold Enter: samples are recorded.', 2.6),
    'teach 1': ('Show an avocado. A new label needs no retraining.', 2.0),
    'teach 2': ('A lemon: three labels in a minute.', 2.0),
    'new': ('New pictures are named at once, or answered by “I don’t know”.', 2.6),
    'wrong': ('A mistake: this avocado is taught as a lemon.', 1.4),
    'doubtful': ('Gallery, most doubtful first: the other samples contradict it.', 2.6),
    'right': ('One press corrects it, exactly as if it had been taught so.', 1.8),
}


class Film:
    """Collects frames of a page, part by part."""

    def __init__(self, page):
        self._page = page
        self.frames = {part: [] for part in PARTS}

    def take(self, part, times=1):
        """Take pictures of the page, one after the other."""
        for _ in range(times):
            self.frames[part].append(self._page.screenshot(type='png'))


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else
                Path(__file__).parent / 'images/teaching.webp')
    with tempfile.TemporaryDirectory() as scratch:
        pictures = Path(scratch, 'groceries')
        write_pictures(pictures, THINGS)
        with (teaching(Path(scratch, 'taught'), '--images', pictures, '--rate',
                       str(RATE)) as (address, _),
              chromium() as browser):
            page = open_page(browser, address, WIDTH, HEIGHT, 'light')
            film = Film(page)
            play(page, film)
            write(path, film.frames, captions(browser))
    print(f'{path}: {path.stat().st_size / 1e6:.1f} MB')


def play(page, film):
    """Do what the captions say."""
    for turn, (label, _) in enumerate(THINGS):
        teach_thing(page, turn, label, lambda what, turn=turn: film.take(f'teach {turn}'))
    for thing in (0, 1, 2, 0, 1, 2):
        seek(page, place(thing, len(film.frames['new']) // 6))
        page.wait_for_timeout(300)
        film.take('new', 2)
    seek(page, place(1, 2))
    page.wait_for_timeout(300)
    film.take('wrong', 3)
    page.keyboard.press('3')
    page.wait_for_timeout(500)
    film.take('wrong', 4)
    page.click('#open-gallery')
    film.take('doubtful')
    page.select_option('#gallery-order', 'doubtful')
    page.locator('#gallery .suggest').first.wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#gallery img')].every(one => one.naturalWidth)")
    page.evaluate('document.activeElement.blur()')
    page.wait_for_timeout(300)
    film.take('doubtful', 4)
    page.locator('#gallery .suggest').first.hover()
    film.take('right', 2)
    page.locator('#gallery .suggest').first.click()
    page.locator('#gallery-message:not(:empty)').wait_for()
    page.wait_for_timeout(500)
    film.take('right', 4)


def place(thing, number):
    """Return the place of a picture that was not taught."""
    return len(THINGS) * TAUGHT + thing * NEW + number


def captions(browser):
    """Return a strip with the caption of each part."""
    page = browser.new_page(viewport={'width': WIDTH, 'height': STRIP})
    strips = {}
    for part, (text, _) in PARTS.items():
        page.set_content(
            '<body style="margin:0;background:#14181d;color:#fff;font:600 22px sans-serif;'
            f'line-height:{STRIP}px;padding:0 20px">{text}</body>')
        strips[part] = page.screenshot(type='png')
    return strips


def write(path, frames, strips):
    """Write the parts, each in its time, as an animated WebP."""
    film = cv2.Animation()
    chosen = []
    for part, (_, seconds) in PARTS.items():
        strip = decoded(strips[part])
        count = round(1000 * seconds / FRAME)
        for number in np.linspace(0, len(frames[part]) - 1, count).round().astype(int):
            whole = np.vstack([decoded(frames[part][number]), strip])
            chosen.append(cv2.resize(whole, SIZE, interpolation=cv2.INTER_AREA))
    film.frames = chosen
    film.durations = [FRAME] * len(chosen)
    cv2.imwriteanimation(str(path), film, [cv2.IMWRITE_WEBP_QUALITY, QUALITY])


def decoded(picture):
    return cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR)


if __name__ == '__main__':
    main()
