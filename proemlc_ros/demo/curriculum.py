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
class Picture:
    """One picture of the stream, and the truth about it."""

    number: int
    lesson: int
    """Counts from 0; the final exam belongs to the last lesson."""
    exam: bool
    """Shown to be predicted only; nobody teaches it."""
    final: bool
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Curriculum:
    """Lesson by lesson one more object appears; each lesson ends with an exam over all objects.

    The operator teaches every picture of a lesson and none of an exam. Objects not taught
    yet also lie on the table in exams, so the loss falls with every lesson.
    """

    seed: int = 0
    labels: tuple[str, ...] = tuple(OBJECTS)
    lesson_pictures: int = 70
    exam_pictures: int = 25
    final_pictures: int = 250

    @cached_property
    def pictures(self) -> Sequence[Picture]:
        """All pictures, in order."""
        rng = np.random.default_rng([self.seed, 1])
        found: list[Picture] = []

        def show(count: int, lesson: int, exam: bool, final: bool = False) -> None:
            for _ in range(count):
                known = self.labels if exam else self.labels[:lesson + 1]
                chances = [NEW if not exam and name == known[-1] else USUAL for name in known]
                objects = tuple(
                    name for name, chance in zip(known, chances) if rng.random() < chance)
                found.append(Picture(len(found), lesson, exam, final, objects))

        for lesson in range(len(self.labels)):
            show(self.lesson_pictures, lesson, exam=False)
            if lesson + 1 < len(self.labels):
                show(self.exam_pictures, lesson, exam=True)
        show(self.final_pictures, len(self.labels) - 1, exam=True, final=True)
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
