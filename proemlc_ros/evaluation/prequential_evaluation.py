# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Prequential evaluation: each annotation is first compared with the prediction, then learnt."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from heapq import heappush, heappushpop

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.classifier.classifier import LatencyWindow
from proemlc_ros.classifier.matching import MatchingRules
from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.core.compiled import Array
from proemlc_ros.core.labels import indicators
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics, ProbabilityMetrics
from proemlc_ros.errors import ProEMLCError, cause_of
from proemlc_ros.evaluation.annotation_stream import AnnotationBlock, AnnotationStream, Step
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.report import EvaluationResult, Mistake, label_results
from proemlc_ros.records import EventKind, StampedVector

# Predictions of a block that are timed one by one; of later blocks of a long bag, one.
_TIMED, _TIMED_UNTIL = 20, 5000
# Mistakes that a result keeps.
_MISTAKES = 24
# Samples up to which a model knows its own again: of others it takes less than 0.5 % for these.
_RECOGNISED = 20_000


class PrequentialEvaluation:
    """One run of a model over bags.

    Args:
        model: The classifier; it changes while it learns.
        learning: Whether it learns, or only predicts.
        rules: How annotations find their feature vectors.
        on_prediction: Called with every feature vector and its prediction on arrival.
        factory: Makes the learner after a reset, and one that fits the first features; None: the
            settings of the model stay.
        learnt: Digests of the samples that the model has learnt already; see digest_of().

    Attributes:
        model: The classifier as it is now.
        metrics: Of the predictions.
        latency: Durations of single predictions.
        stream: Turns messages into steps.
    """

    def __init__(
        self, model: ProEMLC, learning: bool = True, rules: MatchingRules | None = None,
        on_prediction: Callable[[StampedVector, Classification], None] | None = None,
        factory: LearnerFactory | None = None, learnt: Collection[bytes] = (),
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
        self._learnt = frozenset(learnt)
        # What tells the samples of a model without a journal; of large ones it is not certain.
        self._before = (model.copy() if not learnt and 0 < model.samples <= _RECOGNISED else None)
        self._learnt_before = 0
        self._mistakes: list[tuple[float, int, Mistake]] = []
        self.metrics = PrequentialMetrics()
        self._probabilities = ProbabilityMetrics()

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

    def take(self, step: Step) -> None:
        """Do one step."""
        if isinstance(step, AnnotationBlock):
            self._test_then_train(step)
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
            dict(self.rejects), notes + self._stamp_notes(),
            [mistake for _, _, mistake in sorted(self._mistakes, reverse=True)],
            self._learnt_before if self._learnt_before > self._chance() else 0)

    def _chance(self) -> float:
        """Return how many samples the model may seem to have learnt though it has not."""
        return 0 if self._before is None else max(1, self.metrics.samples / 20)

    def _test_then_train(self, block: AnnotationBlock) -> None:
        try:
            self._take_block(block)
        except ProEMLCError:
            # The model rejects a block as a whole and is as before; find the samples it means.
            for place in range(len(block)):
                try:
                    self._take_block(block.part(place))
                except ProEMLCError as error:
                    self._rejects[cause_of(error)] += 1

    def _take_block(self, block: AnnotationBlock) -> None:
        before = self._taken
        self.model = self._factory.fitted(self.model, block.extractor)
        if self.learning:
            found = self.model.test_then_train(block.rows, **block.learner_arguments())
            predicted, probabilities = found.labels, found.probabilities
        else:
            predicted = self.model.predict(block.rows)
            probabilities = self.model.probabilities(block.rows)
        self._add_probabilities(block, probabilities)
        self._add_mistakes(block, predicted, probabilities)
        if self._learnt:
            self._learnt_before += sum(digest_of(row) in self._learnt for row in block.rows)
        elif self._before is not None:
            self._learnt_before += self._before.count_learnt(
                block.rows, **block.learner_arguments())
        self._taken += len(block)
        if before >= self._next_timing:
            self._time_predictions(block.rows)
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

    def _add_mistakes(self, block: AnnotationBlock, predicted: Sequence[Sequence[str]],
                      probabilities: Array) -> None:
        """Keep the samples about which the model was surest, and wrong."""
        columns: dict[str, int] | None = None
        for place, (said, found) in enumerate(zip(block.labels, predicted, strict=True)):
            if len(said) == len(found) and {*said} == {*found}:
                continue
            columns = columns or {name: column for column, name in enumerate(self.model.labels)}
            # A label that nobody had shown yet could not be predicted.
            chances = {name: float(probabilities[place, columns[name]])
                       for name in (*said, *found) if name in columns}
            surprise = sum(1.0 - chances[name] for name in said
                           if name not in found and chances.get(name, 0.0) > 0.0)
            surprise += sum(chances[name] for name in found if name not in said and (
                block.complete[place] or name in block.absent[place]))
            if surprise:
                entry = (surprise, self._taken + place, Mistake(
                    block.times[place], tuple(said), tuple(found), surprise))
                (heappush if len(self._mistakes) < _MISTAKES else heappushpop)(
                    self._mistakes, entry)

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

    def _time_predictions(self, rows: NDArray[np.float32]) -> None:
        """Time single predictions, as a node makes them, by the model that has learnt the rows."""
        # Seldom in a long bag: each takes as long as learning several samples.
        most = _TIMED if self._taken <= _TIMED_UNTIL else 1
        for row in rows[::max(1, len(rows) // most)][:most]:
            start = time.perf_counter_ns()
            self.model.classify(row)
            self.latency.add(time.perf_counter_ns() - start)
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


def digest_of(row: NDArray[np.float32]) -> bytes:
    """Return what tells a sample from others, by its features."""
    return blake2b(np.asarray(row, np.float32).tobytes(), digest_size=16).digest()


def evaluate_bags(
    bags: BagSet, evaluation: PrequentialEvaluation, name: str, progress: Callable[[int], None],
) -> EvaluationResult:
    """Evaluate a model on bags.

    Args:
        bags: Bags to play.
        evaluation: The run, with its model.
        name: What distinguishes the run.
        progress: Called with the number of messages read since the last call.

    Raises:
        BagError: A bag cannot be read, or has nothing to compare predictions with.
    """
    notes: list[str] = []
    start = 0
    began = time.perf_counter()
    for path in bags.paths:
        steps = bags.steps(path, evaluation.stream, evaluation.on_prediction is None)
        for step, messages in steps:
            evaluation.take(step)
            progress(messages)
        start = start or steps.start
        notes += steps.notes
    return evaluation.result(name, start, time.perf_counter() - began, notes)
