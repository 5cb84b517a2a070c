# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the camera of the demo shows and its operator does, picture by picture, known by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proemlc_ros.demo.tabletop import OBJECTS, Image, arranged_scene

# Probability that an object lies on the table; the one that a phase introduces is likelier.
_USUAL = 0.35
_NEW = 0.6
# The operator's mistake: a misspelt name introduces a label that does not exist.
_MISSPELT = {'banana': 'bananna', 'book': 'bok'}


@dataclass(frozen=True)
class ScenePicture:
    """One picture of the stream, and the truth about it."""

    number: int
    phase: int
    """Counts from 0; the exam is the last one."""
    exam: bool
    """Whether it is only predicted, and never annotated."""
    objects: tuple[str, ...]
    mistake: tuple[str, ...] = ()
    """Wrong labels that the operator annotates first, and undoes; empty: none."""

    @property
    def arrangement(self) -> int:
        """Number of the scene for the simulated camera."""
        return self.number + 1


@dataclass(frozen=True)
class Curriculum:
    """The phases of the stream: each introduces one more object; the last one is an exam.

    The operator annotates every picture of a phase and none of the exam, and errs once.
    """

    seed: int = 0
    labels: tuple[str, ...] = tuple(OBJECTS)
    phase_pictures: int = 60
    exam_pictures: int = 200
    mistake_at: int = 2
    """Number of the phase in which the mistake happens, in its second half."""

    @cached_property
    def pictures(self) -> Sequence[ScenePicture]:
        """All pictures, in order."""
        rng = np.random.default_rng([self.seed, 1])
        found: list[ScenePicture] = []
        erred = False

        for phase in range(len(self.labels) + 1):
            exam = phase == len(self.labels)
            chances = dict.fromkeys(self.labels[:phase + 1], _USUAL)
            if not exam:
                chances[self.labels[phase]] = _NEW
            for place in range(self.exam_pictures if exam else self.phase_pictures):
                objects = tuple(name for name in chances if rng.random() < chances[name])
                wrong: tuple[str, ...] = ()
                if phase == self.mistake_at and place >= self.phase_pictures // 2 and not erred:
                    wrong = tuple(_MISSPELT.get(name, name) for name in objects)
                    erred = wrong != objects
                found.append(ScenePicture(len(found), phase, exam, objects,
                                          wrong if wrong != objects else ()))
        return found

    def draw(self, number: int) -> Image:
        """Return the picture with this number, the same each time."""
        picture = self.pictures[number]
        return arranged_scene(picture.objects, self.seed, picture.arrangement)
