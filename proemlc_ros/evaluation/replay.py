# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Plays what recordings teach to a model, with the node's own rules, and measures how it fares."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from proemlc_ros.bags.sources import Taught
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.errors import RejectedError
from proemlc_ros.teaching.events import Event
from proemlc_ros.teaching.limits import Limits, check_extractor
from proemlc_ros.teaching.matching import Answer, MatchingRules, StampMatcher
from proemlc_ros.teaching.moments import Annotation, Moment
from proemlc_ros.teaching.statistics import LatencyWindow

from .outcomes import OutcomeTally

# Annotations learnt together, which is much faster than one by one and gives the same.
BLOCK = 128
# Later than any event: settles everything that still waits.
_END = 2**63


@dataclass
class Replay:
    """One run of a model over recordings.

    Attributes:
        model: The classifier; it changes while it learns.
        learning: Whether it learns on, or only predicts.
        rules: How annotations find their feature vectors.
        limits: What messages may contain.
        extractor: What made the features that the model has learnt from; empty: not known.
        on_prediction: Called with every feature vector and what the model said on its arrival.
        tally: The measures.
        vectors: Number of feature vectors accepted.
        rejects: Numbers of what was refused, by cause.
        latency: Durations of single predictions.

    """

    model: ProEMLC
    learning: bool = True
    rules: MatchingRules = field(default_factory=MatchingRules)
    limits: Limits = field(default_factory=Limits)
    extractor: str = ''
    on_prediction: Callable[[Moment, Classification], None] | None = None
    tally: OutcomeTally = field(default_factory=OutcomeTally)
    vectors: int = 0
    rejects: Counter[str] = field(default_factory=Counter)
    latency: LatencyWindow = field(default_factory=LatencyWindow)

    def __post_init__(self) -> None:
        """Start with empty buffers."""
        self.matcher = StampMatcher(self.rules)
        self._width = self.model.width
        self._waiting: list[tuple[Annotation, int]] = []
        self._known: dict[str, None] = dict.fromkeys(self.model.labels)

    def play(self, stream: Iterable[tuple[int, Taught]]) -> None:
        """Play one recording to its end; what is learnt stays for the next one.

        Args:
            stream: What the recording teaches, with the time it was recorded at.

        """
        now = 0
        for now, item in stream:  # noqa: B007
            if self.matcher.held:
                self._learn_answers(self.matcher.expire(now), now)
            try:
                if isinstance(item, Moment):
                    self._see(item, now)
                elif isinstance(item, Annotation):
                    self._hear(item, now)
                else:
                    self._change(item)
            except RejectedError as error:
                self.rejects[error.cause] += 1
        self._learn_answers(self.matcher.expire(_END), now)
        self.matcher.clear()
        self.flush()

    def _see(self, moment: Moment, now: int) -> None:
        self._check(moment)
        self.vectors += 1
        if self.on_prediction is not None:
            self.flush()
            self.on_prediction(moment, self.model.classify(moment.data))
        self._learn_answers(self.matcher.add(moment, now), now)

    def _hear(self, annotation: Annotation, now: int) -> None:
        self.limits.check_annotation(annotation, self._known)
        if annotation.features is not None:
            self._check(Moment(annotation.stamp, annotation.features, annotation.extractor))
        answer = self.matcher.submit(annotation, now)
        if answer is not None:
            self._learn_answers([answer], now)

    def _check(self, moment: Moment) -> None:
        self.limits.check_vector(moment.data, self._width)
        check_extractor(moment.extractor, self.extractor)
        self._width = moment.data.size
        self.extractor = self.extractor or moment.extractor

    def _learn_answers(self, answers: Iterable[Answer], now: int) -> None:
        for answer in answers:
            if answer.error is not None:
                self.rejects[answer.error.cause] += 1
                continue
            self._waiting.append((answer.annotation, now))
            if len(self._waiting) >= BLOCK:
                self.flush()

    def flush(self) -> None:
        """Judge and learn what has been collected."""
        if not self._waiting:
            return
        said, times = zip(*self._waiting, strict=True)
        self._waiting = []
        rows = np.stack([one.features for one in said])
        self._time_one(rows[0])
        if self.learning:
            predicted = self.model.test_then_train(
                rows, [one.labels for one in said], absent=[one.absent for one in said],
                complete=[one.complete for one in said]).labels
        else:
            predicted = self.model.predict(rows)
        for guess, one, moment in zip(predicted, said, times, strict=True):
            self.tally.add(guess, one, self._known, moment)
            if self.learning:
                self._known.update(dict.fromkeys(one.labels))
                if not one.complete:
                    self._known.update(dict.fromkeys(one.absent))

    def _time_one(self, row: np.ndarray) -> None:
        start = time.perf_counter_ns()
        self.model.classify(row)
        self.latency.add(time.perf_counter_ns() - start)

    def _change(self, event: Event) -> None:
        self.flush()
        # The names of a model that changed otherwise than by learning have to be read anew.
        self._known = dict.fromkeys(self.model.labels)
