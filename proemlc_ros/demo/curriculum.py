# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the camera shows and the operator annotates, picture by picture, known by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proemlc_ros.demo.tabletop import OBJECTS, Image, draw_scene

# Probability that an object lies on the table; the one that a phase introduces is likelier.
USUAL = 0.35
NEW = 0.6


@dataclass(frozen=True)
class ScenePicture:
    """One picture of the stream, and the truth about it."""

    number: int
    phase: int
    """Counts from 0; the exam is the last one."""
    exam: bool
    """Whether it is only predicted, and never annotated."""
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Curriculum:
    """The phases of the stream: each introduces one more object; the last one is an exam.

    The operator annotates every picture of a phase and none of the exam.
    """

    seed: int = 0
    labels: tuple[str, ...] = tuple(OBJECTS)
    phase_pictures: int = 60
    exam_pictures: int = 200

    @cached_property
    def pictures(self) -> Sequence[ScenePicture]:
        """All pictures, in order."""
        rng = np.random.default_rng([self.seed, 1])
        found: list[ScenePicture] = []

        for phase in range(len(self.labels) + 1):
            exam = phase == len(self.labels)
            chances = dict.fromkeys(self.labels[:phase + 1], USUAL)
            if not exam:
                chances[self.labels[phase]] = NEW
            for _ in range(self.exam_pictures if exam else self.phase_pictures):
                objects = tuple(name for name in chances if rng.random() < chances[name])
                found.append(ScenePicture(len(found), phase, exam, objects))
        return found

    @property
    def lessons(self) -> int:
        """Number of pictures before the exam."""
        return len(self.labels) * self.phase_pictures

    def draw(self, number: int) -> Image:
        """Return the picture with this number, the same each time."""
        rng = np.random.default_rng([self.seed, 2, number])
        objects = list(self.pictures[number].objects)
        rng.shuffle(objects)  # which lies on top where the table is full
        return draw_scene(objects, rng)


@dataclass(frozen=True)
class Timetable:
    """Stamps of the pictures: evenly spaced from a start, so that a stamp gives the number."""

    start: int
    """Nanoseconds."""
    rate: float
    """Pictures per second."""

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
