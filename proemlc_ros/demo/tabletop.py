# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated camera above a table on which everyday objects lie, seeded and with known truth."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Pen = Callable[[Image, 'Pose'], None]

WIDTH, HEIGHT = 320, 240
# Light, lens and sensor of the camera: how much a picture varies without any object moving.
BRIGHTNESS = (0.72, 1.18)
TINT = (0.95, 1.05)
NOISE = 5.0
# Unnamed things that lie about, at most: crumbs and scraps of any colour.
MOST_CRUMBS = 6


@dataclass(frozen=True)
class Pose:
    """Where an object lies on the table: centre in pixels, size as a factor, turn in degrees."""

    x: int
    y: int
    size: float
    turn: float

    def scaled(self, length: float) -> int:
        """Return a length in pixels at this size."""
        return max(1, round(length * self.size))


def draw_scene(objects: Collection[str], rng: np.random.Generator) -> Image:
    """Return an RGB picture (240, 320, 3) of the table with the named objects on it.

    Args:
        objects: names out of OBJECTS.
        rng: decides places, sizes, light and noise.

    """
    canvas = table(rng)
    draw_crumbs(canvas, rng)
    shadow_free = canvas.copy()
    for name, pose in zip(objects, poses(len(objects), rng)):
        OBJECTS[name](canvas, pose)
    changed = cv2.absdiff(canvas, shadow_free).max(axis=2) > 0
    return photographed(with_shadow(canvas, changed), rng)


def table(rng: np.random.Generator) -> Image:
    """Return the empty table: wood with a grain that differs from picture to picture."""
    knots = rng.standard_normal((HEIGHT // 4, 6), np.float32)
    grain = cv2.resize(knots, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    wood = np.array([150, 118, 84], np.float32) + 9 * grain[..., np.newaxis]
    return np.asarray(np.clip(wood, 0, 255), np.uint8)


def poses(count: int, rng: np.random.Generator) -> list[Pose]:
    """Return places that do not cover each other, as far as the table has room."""
    found: list[Pose] = []
    for _ in range(200):
        pose = Pose(int(rng.integers(40, WIDTH - 40)), int(rng.integers(40, HEIGHT - 40)),
                    float(rng.uniform(0.85, 1.2)), float(rng.uniform(0, 360)))
        room = 62 if len(found) < 6 else 40
        if all(np.hypot(pose.x - other.x, pose.y - other.y) > room for other in found):
            found.append(pose)
        if len(found) == count:
            break
    while len(found) < count:
        found.append(Pose(
            int(rng.integers(40, WIDTH - 40)), int(rng.integers(40, HEIGHT - 40)), 1.0, 0.0))
    return found


def with_shadow(canvas: Image, objects: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Darken the table to the lower right of the objects."""
    shadow = np.roll(objects, (5, 7), axis=(0, 1)) & ~objects
    light = 1 - cv2.GaussianBlur(shadow.astype(np.float32) * np.float32(0.45), (9, 9), 0)
    return canvas * light[..., np.newaxis]


def photographed(scene: NDArray[np.float32], rng: np.random.Generator) -> Image:
    """Return a scene as the camera sees it: light from one side, tint, blur and noise."""
    side = np.linspace(rng.uniform(0.85, 1.0), rng.uniform(0.85, 1.0), WIDTH)
    light = rng.uniform(*BRIGHTNESS) * np.outer(side, rng.uniform(*TINT, 3))
    seen: NDArray[Any] = cv2.GaussianBlur(scene * light.astype(np.float32), (3, 3), 0)
    seen += np.float32(NOISE) * rng.standard_normal(seen.shape, np.float32)
    return np.clip(seen, 0, 255, out=seen).astype(np.uint8)


def turned_box(pose: Pose, width: float, height: float) -> NDArray[np.int32]:
    """Return the corners of a turned rectangle."""
    size = (pose.scaled(width), pose.scaled(height))
    return np.rint(cv2.boxPoints(((pose.x, pose.y), size, pose.turn))).astype(np.int32)


def draw_cup(canvas: Image, pose: Pose) -> None:
    """A red cup from above, with coffee and a handle."""
    angle = np.radians(pose.turn)
    handle = (round(pose.x + pose.scaled(27) * np.cos(angle)),
              round(pose.y + pose.scaled(27) * np.sin(angle)))
    cv2.circle(canvas, handle, pose.scaled(9), (190, 25, 30), pose.scaled(5))
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(25), (205, 30, 35), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(18), (70, 40, 25), -1)


def draw_book(canvas: Image, pose: Pose) -> None:
    """A blue book with a pale stripe on its cover."""
    cv2.fillPoly(canvas, [turned_box(pose, 62, 46)], (25, 60, 160))
    cv2.fillPoly(canvas, [turned_box(pose, 40, 8)], (215, 220, 235))


def draw_banana(canvas: Image, pose: Pose) -> None:
    """A yellow banana: a bent, thick line."""
    size = (pose.scaled(30), pose.scaled(20))
    cv2.ellipse(canvas, (pose.x, pose.y), size, pose.turn, 15, 165, (235, 205, 45),
                pose.scaled(13))


def draw_plant(canvas: Image, pose: Pose) -> None:
    """A green plant: leaves around a pot."""
    for leaf in range(7):
        turn = pose.turn + leaf * 360 / 7
        tip = (round(pose.x + pose.scaled(18) * np.cos(np.radians(turn))),
               round(pose.y + pose.scaled(18) * np.sin(np.radians(turn))))
        size = (pose.scaled(16), pose.scaled(7))
        cv2.ellipse(canvas, tip, size, turn, 0, 360, (35, 125, 45), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(9), (120, 70, 40), -1)


def draw_plate(canvas: Image, pose: Pose) -> None:
    """A white plate with a rim."""
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(32), (238, 238, 232), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(22), (214, 214, 208), 2)


def draw_phone(canvas: Image, pose: Pose) -> None:
    """A black phone with a dark screen."""
    cv2.fillPoly(canvas, [turned_box(pose, 54, 28)], (22, 22, 26))
    cv2.fillPoly(canvas, [turned_box(pose, 44, 23)], (45, 52, 66))


def draw_apple(canvas: Image, pose: Pose) -> None:
    """A red apple with a green cheek, close to the cup in colour."""
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(21), (185, 35, 40), -1)
    cheek = (pose.x - pose.scaled(8), pose.y - pose.scaled(6))
    cv2.circle(canvas, cheek, pose.scaled(8), (165, 160, 60), -1)


def draw_orange(canvas: Image, pose: Pose) -> None:
    """An orange, between the banana and the apple in colour."""
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(22), (238, 140, 30), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(3), (120, 95, 40), -1)


def draw_crumbs(canvas: Image, rng: np.random.Generator) -> None:
    """Scatter scraps of any colour, which have no name."""
    for _ in range(int(rng.integers(0, MOST_CRUMBS + 1))):
        colour = tuple(int(value) for value in rng.integers(0, 256, 3))
        place = (int(rng.integers(0, WIDTH)), int(rng.integers(0, HEIGHT)))
        cv2.circle(canvas, place, int(rng.integers(2, 9)), colour, -1)


OBJECTS: dict[str, Pen] = {
    'cup': draw_cup, 'book': draw_book, 'banana': draw_banana, 'plant': draw_plant,
    'apple': draw_apple, 'plate': draw_plate, 'orange': draw_orange, 'phone': draw_phone,
}


def as_message_fields(picture: Image) -> dict[str, Any]:
    """Return the fields of a sensor_msgs/Image that hold a picture, all but its header."""
    height, width = picture.shape[:2]
    return {'height': height, 'width': width, 'encoding': 'rgb8', 'is_bigendian': 0,
            'step': 3 * width}
