# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Plays what recordings teach to a model, through the node's own door, and measures how it fares.

Matching, checks and events are the node's code. Only the learning is done in blocks, which gives
the same and keeps up with the reading.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from proemlc_ros.bags.sources import Taught
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.teaching.events import Event, EventKind
from proemlc_ros.teaching.intake import Intake, cause_of
from proemlc_ros.teaching.lessons import Lesson
from proemlc_ros.teaching.matching import Answer, MatchingRules
from proemlc_ros.teaching.moments import Annotation, Moment
from proemlc_ros.teaching.pupil import Pupil
from proemlc_ros.teaching.statistics import LatencyWindow

from .outcomes import OutcomeTally

# Annotations learnt together.
BLOCK = 128
# Later than any event: settles everything that still waits.
_END = 2**63


class Replay:
    """One run of a model over recordings.

    Args:
        model: The classifier; it changes while it learns.
        learning: Whether it learns on, or only predicts.
        rules: How annotations find their feature vectors.
        on_prediction: Called with every feature vector and what the model said on its arrival.

    Attributes:
        tally: The measures.
        vectors: Number of feature vectors accepted.
        rejects: Numbers of what was refused, by cause.
        latency: Durations of single predictions.

    """

    def __init__(
        self, model: ProEMLC, learning: bool = True, rules: MatchingRules | None = None,
        on_prediction: Callable[[Moment, Classification], None] | None = None,
    ) -> None:
        """Start with empty buffers."""
        extractor = str(model.extra.get('extractor', ''))
        self.pupil = Pupil(model)
        self.pupil.extractor = extractor
        self.intake = Intake(rules=rules, width=model.width, extractor=extractor)
        self.learning = learning
        self.on_prediction = on_prediction
        self.tally = OutcomeTally()
        self.vectors = 0
        self.rejects: Counter[str] = Counter()
        self.latency = LatencyWindow()
        self._waiting: list[tuple[Annotation, int]] = []
        self._known: dict[str, None] = dict.fromkeys(model.labels)

    @property
    def model(self) -> ProEMLC:
        """The classifier as it is now."""
        return self.pupil.model

    def play(self, stream: Iterable[tuple[int, Taught]]) -> None:
        """Play one recording to its end; what is learnt stays for the next one.

        Args:
            stream: What the recording teaches, with the time it was recorded at.

        """
        now = 0
        matcher = self.intake.matcher
        for now, item in stream:
            if matcher.held:
                self._learn(self.intake.expire(now), now)
            try:
                if isinstance(item, Moment):
                    self._see(item, now)
                elif isinstance(item, Annotation):
                    answer = self.intake.annotate(item, self._known, now)
                    self._learn([answer] if answer else [], now)
                else:
                    self._change(item)
            except ProEMLCError as error:
                self.rejects[cause_of(error)] += 1
        self._learn(self.intake.expire(_END), now)
        matcher.clear()
        self.flush()

    def _see(self, moment: Moment, now: int) -> None:
        self.intake.check(moment)
        self.vectors += 1
        if self.on_prediction is not None:
            self.flush()
            self.on_prediction(moment, self.model.classify(moment.data))
        self._learn(self.intake.add(moment, now), now)

    def _learn(self, answers: Iterable[Answer], now: int) -> None:
        for answer in answers:
            if answer.error is not None:
                self.rejects[cause_of(answer.error)] += 1
                continue
            said = answer.annotation
            if not self.intake.extractor:
                self.pupil.extractor = self.intake.extractor = said.extractor
            self._waiting.append((said, now))
            if len(self._waiting) >= BLOCK:
                self.flush()

    def flush(self) -> None:
        """Judge and learn what has been collected."""
        block, self._waiting = self._waiting, []
        if not block:
            return
        try:
            self._take(block)
        except ProEMLCError:
            # The model refuses a block as a whole and is as before; find out whom it means.
            for one in block:
                try:
                    self._take([one])
                except ProEMLCError as error:
                    self.rejects[cause_of(error)] += 1

    def _take(self, block: list[tuple[Annotation, int]]) -> None:
        said, times = zip(*block, strict=True)
        rows = np.stack([one.features for one in said])
        self._time_one(rows[0])
        predicted = self._test_then_train(rows, said) if self.learning else (
            self.model.predict(rows))
        for guess, one, moment in zip(predicted, said, times, strict=True):
            self.tally.add(guess, one, self._known, moment)
            if self.learning:
                self._remember(one)

    def _test_then_train(
        self, rows: np.ndarray, said: tuple[Annotation, ...]
    ) -> list[tuple[str, ...]]:
        return self.model.test_then_train(
            rows, [one.labels for one in said], absent=[one.absent for one in said],
            complete=[one.complete for one in said]).labels

    def _remember(self, said: Annotation) -> None:
        named = said.labels if said.complete else said.labels + said.absent
        new = tuple(name for name in named if name not in self._known)
        self._known.update(dict.fromkeys(new))
        self.pupil.lessons.push(Lesson(self.tally.samples, said, new))

    def _time_one(self, row: np.ndarray) -> None:
        start = time.perf_counter_ns()
        self.model.classify(row)
        self.latency.add(time.perf_counter_ns() - start)

    def _change(self, event: Event) -> None:
        """Repeat what was done to the model when the recording was made."""
        self.flush()
        if not self.learning:
            return
        if event.kind is EventKind.UNDO:
            self.pupil.undo()
        elif event.kind is EventKind.RENAME:
            self.pupil.rename(event.label, event.new_label)
        elif event.kind is EventKind.REMOVE:
            self.pupil.remove(event.label)
        elif event.kind is EventKind.RESET:
            self.pupil.adopt(ProEMLC(**self.model.options.as_dict()), '')
            self.intake.restart(self.model.width, '')
        else:
            self.rejects['model_file_of_another_place'] += 1
        self._known = dict.fromkeys(self.model.labels)
