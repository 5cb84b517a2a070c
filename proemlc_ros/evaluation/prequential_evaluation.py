# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Prequential evaluation of a model on bags: predict, compare, learn."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.classifier.statistics import LatencyWindow
from proemlc_ros.classifier.undo import UndoEntry
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.core.labels import indicators
from proemlc_ros.core.layer.hidden import HiddenLayer, HiddenRows
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.core.metrics.probabilities import ProbabilityMetrics
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.errors import ProEMLCError, cause_of
from proemlc_ros.evaluation.annotation_stream import AnnotationBlock, AnnotationStream, Step
from proemlc_ros.evaluation.results import EvaluationResult, label_results
from proemlc_ros.records import Event, EventKind, StampedVector

# Annotations that an event can undo, as in the node.
UNDO_DEPTH = 100


class _LearntBlock(NamedTuple):
    """A block, the number of samples before it, and the labels that each sample introduced."""

    before: int
    block: AnnotationBlock
    introduced: list[tuple[str, ...]]


# Predicted labels, labels present, those that count, and the time.
_Judgement = tuple[Iterable[str], Iterable[str], JudgedLabels, int]


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
        self._versioned = VersionedModel(model, UNDO_DEPTH, fitted=self._factory.fitted)
        self._rejects: Counter[str] = Counter()
        self._known: dict[str, None] = dict.fromkeys(model.labels)
        # Number of the sample from which on a single prediction is timed again.
        self._next_timing = 0
        self._recent: deque[_LearntBlock] = deque()
        self._taken = 0
        self._metrics = PrequentialMetrics()
        self._probabilities = ProbabilityMetrics()
        # The latest judgements: an annotation that is undone was not the truth.
        self._unsettled: deque[_Judgement] = deque()

    @property
    def metrics(self) -> PrequentialMetrics:
        """Metrics of the predictions; what is undone after this still counts."""
        self._settle(0)
        return self._metrics

    @property
    def model(self) -> ProEMLC:
        """The classifier as it is now."""
        return self._versioned.learner

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
        else:
            try:
                if self.learning:
                    self._repeat(step)
                self._follow_judgements(step)
            except ProEMLCError as error:
                self._rejects[cause_of(error)] += 1

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
        self._versioned.learner = self._factory.fitted(self.model, block.extractor)
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
        judged, introduced = self._judge(block)
        self._taken += len(block)
        self._unsettled.extend(zip(predicted, block.labels, judged, block.times, strict=True))
        self._settle(UNDO_DEPTH)
        if self.learning:
            self._recent.append(_LearntBlock(before, block, introduced))
            # The first block goes when those behind it suffice for undoing.
            while len(self._recent) > 1 and (
                    self._taken - self._recent[1].before >= UNDO_DEPTH):
                self._recent.popleft()

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

    def _settle(self, left: int) -> None:
        """Count all judgements except the latest ones."""
        count = len(self._unsettled) - left
        if count > 0:
            settled = [self._unsettled.popleft() for _ in range(count)]
            self._metrics.add_block(*zip(*settled, strict=True))

    def _follow_judgements(self, event: Event) -> None:
        if event.kind is EventKind.UNDO and self._unsettled:
            self._unsettled.pop()
        elif event.kind in (EventKind.RESET, EventKind.LOAD):
            self._settle(0)  # Nothing before it can be undone.

    def _judge(self, block: AnnotationBlock) -> tuple[list[JudgedLabels], list[tuple[str, ...]]]:
        """Return which labels each annotation judges, and which it introduces."""
        if all(block.complete) and block.names() <= self._known.keys():
            return [JudgedLabels(None, len(self._known))] * len(block), [()] * len(block)
        judged, introduced = [], []
        for labels, absent, complete in zip(
                block.labels, block.absent, block.complete, strict=True):
            judged.append(JudgedLabels.by_annotation(labels, absent, complete, self._known))
            new: tuple[str, ...] = ()
            if self.learning:
                named = labels if complete else labels + absent
                new = tuple([name for name in named if name not in self._known])
                self._known.update(dict.fromkeys(new))
            introduced.append(new)
        return judged, introduced

    def _time_prediction(self, row: NDArray[np.float32]) -> None:
        start = time.perf_counter_ns()
        self.model.classify(row)
        self.latency.add(time.perf_counter_ns() - start)
        # Seldom in a long bag: it takes as long as learning several samples.
        self._next_timing = self._taken + min(self._taken // 8, 1000)

    def _repeat(self, event: Event) -> None:
        """Repeat a change of the model that was made when the bag was recorded."""
        self._fill_undo_stack()
        model = self._versioned
        if event.kind is EventKind.UNDO:
            # A bag has no journal to build the model again from, so nearly must do.
            model.undo(model.unlearnt(exact=False))
        elif event.kind is EventKind.RENAME:
            model.rename(event.label, event.new_label)
        elif event.kind is EventKind.REMOVE:
            model.remove(event.label)
        elif event.kind is EventKind.RESET:
            model.replace(self._factory())
        elif event.kind is not EventKind.RENEW:  # It changes no sample, and settings are given.
            self._rejects['missing_model_file' if event.kind is EventKind.LOAD
                          else f'not_repeated_{event.kind.name.lower()}'] += 1
        self._known = dict.fromkeys(self.model.labels)

    def _fill_undo_stack(self) -> None:
        """Add the samples learnt since the last event; only events need them."""
        for before, block, introduced in self._recent:
            for number, (said, new) in enumerate(
                    zip(block.annotations(), introduced, strict=True), before + 1):
                self._versioned.undo_stack.push(UndoEntry(number, said, new))
        self._recent.clear()

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
