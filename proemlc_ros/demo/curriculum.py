# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the camera shows and the operator teaches, picture by picture, known to both by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proemlc_ros.demo.tabletop import OBJECTS, Image, draw_scene

# How likely an object lies on the table; the one that a lesson introduces is there more often.
USUAL = 0.35
NEW = 0.6


@dataclass(frozen=True)
class ScenePicture:
    """One picture of the stream, and the truth about it."""

    number: int
    lesson: int
    """Counts from 0; the exam is one more."""
    exam: bool
    """Shown to be predicted only; nobody teaches it."""
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Curriculum:
    """UndoEntry by lesson one more object appears on the table; at the end comes an exam.

    The operator teaches every picture of a lesson and none of the exam.
    """

    seed: int = 0
    labels: tuple[str, ...] = tuple(OBJECTS)
    lesson_pictures: int = 60
    exam_pictures: int = 200

    @cached_property
    def pictures(self) -> Sequence[ScenePicture]:
        """All pictures, in order."""
        rng = np.random.default_rng([self.seed, 1])
        found: list[ScenePicture] = []

        for lesson in range(len(self.labels) + 1):
            exam = lesson == len(self.labels)
            chances = dict.fromkeys(self.labels[:lesson + 1], USUAL)
            if not exam:
                chances[self.labels[lesson]] = NEW
            for _ in range(self.exam_pictures if exam else self.lesson_pictures):
                objects = tuple(name for name in chances if rng.random() < chances[name])
                found.append(ScenePicture(len(found), lesson, exam, objects))
        return found

    def draw(self, number: int) -> Image:
        """Return the picture of a number, the same each time."""
        rng = np.random.default_rng([self.seed, 2, number])
        objects = list(self.pictures[number].objects)
        rng.shuffle(objects)  # who lies on top where the table is full
        return draw_scene(objects, rng)


@dataclass(frozen=True)
class Timetable:
    """Stamps of the pictures: evenly spaced from a start, so that a stamp tells the number."""

    start: int
    """Nanoseconds."""
    rate: float
    """Pictures a second."""

    @property
    def period(self) -> int:
        """Nanoseconds between pictures."""
        return round(1_000_000_000 / self.rate)

    def stamp(self, number: int) -> int:
        """Return the stamp of a picture in nanoseconds."""
        return self.start + number * self.period

    def number(self, stamp: int) -> int:
        """Return the number of the picture with this stamp."""
        return round((stamp - self.start) / self.period)
