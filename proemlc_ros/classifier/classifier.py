# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A whole classifier without ROS: what comes in is checked, classified, matched and taught."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from proemlc_ros.classifier.durable_model import DurableModel, Learnt
from proemlc_ros.classifier.learning_thread import LearningThread
from proemlc_ros.classifier.limits import RateLimit
from proemlc_ros.classifier.matching import Answer
from proemlc_ros.classifier.queries import QueryPolicy, QueryReason, nearest_distance
from proemlc_ros.classifier.records import Annotation, StampedVector
from proemlc_ros.classifier.snapshot_writer import SnapshotWriter
from proemlc_ros.classifier.statistics import Statistics
from proemlc_ros.classifier.validation import Validation, cause_of
from proemlc_ros.core.prediction import Classification
from proemlc_ros.errors import ProEMLCError

Done = Callable[[Annotation, 'Learnt | ProEMLCError'], None]


@dataclass(frozen=True, slots=True)
class VersionedPrediction:
    """What is said about one feature vector.

    Args:
        found: labels, scores and novelty.
        version: of the label set.
    """

    found: Classification
    version: int


@dataclass(frozen=True, slots=True)
class ClassifierQuestion:
    """A question to the operator about a moment."""

    moment: StampedVector
    verdict: VersionedPrediction
    reason: QueryReason
    distance: float


class Classifier:
    """Brings features, annotations, model, journal and snapshots together.

    Vectors and annotations are handed in by one thread at a time; teaching and writing snapshots
    happen in threads of their own.

    Args:
        session: the durable model.
        intake: the door.
        queries: when to ask the operator.
        capacity: annotations that may wait to be written.
        log: told about failures in the background, in words.
    """

    def __init__(self, session: DurableModel, intake: Validation, queries: QueryPolicy, capacity: int,
                 log: Callable[[str], None]) -> None:
        self.session = session
        self.intake = intake
        self.queries = queries
        self.statistics = Statistics()
        self.feature_rate = RateLimit(0)
        self.annotation_rate = RateLimit(0)
        self.teacher = LearningThread(session, capacity, log)
        self.snapshots = SnapshotWriter(session, log)
        self._door = threading.Lock()

    def classify(self, moment: StampedVector) -> VersionedPrediction:
        """Say what a vector shows, without keeping it.

        Raises:
            ProEMLCError: the vector is refused.
        """
        with self._door:
            self._follow_model()
            self.intake.check(moment)
        pupil = self.session.pupil
        found = pupil.classify(moment.data)
        return VersionedPrediction(found, pupil.version_for(found.names))

    def keep(self, moment: StampedVector) -> None:
        """Keep a classified vector for annotations to come, and teach those that waited for it."""
        with self._door:
            settled = self.intake.add(moment, time.monotonic_ns())
        self._pass_on(settled)

    def question(self, moment: StampedVector, verdict: VersionedPrediction) -> ClassifierQuestion | None:
        """Return a question to the operator where this moment is worth one."""
        rules = self.queries.rules
        if not rules.rate:
            return None
        found = verdict.found
        distance = float('inf')
        if found.novelty < rules.novelty and rules.margin:
            distance = nearest_distance(found.scores, found.threshold)
        reason = self.queries.consider(
            moment.stamp, time.monotonic_ns(), found.novelty, distance)
        if reason is None:
            return None
        self.statistics.queries += 1
        return ClassifierQuestion(moment, verdict, reason, distance)

    def annotate(self, annotation: Annotation, done: Done) -> None:
        """Take an annotation; it is answered once it is durable and learnt, or refused.

        Args:
            annotation: what was said.
            done: called once with the annotation and the answer, from any thread.
        """
        now = time.monotonic_ns()
        self.statistics.annotations.count()
        try:
            self.annotation_rate.check(now, 'annotations')
            with self._door:
                self._follow_model()
                answer = self.intake.annotate(
                    annotation, self.session.pupil.model.labels, now, done)
        except ProEMLCError as error:
            self._refuse(annotation, done, error)
            return
        if answer is not None:
            self._pass_on([answer])

    def expire(self) -> None:
        """Settle annotations whose time is up; call it regularly."""
        with self._door:
            settled = self.intake.expire(time.monotonic_ns())
        self._pass_on(settled)
        self.snapshots.consider()

    def forget_moments(self, cause: str, event: str) -> None:
        """Forget all buffered vectors and refuse what waits for one, for a cause, in words."""
        with self._door:
            refused = self.intake.matcher.clear(cause, event)
        self._pass_on(refused)

    def clock_jumped(self) -> None:
        """Forget all buffered vectors, since their stamps and those to come do not compare."""
        self.statistics.clock_jumps += 1
        self.forget_moments('clock_jump', 'the time jumped')

    @property
    def jumps(self) -> int:
        """How often the clock or the stamps of the vectors jumped and cleared the buffer."""
        return self.statistics.clock_jumps + self.intake.matcher.jumps

    def restart(self) -> None:
        """Follow a model that was replaced: other width, other extractor, empty buffer."""
        pupil = self.session.pupil
        with self._door:
            refused = self.intake.restart(pupil.model.width, pupil.extractor)
        self._pass_on(refused)

    def close(self) -> None:
        """Teach what waits, write a snapshot, close the journal, free the folder."""
        self.forget_moments('shutdown', 'the node was shut down')
        self.teacher.close()
        self.snapshots.close()
        try:
            self.session.journal.close()
        finally:
            self.session.directory.close()

    def _follow_model(self) -> None:
        pupil = self.session.pupil
        self.intake.extractor = pupil.extractor
        width = pupil.model.width
        if width is not None:
            self.intake.width = width

    def _pass_on(self, answers: list[Answer]) -> None:
        for answer in answers:
            if answer.error is not None:
                self._refuse(answer.annotation, answer.ticket, answer.error)
                continue
            try:
                self.teacher.teach(answer.annotation, self._counted(answer.ticket))
            except ProEMLCError as error:
                self._refuse(answer.annotation, answer.ticket, error)

    def _counted(self, done: Done) -> Done:
        def taught(annotation: Annotation, answer: Learnt | ProEMLCError) -> None:
            if isinstance(answer, Learnt):
                self.queries.settle(annotation.stamp)
                self.snapshots.consider()
                done(annotation, answer)
            else:
                self._refuse(annotation, done, answer)
        return taught

    def _refuse(self, annotation: Annotation, done: Done, error: ProEMLCError) -> None:
        self.statistics.reject(cause_of(error))
        done(annotation, error)
