# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The scripted operator: annotates each picture with the truth, errs once, undoes it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from proemlc_ros.demo.curriculum import Curriculum, ScenePicture

# The operator's mistake: a misspelt name introduces a label that does not exist.
MISSPELT = {'banana': 'bananna', 'book': 'bok'}


class OperatorAction(Enum):
    """What the operator does next."""

    ANNOTATE = 'annotate'
    ERR = 'annotate wrongly, and undo it'


@dataclass(frozen=True)
class Step:
    """One action on one picture; steps are done strictly one after the other."""

    action: OperatorAction
    picture: ScenePicture
    labels: tuple[str, ...]


@dataclass
class PredictionRecord:
    """What the classifier predicted for a picture."""

    number: int
    predicted: tuple[str, ...]
    known: tuple[str, ...]
    """Labels that the classifier knew at that time."""
    at: float
    """Seconds since the first prediction."""


@dataclass
class OperatorScript:
    """Decides what to do about each prediction, and records everything.

    Args:
        curriculum: what the pictures show.
        mistake_at: number of the phase in which the mistake happens.

    """

    curriculum: Curriculum
    mistake_at: int = 2
    records: dict[int, PredictionRecord] = field(default_factory=dict)
    learnt: list[int] = field(default_factory=list)
    waiting: deque[Step] = field(default_factory=deque)
    _erred: bool = False
    _newest: int = -1

    def on_prediction(self, number: int, predicted: tuple[str, ...], known: tuple[str, ...],
                      at: float) -> None:
        """Record a prediction, and plan what to do about it."""
        self._newest = max(self._newest, number)
        if number in self.records or not 0 <= number < len(self.curriculum.pictures):
            return
        picture = self.curriculum.pictures[number]
        self.records[number] = PredictionRecord(number, predicted, known, at)
        if picture.exam:
            return
        wrong = self._mistake(picture)
        if wrong:
            self._erred = True
            self.waiting.append(Step(OperatorAction.ERR, picture, wrong))
        self.waiting.append(Step(OperatorAction.ANNOTATE, picture, picture.objects))

    def done(self, step: Step) -> None:
        """Record that a step was acknowledged."""
        if step.action is OperatorAction.ANNOTATE:
            self.learnt.append(step.picture.number)

    @property
    def finished(self) -> bool:
        """Whether the last picture was predicted and everything was annotated."""
        return not self.waiting and self._newest >= len(self.curriculum.pictures) - 1

    @property
    def lessons_over(self) -> bool:
        """Whether the last picture before the exam was predicted and everything annotated."""
        return not self.waiting and self._newest >= self.curriculum.lessons - 1

    def _mistake(self, picture: ScenePicture) -> tuple[str, ...]:
        """Return the wrong labels for this picture, empty where the operator is careful."""
        halfway = self.curriculum.phase_pictures // 2
        start = next(p.number for p in self.curriculum.pictures if p.phase == picture.phase)
        if self._erred or picture.phase != self.mistake_at or picture.number < start + halfway:
            return ()
        wrong = tuple(MISSPELT.get(name, name) for name in picture.objects)
        return wrong if wrong != picture.objects else ()
