# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What all operators see of the robot: its labels, its newest prediction, its state of health."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from proemlc_ros.classifier.records import (
    Annotation,
    Event,
    EventKind,
    LabelState,
    Query,
    StampedPrediction,
    StampedVector,
)
from proemlc_ros.operator.activity import ActivityLog, describe, describe_event
from proemlc_ros.operator.curve import LearningCurve
from proemlc_ros.operator.query_queue import QueryQueue
from proemlc_ros.operator.recent_vectors import RecentVectors

# The classifier gives a sign of life (diagnostics) once a second.
SILENCE = 3.0
# The rate shown is a mean over this many seconds.
RATE_WINDOW = 3.0
# Predictions that may still be wanted for a picture.
MAX_SIGHTS = 50
# Annotations that were heard of once and may be heard of again.
MAX_UNPAIRED = 100


class Connection(Enum):
    """Whether the classifier is there; the values are words for people."""

    LIVE = 'connected'
    SILENT = 'no sign of life'
    ABSENT = 'not running'


class ViewPart(Enum):
    """What may change."""

    SIGHT = 'sight'
    LABELS = 'labels'
    QUESTIONS = 'questions'
    CURVE = 'curve'
    ACTIVITY = 'activity'
    HEALTH = 'health'
    PICTURE = 'picture'


@dataclass(frozen=True, slots=True)
class Health:
    """The classifier's own diagnostics: a level (0 good, 1 warning, 2 error), words, values."""

    level: int = 0
    message: str = ''
    values: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class ClassifierView:
    """The shared picture. Not thread-safe: all calls come from one thread.

    Args:
        watch: called with a ViewPart after each change.
    """

    watch: Callable[[ViewPart], None] = lambda topic: None
    labels: LabelState = field(default_factory=LabelState)
    sight: StampedPrediction | None = None
    sights: OrderedDict[int, StampedPrediction] = field(default_factory=OrderedDict)
    health: Health = field(default_factory=Health)
    moments: RecentVectors = field(default_factory=RecentVectors)
    questions: QueryQueue = field(default_factory=QueryQueue)
    curve: LearningCurve = field(default_factory=LearningCurve)
    activity: ActivityLog = field(default_factory=ActivityLog)
    reachable: bool = False
    _taught: OrderedDict[tuple[object, ...], bool] = field(default_factory=OrderedDict)
    _actors: dict[EventKind, str] = field(default_factory=dict)
    _heard: float = float('-inf')
    _arrivals: deque[float] = field(default_factory=deque)

    def connection(self, now: float) -> Connection:
        """Tell whether the classifier is there; `now` in seconds on a steady clock."""
        if now - self._heard <= SILENCE:
            return Connection.LIVE
        return Connection.SILENT if self.reachable else Connection.ABSENT

    def rate(self, now: float) -> float:
        """Return the predictions a second."""
        while self._arrivals and now - self._arrivals[0] > RATE_WINDOW:
            self._arrivals.popleft()
        return len(self._arrivals) / RATE_WINDOW

    def on_moment(self, moment: StampedVector) -> None:
        """Take in a feature vector."""
        self.moments.add(moment)

    def on_sight(self, sight: StampedPrediction, now: float) -> None:
        """Take in a prediction."""
        self._heard = now
        self._arrivals.append(now)
        self.rate(now)
        self.sight = sight
        self.sights[sight.stamp] = sight
        if len(self.sights) > MAX_SIGHTS:
            self.sights.popitem(last=False)
        self.watch(ViewPart.SIGHT)

    def on_labels(self, labels: LabelState) -> None:
        """Take in the label set."""
        self.labels = labels
        if self.curve.note_labels(labels.names, labels.samples):
            self.watch(ViewPart.CURVE)
        self.watch(ViewPart.LABELS)

    def on_question(self, question: Query) -> None:
        """Take in a query; its moment is held until it is answered or long forgotten."""
        self.moments.hold(question.vector.stamp, question.vector)
        self.questions.add(question)
        self.watch(ViewPart.QUESTIONS)

    def on_health(self, health: Health, loss: float | None, now: float) -> None:
        """Take in the classifier's diagnostics.

        Args:
            health: as it says.
            loss: the rolling Hamming loss among the values, or None.
            now: seconds on a steady clock.
        """
        self._heard = now
        self.health = health
        if loss is not None and self.curve.add_loss(self.labels.samples, loss):
            self.watch(ViewPart.CURVE)
        self.watch(ViewPart.HEALTH)

    def on_taught(self, annotation: Annotation, echo: bool = True) -> None:
        """Note an annotation that the classifier has learnt; its question is settled.

        One's own annotation is heard of twice, by the answer of the service and by the
        classifier's announcement, in either order; right after a start the latter may be missed.

        Args:
            annotation: what was learnt.
            echo: whether the classifier announced it, and did not answer us.
        """
        key = (annotation.stamp, annotation.labels, annotation.absent, annotation.annotator)
        if self._taught.get(key) == (not echo):
            del self._taught[key]
            return
        self._taught[key] = echo
        if len(self._taught) > MAX_UNPAIRED:
            self._taught.popitem(last=False)
        said = describe(annotation.labels, annotation.absent, annotation.complete)
        self.note(annotation.annotator, f'taught {said}')
        self.settle(annotation.stamp)

    def expect(self, kind: EventKind, who: str) -> None:
        """Note who is about to change the model, since the announcement will not tell."""
        self._actors[kind] = who

    def on_event(self, event: Event) -> None:
        """Note a change of the model."""
        self.note(self._actors.pop(event.kind, ''), describe_event(event))

    def settle(self, stamp: int) -> None:
        """Take a question off the queue."""
        if self.questions.settle(stamp):
            self.watch(ViewPart.QUESTIONS)

    def note(self, who: str, text: str) -> None:
        """Note something that was done to the model."""
        self.activity.add(who, text)
        self.watch(ViewPart.ACTIVITY)
