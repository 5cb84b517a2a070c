# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From what a recording says to what a model is to do, through the node's own door.

Annotations come out with their features and in blocks: learning a block gives the same as learning
its samples one by one, and is much faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.classifier.matching import PendingAnnotation, StampMatcher
from proemlc_ros.classifier.records import Annotation, Event, EventKind, StampedVector, Vector
from proemlc_ros.classifier.validation import ExpectedInput
from proemlc_ros.errors import ProEMLCError, cause_of

# Annotations in a block, at most: as many as the learner notes together.
BLOCK = 512
# Later than any event: settles everything that still waits.
_END = 2**63


@dataclass
class AnnotationBlock:
    """Annotations in the order to be learnt in, each with its features; one entry each.

    Attributes:
        features: The values.
        labels: Names that are present.
        absent: Names that are absent.
        complete: Whether all other names are absent.
        times: When each could be learnt, in nanoseconds.

    """

    features: Sequence[Vector] | np.ndarray = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    absent: list[tuple[str, ...]] = field(default_factory=list)
    complete: list[bool] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of annotations."""
        return len(self.labels)

    def __getstate__(self) -> tuple[object, ...]:
        """Travel between processes with the values in one piece."""
        return self.rows, self.labels, self.absent, self.complete, self.times

    def __setstate__(self, state: tuple[object, ...]) -> None:
        """Arrive from another process."""
        rows, self.labels, self.absent, self.complete, self.times = state
        # An empty block may still be filled.
        self.features = rows if self.labels else []

    @property
    def rows(self) -> np.ndarray:
        """The features, one row an annotation."""
        return np.asarray(self.features)

    def statements(self) -> dict[str, Any]:
        """Return labels, absent and complete as the learner takes them, in the shortest way."""
        return {'labels': self.labels,
                'absent': self.absent if any(self.absent) else None,
                'complete': True if all(self.complete) else self.complete}

    def names(self) -> set[str]:
        """Return all names that occur."""
        return set(chain(*self.labels, *self.absent))

    def annotations(self) -> list[Annotation]:
        """Return each annotation as a whole."""
        return [Annotation(0, *said) for said in zip(
            self.labels, self.absent, self.complete, self.features, strict=True)]

    def part(self, place: int) -> AnnotationBlock:
        """Return a block with one annotation."""
        return AnnotationBlock(self.features[place:place + 1], self.labels[place:place + 1],
                     self.absent[place:place + 1], self.complete[place:place + 1],
                     self.times[place:place + 1])

    def append(self, said: Annotation, time: int) -> None:
        """Add an annotation that has its features."""
        self.features.append(said.features)
        self.labels.append(said.labels)
        self.absent.append(said.absent)
        self.complete.append(said.complete)
        self.times.append(time)


Step = AnnotationBlock | StampedVector | Event


class Steps:
    """Takes bags in and gives out steps.

    Args:
        expected: What the model expects; it follows the stream.
        rules: How annotations find their feature vectors.
        vectors: Whether every feature vector is a step of its own, to be predicted on arrival.

    Attributes:
        rejects: Numbers of what was refused, by cause.
        vectors_seen: Number of feature vectors accepted.

    """

    def __init__(self, expected: ExpectedInput, rules: MatchingRules | None = None,
                 vectors: bool = False) -> None:
        """Start with nothing waiting."""
        self.expected = expected
        self.matcher = StampMatcher(rules)
        self.vectors = vectors
        self.rejects: Counter[str] = Counter()
        self.vectors_seen = 0
        self._block = AnnotationBlock()

    def of(self, stream: Iterable[tuple[int, BagRecord]]) -> Iterator[Step]:
        """Yield the steps of one recording, from what it says and when."""
        now = 0
        matcher = self.matcher
        for now, item in stream:
            if matcher.held:
                self._collect(matcher.expire(now), now)
            if isinstance(item, Event) or (self.vectors and isinstance(item, StampedVector)):
                yield from self._emptied()
            try:
                if isinstance(item, StampedVector):
                    self.expected.accept_vector(item)
                    self.vectors_seen += 1
                    if self.vectors:
                        yield item
                    self._collect(matcher.add(item, now), now)
                elif isinstance(item, Annotation):
                    pending = PendingAnnotation(item)
                    if matcher.submit(pending, now):
                        self._collect((pending,), now)
                else:
                    self._follow(item)
                    yield item
            except ProEMLCError as error:
                self.rejects[cause_of(error)] += 1
            if len(self._block.labels) >= BLOCK:
                yield from self._emptied()
        self._collect(matcher.expire(_END), now)
        matcher.buffer.clear()
        yield from self._emptied()

    def take_over(self, other: Steps) -> None:
        """Go on where steps in another process, begun from these, have stopped."""
        self.__dict__.update(other.__dict__)

    def _collect(self, settled: Iterable[PendingAnnotation], now: int) -> None:
        for pending in settled:
            try:
                if pending.error is not None:
                    raise pending.error
                self._block.append(self.expected.accept_annotation(pending.annotation), now)
            except ProEMLCError as error:
                self.rejects[cause_of(error)] += 1

    def _emptied(self) -> Iterator[Step]:
        if len(self._block):
            block, self._block = self._block, AnnotationBlock()
            yield block

    def _follow(self, event: Event) -> None:
        """Keep up with the labels that there are."""
        known = self.expected.known
        if event.kind is EventKind.RENAME and event.label in known:
            del known[event.label]
            known[event.new_label] = None
        elif event.kind is EventKind.REMOVE:
            known.pop(event.label, None)
        elif event.kind is EventKind.RESET:
            self.expected = ExpectedInput(limits=self.expected.limits)
            self.matcher.clear('model_replaced', 'the model was replaced')
