# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated camera above a table on which everyday objects lie, seeded and with known truth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import DemoError

Image = NDArray[np.uint8]
_Pen = Callable[[Image, '_Pose'], None]

WIDTH, HEIGHT = 320, 240
# Focal length in pixels, and millimetres from the camera down to the table.
FOCAL, TABLE_DEPTH = 320.0, 1000
# Light, lens and sensor of the camera: how much a picture varies without any object moving.
_BRIGHTNESS = (0.72, 1.18)
_TINT = (0.95, 1.05)
_NOISE = 5.0
# Unnamed things that lie about, at most: crumbs and scraps of any colour.
_MOST_CRUMBS = 6
# Share of the way that a thing goes back to its place with each picture; pixels and degrees that
# it is nudged.
_BACK, _NUDGE, _TURN = 0.1, 4.0, 9.0


@dataclass(frozen=True)
class _Pose:
    """Where an object lies on the table: centre in pixels, size as a factor, turn in degrees."""

    x: int
    y: int
    size: float
    turn: float

    def scaled(self, length: float) -> int:
        """Return a length in pixels at this size."""
        return max(1, round(length * self.size))


def _draw_scene(objects: Collection[str], rng: np.random.Generator) -> Image:
    """Return an RGB picture (240, 320, 3) of the table with the named objects on it.

    Args:
        objects: names out of OBJECTS.
        rng: decides places, sizes, light and noise.
    """
    canvas = _table(rng)
    _draw_crumbs(canvas, rng)
    shadow_free = canvas.copy()
    for name, pose in zip(objects, _poses(len(objects), rng)):
        OBJECTS[name](canvas, pose)
    changed = cv2.absdiff(canvas, shadow_free).max(axis=2) > 0
    return _photographed(_with_shadow(canvas, changed), rng)


def _table(rng: np.random.Generator) -> Image:
    """Return the empty table: wood with a grain that differs from picture to picture."""
    knots = rng.standard_normal((HEIGHT // 4, 6), np.float32)
    grain = cv2.resize(knots, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    wood = np.array([150, 118, 84], np.float32) + 9 * grain[..., np.newaxis]
    return np.asarray(np.clip(wood, 0, 255), np.uint8)


def _poses(count: int, rng: np.random.Generator) -> list[_Pose]:
    """Return places that do not cover each other, as far as the table has room."""
    found: list[_Pose] = []
    for _ in range(200):
        pose = _Pose(int(rng.integers(40, WIDTH - 40)), int(rng.integers(40, HEIGHT - 40)),
                     float(rng.uniform(0.85, 1.2)), float(rng.uniform(0, 360)))
        room = 62 if len(found) < 6 else 40
        if all(np.hypot(pose.x - other.x, pose.y - other.y) > room for other in found):
            found.append(pose)
        if len(found) == count:
            break
    while len(found) < count:
        found.append(_Pose(
            int(rng.integers(40, WIDTH - 40)), int(rng.integers(40, HEIGHT - 40)), 1.0, 0.0))
    return found


def _with_shadow(canvas: Image, objects: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Darken the table to the lower right of the objects."""
    shadow = np.roll(objects, (5, 7), axis=(0, 1)) & ~objects
    light = 1 - cv2.GaussianBlur(shadow.astype(np.float32) * np.float32(0.45), (9, 9), 0)
    return canvas * light[..., np.newaxis]


def _photographed(scene: NDArray[np.float32], rng: np.random.Generator) -> Image:
    """Return a scene as the camera sees it: light from one side, tint, blur and noise."""
    side = np.linspace(rng.uniform(0.85, 1.0), rng.uniform(0.85, 1.0), WIDTH)
    light = rng.uniform(*_BRIGHTNESS) * np.outer(side, rng.uniform(*_TINT, 3))
    seen: NDArray[Any] = cv2.GaussianBlur(scene * light.astype(np.float32), (3, 3), 0)
    seen += np.float32(_NOISE) * rng.standard_normal(seen.shape, np.float32)
    return np.clip(seen, 0, 255, out=seen).astype(np.uint8)


def _turned_box(pose: _Pose, width: float, height: float) -> NDArray[np.int32]:
    """Return the corners of a turned rectangle."""
    size = (pose.scaled(width), pose.scaled(height))
    return np.rint(cv2.boxPoints(((pose.x, pose.y), size, pose.turn))).astype(np.int32)


def _draw_cup(canvas: Image, pose: _Pose) -> None:
    """A red cup from above, with coffee and a handle."""
    angle = np.radians(pose.turn)
    handle = (round(pose.x + pose.scaled(27) * np.cos(angle)),
              round(pose.y + pose.scaled(27) * np.sin(angle)))
    cv2.circle(canvas, handle, pose.scaled(9), (190, 25, 30), pose.scaled(5))
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(25), (205, 30, 35), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(18), (70, 40, 25), -1)


def _draw_book(canvas: Image, pose: _Pose) -> None:
    """A blue book with a pale stripe on its cover."""
    cv2.fillPoly(canvas, [_turned_box(pose, 62, 46)], (25, 60, 160))
    cv2.fillPoly(canvas, [_turned_box(pose, 40, 8)], (215, 220, 235))


def _draw_banana(canvas: Image, pose: _Pose) -> None:
    """A yellow banana: a bent, thick line."""
    size = (pose.scaled(30), pose.scaled(20))
    cv2.ellipse(canvas, (pose.x, pose.y), size, pose.turn, 15, 165, (235, 205, 45),
                pose.scaled(13))


def _draw_plant(canvas: Image, pose: _Pose) -> None:
    """A green plant: leaves around a pot."""
    for leaf in range(7):
        turn = pose.turn + leaf * 360 / 7
        tip = (round(pose.x + pose.scaled(18) * np.cos(np.radians(turn))),
               round(pose.y + pose.scaled(18) * np.sin(np.radians(turn))))
        size = (pose.scaled(16), pose.scaled(7))
        cv2.ellipse(canvas, tip, size, turn, 0, 360, (35, 125, 45), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(9), (120, 70, 40), -1)


def _draw_plate(canvas: Image, pose: _Pose) -> None:
    """A white plate with a rim."""
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(32), (238, 238, 232), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(22), (214, 214, 208), 2)


def _draw_phone(canvas: Image, pose: _Pose) -> None:
    """A black phone with a dark screen."""
    cv2.fillPoly(canvas, [_turned_box(pose, 54, 28)], (22, 22, 26))
    cv2.fillPoly(canvas, [_turned_box(pose, 44, 23)], (45, 52, 66))


def _draw_apple(canvas: Image, pose: _Pose) -> None:
    """A red apple with a green cheek, close to the cup in colour."""
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(21), (185, 35, 40), -1)
    cheek = (pose.x - pose.scaled(8), pose.y - pose.scaled(6))
    cv2.circle(canvas, cheek, pose.scaled(8), (165, 160, 60), -1)


def _draw_orange(canvas: Image, pose: _Pose) -> None:
    """An orange, between the banana and the apple in colour."""
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(22), (238, 140, 30), -1)
    cv2.circle(canvas, (pose.x, pose.y), pose.scaled(3), (120, 95, 40), -1)


def _draw_crumbs(canvas: Image, rng: np.random.Generator) -> None:
    """Scatter scraps of any colour, which have no name."""
    for _ in range(int(rng.integers(0, _MOST_CRUMBS + 1))):
        colour = tuple(int(value) for value in rng.integers(0, 256, 3))
        place = (int(rng.integers(0, WIDTH)), int(rng.integers(0, HEIGHT)))
        cv2.circle(canvas, place, int(rng.integers(2, 9)), colour, -1)


OBJECTS: dict[str, _Pen] = {
    'cup': _draw_cup, 'book': _draw_book, 'banana': _draw_banana, 'plant': _draw_plant,
    'apple': _draw_apple, 'plate': _draw_plate, 'orange': _draw_orange, 'phone': _draw_phone,
}
# How high each thing rises above the table, in millimetres.
THING_HEIGHTS = {'cup': 95, 'book': 30, 'banana': 40, 'plant': 220, 'apple': 75, 'plate': 20,
                 'orange': 80, 'phone': 10}


def arranged_scene(objects: Sequence[str], seed: int, number: int) -> Image:
    """Return the scene with this number: other places, light and crumbs than any other number."""
    rng = np.random.default_rng([seed, 2, number])
    shuffled = list(objects)
    rng.shuffle(shuffled)  # which lies on top where the table is full
    return _draw_scene(shuffled, rng)


class TeachableTable:
    """A table that a person can teach: things stay on it until they are taken away.

    They are nudged a little all the time and the light changes slowly, so that no two pictures
    are the same.

    Args:
        seed: of places, light and noise.

    Attributes:
        shown: what is on the table.
        depth: millimetres to what each pixel of the last picture shows; None: of an arrangement.

    >>> camera = TeachableTable(); camera.show(['cup']); camera.read(0).shape
    (240, 320, 3)
    """

    kind = 'table'
    count = 0
    rate = 0.0
    things = tuple(OBJECTS)

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._arranged: Image | None = None
        self._random = np.random.default_rng(seed)
        self._table = _table(self._random)
        places = _poses(len(OBJECTS), self._random)
        self._home = dict(zip(OBJECTS, places, strict=True))
        self._offset = {name: np.zeros(3) for name in OBJECTS}
        self._light = 1.0
        self.shown: tuple[str, ...] = ('cup',)
        self.depth: NDArray[np.uint16] | None = None

    def show(self, things: Sequence[str], arrangement: int = 0) -> None:
        """Put exactly these things on the table.

        Args:
            things: their names.
            arrangement: number of a scene of its own (see `arranged_scene`), which is shown
                until the next call; 0: each thing at its place.

        Raises:
            DemoError: there is no such thing.
        """
        unknown = [name for name in things if name not in OBJECTS]
        if unknown:
            raise DemoError(f'there is no {unknown[0]} here; there are: {", ".join(OBJECTS)}')
        self.shown = tuple(dict.fromkeys(things))
        self._arranged = arranged_scene(
            self.shown, self._seed, arrangement) if arrangement else None

    def name(self, position: int) -> str:
        """Return what is on the table."""
        return ', '.join(self.shown) or 'an empty table'

    def read(self, position: int) -> Image:
        """Return the next picture."""
        self.depth = None
        if self._arranged is not None:
            return self._arranged
        canvas = self._table.copy()
        self.depth = np.full((HEIGHT, WIDTH), TABLE_DEPTH, np.uint16)
        for name in self.shown:
            below = canvas.copy()
            OBJECTS[name](canvas, self._nudged(name))
            self.depth[(canvas != below).any(axis=2)] = TABLE_DEPTH - THING_HEIGHTS[name]
        changed = self.depth < TABLE_DEPTH
        self._light += 0.1 * (1.0 - self._light) + 0.01 * self._random.standard_normal()
        seen: NDArray[Any] = cv2.GaussianBlur(
            _with_shadow(canvas, changed) * np.float32(self._light), (3, 3), 0)
        seen += np.float32(_NOISE) * self._random.standard_normal(seen.shape, np.float32)
        return np.asarray(np.clip(seen, 0, 255), np.uint8)

    def _nudged(self, name: str) -> _Pose:
        home, offset = self._home[name], self._offset[name]
        nudge = np.array([_NUDGE, _NUDGE, _TURN]) * self._random.standard_normal(3)
        offset += nudge - _BACK * offset
        x = int(np.clip(home.x + offset[0], 30, WIDTH - 30))
        y = int(np.clip(home.y + offset[1], 30, HEIGHT - 30))
        return _Pose(x, y, home.size, home.turn + offset[2])


def as_message_fields(picture: Image) -> dict[str, Any]:
    """Return the fields of a sensor_msgs/Image that hold a picture, all but its header."""
    height, width = picture.shape[:2]
    return {'height': height, 'width': width, 'encoding': 'rgb8', 'is_bigendian': 0,
            'step': 3 * width}
