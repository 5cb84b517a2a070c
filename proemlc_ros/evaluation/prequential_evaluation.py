# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Prequential evaluation of a model on bags: predict, compare, learn."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.classifier.statistics import LatencyWindow
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.core.labels import indicators
from proemlc_ros.core.layer.hidden import HiddenLayer, HiddenRows
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.core.metrics.probabilities import ProbabilityMetrics
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.errors import ProEMLCError, cause_of
from proemlc_ros.evaluation.annotation_stream import AnnotationBlock, AnnotationStream, Step
from proemlc_ros.evaluation.results import EvaluationResult, label_results
from proemlc_ros.records import EventKind, StampedVector


class PrequentialEvaluation:
    """One run of a model over bags.

    Args:
        model: The classifier; it changes while it learns.
        learning: Whether it learns, or only predicts.
        rules: How annotations find their feature vectors.
        on_prediction: Called with every feature vector and its prediction on arrival.
        factory: Makes the learner after a reset, and one that fits the first features; None: the
            settings of the model stay.

    Attributes:
        model: The classifier as it is now.
        metrics: Of the predictions.
        latency: Durations of single predictions.
        stream: Turns messages into steps.

    """

    def __init__(
        self, model: ProEMLC, learning: bool = True, rules: MatchingRules | None = None,
        on_prediction: Callable[[StampedVector, Classification], None] | None = None,
        factory: LearnerFactory | None = None,
    ) -> None:
        """Start with empty buffers."""
        self.learning = learning
        self.on_prediction = on_prediction
        self.latency = LatencyWindow()
        self.stream = AnnotationStream(rules, model, on_prediction is not None)
        self._factory = factory or LearnerFactory(model.options.as_dict())
        self.model = model
        self._rejects: Counter[str] = Counter()
        self._known: dict[str, None] = dict.fromkeys(model.labels)
        # Number of the sample from which on a single prediction is timed again.
        self._next_timing = 0
        self._taken = 0
        self.metrics = PrequentialMetrics()
        self._probabilities = ProbabilityMetrics()

    @property
    def layer(self) -> HiddenLayer | None:
        """The hidden layer that the next block is learnt with; None: none, or it may change."""
        return None if self.model.warming_up or not self.learning else self.model.layer

    @property
    def rejects(self) -> Counter[str]:
        """Numbers of what validation and model rejected, by cause."""
        return self._rejects + self.stream.rejects

    def play(self, messages: Iterable[tuple[int, BagRecord]]) -> None:
        """Play one bag to its end; the model keeps what it has learnt for the next one.

        Args:
            messages: What the bag holds, with the time it was recorded at.

        """
        for step in self.stream.steps(messages):
            self.take(step)

    def take(self, step: Step, hidden: HiddenRows | None = None) -> None:
        """Do one step; hidden: the hidden rows of a block, where they are known."""
        if isinstance(step, AnnotationBlock):
            self._test_then_train(step, hidden)
        elif isinstance(step, StampedVector):
            if self.on_prediction is not None:
                self.on_prediction(step, self.model.classify(step.data))
        elif step.kind is EventKind.LOAD:
            self._rejects['missing_model_file'] += 1
        elif step.kind is EventKind.RESET and self.learning:
            self.model = self._factory()
            self._known = {}

    def result(self, name: str, start: int, seconds: float, notes: list[str]) -> EvaluationResult:
        """Return the result of the run.

        Args:
            name: What distinguishes the run.
            start: Beginning of the first bag in nanoseconds.
            seconds: Duration of the run.
            notes: Defects of the bags.

        """
        metrics = self.metrics
        p50, p95 = self.latency.percentiles((50, 95))
        return EvaluationResult(
            name, self.model.options.as_dict(), self.learning, metrics.samples,
            self.stream.vectors, seconds,
            metrics.values() | self._probabilities.values(), label_results(metrics, start),
            {label: dict(counts.mistaken_for) for label, counts in metrics.labels.items()
             if counts.mistaken_for},
            metrics.curve.points(), {'p50': p50, 'p95': p95} if metrics.samples else {},
            dict(self.rejects), notes + self._stamp_notes())

    def _test_then_train(self, block: AnnotationBlock, hidden: HiddenRows | None) -> None:
        try:
            self._take_block(block, hidden)
        except ProEMLCError:
            # The model rejects a block as a whole and is as before; find the samples it means.
            for place in range(len(block)):
                try:
                    self._take_block(block.part(place))
                except ProEMLCError as error:
                    self._rejects[cause_of(error)] += 1

    def _take_block(self, block: AnnotationBlock, hidden: HiddenRows | None = None) -> None:
        before = self._taken
        self.model = self._factory.fitted(self.model, block.extractor)
        if before >= self._next_timing:
            self._time_prediction(block.rows[0])
        if self.learning:
            found = self.model.test_then_train(block.rows, **block.learner_arguments(),
                                               hidden=hidden)
            predicted, probabilities = found.labels, found.probabilities
        else:
            predicted = self.model.predict(block.rows)
            probabilities = self.model.probabilities(block.rows)
        self._add_probabilities(block, probabilities)
        self._taken += len(block)
        self.metrics.add_block(predicted, block.labels, self._judge(block), block.times)

    def _add_probabilities(self, block: AnnotationBlock, probabilities: Array) -> None:
        """Count how likely known labels were said to be."""
        columns = {name: column for column, name in enumerate(self.model.labels)}
        shape = probabilities.shape
        if block.names() <= columns.keys():
            present, named = (indicators(names, columns, shape[1])
                              for names in (block.labels, block.absent))
        else:
            present, named = (indicators([[name for name in row if name in columns]
                                          for row in names], columns, shape[1])
                              for names in (block.labels, block.absent))
        judged = present | named | np.array(block.complete)[:, np.newaxis]
        # A label that was not known, or not shown by then, has no probability.
        self._probabilities.add(probabilities, present, judged & (probabilities > 0.0))

    def _judge(self, block: AnnotationBlock) -> list[JudgedLabels]:
        """Return which labels each annotation judges."""
        if all(block.complete) and block.names() <= self._known.keys():
            return [JudgedLabels(None, len(self._known))] * len(block)
        judged = []
        for labels, absent, complete in zip(
                block.labels, block.absent, block.complete, strict=True):
            judged.append(JudgedLabels.by_annotation(labels, absent, complete, self._known))
            if self.learning:
                self._known.update(dict.fromkeys(labels if complete else labels + absent))
        return judged

    def _time_prediction(self, row: NDArray[np.float32]) -> None:
        start = time.perf_counter_ns()
        self.model.classify(row)
        self.latency.add(time.perf_counter_ns() - start)
        # Seldom in a long bag: it takes as long as learning several samples.
        self._next_timing = self._taken + min(self._taken // 8, 1000)

    def _stamp_notes(self) -> list[str]:
        notes = []
        buffer = self.stream.matcher.buffer
        if buffer.duplicates:
            notes.append(f'{buffer.duplicates} feature vectors had the stamp of another one; '
                         'the later one counted')
        if buffer.jumps:
            notes.append(f'{buffer.jumps} times the stamps jumped back by more than '
                         f'{buffer.rules.reorder:g} s; annotations could not reach across')
        return notes
