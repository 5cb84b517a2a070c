# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The scripted operator: looks at predictions, teaches the truth, errs once, takes it back."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from proemlc_ros.demo.curriculum import Curriculum, ScenePicture

# The operator's slip: a misspelt name that makes a label that does not exist.
MISSPELT = {'banana': 'bananna', 'book': 'bok'}


class OperatorAction(Enum):
    """What the operator does next."""

    TEACH = 'teach'
    ERR = 'teach something wrong, and take it back'


@dataclass(frozen=True)
class Step:
    """One deed about one picture; steps are done strictly one after the other."""

    deed: OperatorAction
    picture: ScenePicture
    labels: tuple[str, ...]


@dataclass
class PredictionRecord:
    """What the classifier said about a picture."""

    number: int
    predicted: tuple[str, ...]
    known: tuple[str, ...]
    """Labels that the classifier knew then."""
    at: float
    """Seconds since the first prediction."""


@dataclass
class OperatorScript:
    """Decides what to do about each prediction, and keeps account of everything.

    Args:
        curriculum: what the pictures show.
        mistake_at: number of the lesson in which the slip happens.

    """

    curriculum: Curriculum
    mistake_at: int = 2
    records: dict[int, PredictionRecord] = field(default_factory=dict)
    taught: list[int] = field(default_factory=list)
    waiting: deque[Step] = field(default_factory=deque)
    _erred: bool = False

    def see(self, number: int, predicted: tuple[str, ...], known: tuple[str, ...],
            at: float) -> None:
        """Take note of a prediction, and plan what to do about it."""
        if number in self.records or not 0 <= number < len(self.curriculum.pictures):
            return
        picture = self.curriculum.pictures[number]
        self.records[number] = PredictionRecord(number, predicted, known, at)
        if picture.exam:
            return
        slip = self._slip(picture)
        if slip:
            self._erred = True
            self.waiting.append(Step(OperatorAction.ERR, picture, slip))
        self.waiting.append(Step(OperatorAction.TEACH, picture, picture.objects))

    def done(self, step: Step) -> None:
        """Take note that a step was acknowledged."""
        if step.deed is OperatorAction.TEACH:
            self.taught.append(step.picture.number)

    @property
    def finished(self) -> bool:
        """Whether the last picture was seen and everything was taught."""
        return not self.waiting and len(self.curriculum.pictures) - 1 in self.records

    def _slip(self, picture: ScenePicture) -> tuple[str, ...]:
        """Return the wrong labels for this picture, empty where the operator is careful."""
        halfway = self.curriculum.lesson_pictures // 2
        start = next(p.number for p in self.curriculum.pictures if p.lesson == picture.lesson)
        if self._erred or picture.lesson != self.mistake_at or picture.number < start + halfway:
            return ()
        wrong = tuple(MISSPELT.get(name, name) for name in picture.objects)
        return wrong if wrong != picture.objects else ()
