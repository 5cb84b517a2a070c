# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Frames per second of the gallery in Chromium, with many samples and labels.

    python test/trials/gallery_frames.py --samples 10000 --labels 300

The dashboard is real, the classifier behind it is not: it has that many samples with pictures.
The page scrolls through all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from pathlib import Path

import cv2
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'operator')]

from web_stand import Stand

from proemlc_ros.features.sensor_arrays import jpeg_of
from proemlc_ros.operator.actions import HistoryLine, HistoryList, SampleList
from proemlc_ros.records import Annotation, LabelState, TaughtSample

SCROLL = """seconds => new Promise((done) => {
  const region = document.getElementById('gallery-scroll');
  const began = performance.now();
  const gaps = [];
  let last = began;
  const step = (now) => {
    gaps.push(now - last);
    last = now;
    const share = (now - began) / (1000 * seconds);
    region.scrollTop = share * (region.scrollHeight - region.clientHeight);
    if (share < 1) requestAnimationFrame(step);
    else setTimeout(() => done({ frames: gaps.length / seconds, worst: Math.max(...gaps.slice(1)),
      cards: document.querySelectorAll('#gallery .sample').length }), 1000);
  };
  requestAnimationFrame(step);
})"""


class ManySamples:
    """A classifier that has learnt many samples."""

    def __init__(self, samples: int, labels: int) -> None:
        self.names = [f'thing {number}' for number in range(labels)]
        self.cards = [
            TaughtSample(number, int(1.7e18) + number * 10**9,
                         Annotation(0, (self.names[number % labels],), annotator='Ada'),
                         has_picture=True, doubt=0.4 if number % 7 == 0 else -0.5,
                         doubtful=self.names[number % labels] if number % 7 == 0 else '',
                         expected=(self.names[(number + 1) % labels],))
            for number in range(1, samples + 1)]
        rng = np.random.default_rng(0)
        self.pictures = []
        for _ in range(50):
            pixels = np.full((240, 320, 3), rng.integers(60, 220, 3), np.uint8)
            cv2.circle(pixels, (160, 120), 70, tuple(map(int, rng.integers(0, 255, 3))), -1)
            self.pictures.append(jpeg_of(pixels, 320, 80))

    async def samples(self, choice):
        return SampleList(len(self.cards), self.cards[choice.offset:choice.offset + choice.limit],
                          ['Ada'])

    async def picture(self, number):
        return self.pictures[number % len(self.pictures)]

    async def history(self, *_):
        steps = [HistoryLine(number, 1.7e9 + number, "taught 'cup'", 'Ada')
                 for number in range(30, 0, -1)]
        return HistoryList(30, steps, steps[:1], [])


def serve(review: ManySamples, address: list[str], stop: threading.Event) -> None:
    """Run the dashboard until stopped; predictions of all labels come ten times a second."""
    async def main() -> None:
        stand = Stand(max_http_rate=1e4)
        for name in ('samples', 'picture', 'history'):
            setattr(stand.actions, name, getattr(review, name))
        names = tuple(review.names)
        stand.view.on_labels(LabelState(names, (10,) * len(names), (0.0,) * len(names),
                                        len(review.cards), 1))
        async with stand.open():
            address.append(stand.origin)
            while not stop.is_set():
                stand.see(time.time_ns())
                await asyncio.sleep(0.1)
    asyncio.run(main())


def run(samples: int, labels: int, seconds: float) -> dict[str, float]:
    """Return frames per second, the longest gap in milliseconds, and cards on the page."""
    from browser import chromium
    review, address, stop = ManySamples(samples, labels), [], threading.Event()
    server = threading.Thread(target=serve, args=(review, address, stop))
    server.start()
    try:
        while not address:
            time.sleep(0.05)
        with chromium() as browser:
            page = browser.new_page(viewport={'width': 1366, 'height': 768})
            page.goto(address[0])
            page.locator('.label-row').nth(9).wait_for()
            page.click('#open-gallery')
            page.wait_for_selector('#gallery .sample')
            return page.evaluate(SCROLL, seconds)
    finally:
        stop.set()
        server.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--samples', type=int, default=10_000)
    parser.add_argument('--labels', type=int, default=300)
    parser.add_argument('--seconds', type=float, default=8.0)
    arguments = parser.parse_args()
    found = run(arguments.samples, arguments.labels, arguments.seconds)
    print(f'{arguments.samples} samples, {arguments.labels} labels: {found["frames"]:.0f} frames '
          f'per second while scrolling through all, longest gap {found["worst"]:.0f} ms, '
          f'{found["cards"]:.0f} cards on the page')
    return 0


if __name__ == '__main__':
    sys.exit(main())
