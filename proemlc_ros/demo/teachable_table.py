# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated camera that a person can teach: things stay on the table until they are taken away.

They are nudged a little all the time and the light changes slowly, so that no two pictures are
the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.demo.tabletop import (
    HEIGHT,
    NOISE,
    OBJECTS,
    WIDTH,
    Image,
    Pose,
    poses,
    table,
    with_shadow,
)
from proemlc_ros.errors import DemoError

# Share of the way that a thing goes back to its place with each picture; pixels and degrees that
# it is nudged.
BACK, NUDGE, TURN = 0.1, 4.0, 9.0


class TeachableTable:
    """The table and what lies on it.

    Args:
        seed: of places, light and noise.

    >>> camera = TeachableTable(); camera.show(['cup']); camera.read(0).shape
    (240, 320, 3)
    """

    kind = 'table'
    count = 0
    rate = 0.0
    things = tuple(OBJECTS)

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self._table = table(self._random)
        places = poses(len(OBJECTS), self._random)
        self._home = dict(zip(OBJECTS, places, strict=True))
        self._offset = {name: np.zeros(3) for name in OBJECTS}
        self._light = 1.0
        self.shown: tuple[str, ...] = ('cup',)

    def show(self, things: Sequence[str]) -> None:
        """Put exactly these things on the table.

        Raises:
            DemoError: there is no such thing.
        """
        unknown = [name for name in things if name not in OBJECTS]
        if unknown:
            raise DemoError(f'there is no {unknown[0]} here; there are: {", ".join(OBJECTS)}')
        self.shown = tuple(dict.fromkeys(things))

    def name(self, position: int) -> str:
        """Return what is on the table."""
        return ', '.join(self.shown) or 'an empty table'

    def read(self, position: int) -> Image:
        """Return the next picture."""
        canvas = self._table.copy()
        for name in self.shown:
            OBJECTS[name](canvas, self._nudged(name))
        changed = cv2.absdiff(canvas, self._table).max(axis=2) > 0
        self._light += 0.1 * (1.0 - self._light) + 0.01 * self._random.standard_normal()
        seen: NDArray[Any] = cv2.GaussianBlur(
            with_shadow(canvas, changed) * np.float32(self._light), (3, 3), 0)
        seen += np.float32(NOISE) * self._random.standard_normal(seen.shape, np.float32)
        return np.asarray(np.clip(seen, 0, 255), np.uint8)

    def _nudged(self, name: str) -> Pose:
        home, offset = self._home[name], self._offset[name]
        offset += np.array([NUDGE, NUDGE, TURN]) * self._random.standard_normal(3) - BACK * offset
        x = int(np.clip(home.x + offset[0], 30, WIDTH - 30))
        y = int(np.clip(home.y + offset[1], 30, HEIGHT - 30))
        return Pose(x, y, home.size, home.turn + offset[2])
