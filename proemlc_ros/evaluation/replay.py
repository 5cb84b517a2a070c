# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Plays what recordings teach to a model and measures how it fares: test, then train."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.classifier.records import Event, StampedVector
from proemlc_ros.classifier.statistics import LatencyWindow
from proemlc_ros.classifier.undo import UndoEntry
from proemlc_ros.classifier.validation import ExpectedInput
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.errors import ProEMLCError, cause_of
from proemlc_ros.evaluation.steps import AnnotationBlock, Step, Steps

# Lessons that an event can take back, as in the node.
UNDO_DEPTH = 100


class Replay:
    """One run of a model over recordings.

    Args:
        model: The classifier; it changes while it learns.
        learning: Whether it learns on, or only predicts.
        rules: How annotations find their feature vectors.
        on_prediction: Called with every feature vector and what the model said on its arrival.

    Attributes:
        tally: The measures.
        rejects: Numbers of what was refused, by cause.
        latency: Durations of single predictions.

    """

    def __init__(
        self, model: ProEMLC, learning: bool = True, rules: MatchingRules | None = None,
        on_prediction: Callable[[StampedVector, Classification], None] | None = None,
    ) -> None:
        """Start with empty buffers."""
        self.versioned = VersionedModel(model, UNDO_DEPTH)
        self.learning = learning
        self.on_prediction = on_prediction
        self.tally = PrequentialMetrics()
        self.latency = LatencyWindow()
        self.rejects: Counter[str] = Counter()
        expected = ExpectedInput(model.width, self.versioned.extractor,
                                 dict.fromkeys(model.labels))
        self.steps = Steps(expected, rules, on_prediction is not None)
        self._known: dict[str, None] = dict.fromkeys(model.labels)
        # Number of the sample from which on a single prediction is timed again.
        self._next_timing = 0
        # The last blocks learnt, with the number of samples before each and the labels that each
        # sample introduced.
        self._recent: deque[tuple[int, AnnotationBlock, list[tuple[str, ...]]]] = deque()

    @property
    def model(self) -> ProEMLC:
        """The classifier as it is now."""
        return self.versioned.learner

    @property
    def vectors(self) -> int:
        """Number of feature vectors accepted."""
        return self.steps.vectors_seen

    @property
    def all_rejects(self) -> Counter[str]:
        """Numbers of what the door and the model refused, by cause."""
        return self.rejects + self.steps.rejects

    def play(self, stream: Iterable[tuple[int, BagRecord]]) -> None:
        """Play one recording to its end; what is learnt stays for the next one.

        Args:
            stream: What the recording teaches, with the time it was recorded at.

        """
        for step in self.steps.of(stream):
            self.take(step)

    def take(self, step: Step) -> None:
        """Do one step."""
        if isinstance(step, AnnotationBlock):
            self._judge_and_learn(step)
        elif isinstance(step, StampedVector):
            if self.on_prediction is not None:
                self.on_prediction(step, self.model.classify(step.data))
        elif self.learning:
            try:
                self._change(step)
            except ProEMLCError as error:
                self.rejects[cause_of(error)] += 1

    def _judge_and_learn(self, block: AnnotationBlock) -> None:
        try:
            self._take_block(block)
        except ProEMLCError:
            # The model refuses a block as a whole and is as before; find out whom it means.
            for place in range(len(block)):
                try:
                    self._take_block(block.part(place))
                except ProEMLCError as error:
                    self.rejects[cause_of(error)] += 1

    def _take_block(self, block: AnnotationBlock) -> None:
        rows = block.rows
        if self.tally.samples >= self._next_timing:
            self._time_one(rows[0])
        if not self.learning:
            predicted = self.model.predict(rows)
        else:
            predicted = self.model.test_then_train(rows, **block.statements()).labels
        questions, new = self._meet(block)
        self.tally.add_block(predicted, block.labels, questions, block.times)
        if self.learning:
            self._recent.append((self.tally.samples - len(block), block, new))
            # The first goes when those behind it suffice.
            while len(self._recent) > 1 and (
                    self.tally.samples - self._recent[1][0] >= UNDO_DEPTH):
                self._recent.popleft()

    def _meet(self, block: AnnotationBlock) -> tuple[list[JudgedLabels], list[tuple[str, ...]]]:
        """Return what each annotation decides upon, and which labels it introduces."""
        if all(block.complete) and block.names() <= self._known.keys():
            return [JudgedLabels(None, len(self._known))] * len(block), [()] * len(block)
        questions, introduced = [], []
        for labels, absent, complete in zip(
                block.labels, block.absent, block.complete, strict=True):
            questions.append(JudgedLabels.by_annotation(labels, absent, complete, self._known))
            new: tuple[str, ...] = ()
            if self.learning:
                named = labels if complete else labels + absent
                new = tuple([name for name in named if name not in self._known])
                self._known.update(dict.fromkeys(new))
            introduced.append(new)
        return questions, introduced

    def _remember(self) -> None:
        """Make lessons of the samples learnt since the last event; only events ask for them."""
        for before, block, introduced in self._recent:
            for number, (said, new) in enumerate(
                    zip(block.annotations(), introduced, strict=True), before + 1):
                self.versioned.undo_stack.push(UndoEntry(number, said, new))
        self._recent.clear()

    def _time_one(self, row: object) -> None:
        start = time.perf_counter_ns()
        self.model.classify(row)
        self.latency.add(time.perf_counter_ns() - start)
        # Seldom in a long recording: it takes as long as learning several samples.
        self._next_timing = self.tally.samples + min(self.tally.samples // 8, 1000)

    def _change(self, event: Event) -> None:
        """Repeat what was done to the model when the recording was made."""
        self._remember()
        if not self.versioned.repeat(event, lambda: ProEMLC(**self.model.options.as_dict())):
            self.rejects['model_file_of_another_place'] += 1
        self._known = dict.fromkeys(self.model.labels)
