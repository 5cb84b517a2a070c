# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Class-agnostic proposals: things on a table are found; odd pictures do no harm."""

import cv2
import numpy as np
import pytest

from proemlc_ros.features.regions.proposals import propose
from proemlc_ros.regions import Region, overlap


def table(*things):
    """Return a picture of a table with noise, and things of (centre, radius, colour)."""
    picture = np.full((240, 320, 3), (150, 120, 90), np.uint8)
    for centre, radius, colour in things:
        cv2.circle(picture, centre, radius, colour, -1)
    noise = np.random.default_rng(0).integers(-6, 7, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


def test_things_on_a_table_are_found():
    things = [((60, 60), 25, (220, 30, 30)), ((230, 90), 35, (20, 60, 200)),
              ((120, 180), 20, (240, 240, 240))]
    found = propose(table(*things), 10)
    assert len(found) <= 10
    for (x, y), radius, _ in things:
        box = Region('', x, y, 2 * radius, 2 * radius)
        assert max(overlap(box, one) for one in found) > 0.6


@pytest.mark.parametrize('picture', [
    np.zeros((240, 320, 3), np.uint8), np.zeros((4, 4, 3), np.uint8),
    np.zeros((8, 2000), np.uint8), np.full((100, 100), 40000, np.uint16),
    np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)],
    ids=['black', 'tiny', 'strip', 'depth', 'noise'])
def test_odd_pictures_do_no_harm(picture):
    height, width = picture.shape[:2]
    for one in propose(picture, 50):
        left, top, right, bottom = one.edges
        assert 0 <= left < right <= width and 0 <= top < bottom <= height


def test_the_same_picture_gives_the_same_boxes():
    picture = table(((60, 60), 25, (220, 30, 30)))
    assert propose(picture) == propose(picture)
