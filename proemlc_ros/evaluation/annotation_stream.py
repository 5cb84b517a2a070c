# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The messages of bags as steps of an evaluation, validated and matched by the node's own rules.

Annotations come with their features and in blocks: learning a block gives the same model as
learning its samples one by one, and is much faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.classifier.matching import MatchingRules, PendingAnnotation, StampMatcher
from proemlc_ros.classifier.validation import ExpectedInput
from proemlc_ros.classifier.versioned_model import extractor_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError, cause_of
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector

# Annotations per block, at most: as many as the learner processes together.
BLOCK = 512
# Later than any message: settles everything that still waits.
_END = 2**63


@dataclass(frozen=True)
class AnnotationBlock:
    """Annotations with their features, in the order to be learnt in; one entry per annotation.

    Attributes:
        rows: Features, shape (n, d).
        labels: Names that are present.
        absent: Names that are absent.
        complete: Whether all other names are absent.
        times: When each could be learnt, in nanoseconds.
        extractor: What made the features; empty: not stated.
    """

    rows: NDArray[np.float32]
    labels: Sequence[tuple[str, ...]]
    absent: Sequence[tuple[str, ...]]
    complete: Sequence[bool]
    times: Sequence[int]
    extractor: str = ''

    @classmethod
    def of(cls, annotations: Sequence[Annotation], times: Sequence[int],
           extractor: str = '') -> AnnotationBlock:
        """Return a block of annotations that have their features."""
        return cls(np.array([said.features for said in annotations]),
                   [said.labels for said in annotations], [said.absent for said in annotations],
                   [said.complete for said in annotations], times, extractor)

    def __len__(self) -> int:
        """Return the number of annotations."""
        return len(self.labels)

    def learner_arguments(self) -> dict[str, Any]:
        """Return labels, absent and complete as the learner takes them, in the shortest form."""
        return {'labels': self.labels,
                'absent': self.absent if any(self.absent) else None,
                'complete': True if all(self.complete) else self.complete}

    def names(self) -> set[str]:
        """Return all names that occur."""
        return set(chain(*self.labels, *self.absent))

    def annotations(self) -> list[Annotation]:
        """Return the annotations one by one."""
        return [Annotation(0, *said) for said in zip(
            self.labels, self.absent, self.complete, self.rows, strict=True)]

    def part(self, place: int) -> AnnotationBlock:
        """Return a block of one of the annotations."""
        one = slice(place, place + 1)
        return AnnotationBlock(self.rows[one], self.labels[one], self.absent[one],
                               self.complete[one], self.times[one], self.extractor)


Step = AnnotationBlock | StampedVector | Event
"""What an evaluation does next: learn a block, predict a vector, or change the model."""


def causes_of(rejects: Mapping[str, int]) -> str:
    """Return for people how much was rejected, by cause."""
    return ', '.join(f'{count} {cause}' for cause, count in rejects.items()) or 'none'


class AnnotationStream:
    """Turns the messages of bags into steps.

    It follows what the model would know, since the model itself may be in another process.

    Args:
        rules: How annotations find their feature vectors.
        model: The model as it is before the stream; None: an empty one.
        yields_vectors: Whether every feature vector is a step of its own, to be predicted on
            arrival.

    Attributes:
        expected: Width, extractor and labels that the model expects.
        matcher: Finds the feature vectors of annotations.
        rejects: Numbers of rejected messages by cause.
        vectors: Number of feature vectors accepted.
    """

    def __init__(self, rules: MatchingRules | None = None, model: ProEMLC | None = None,
                 yields_vectors: bool = False) -> None:
        """Start with nothing waiting."""
        self.expected = ExpectedInput() if model is None else ExpectedInput(
            model.width, extractor_of(model), dict.fromkeys(model.labels))
        self.matcher = StampMatcher(rules)
        self.rejects: Counter[str] = Counter()
        self.vectors = 0
        self._yields_vectors = yields_vectors
        self._accepted: list[Annotation] = []
        self._times: list[int] = []

    def steps(self, messages: Iterable[tuple[int, BagRecord]]) -> Iterator[Step]:
        """Yield the steps of one bag.

        Args:
            messages: What the bag holds, with the time it was recorded at, in that order.
        """
        now = 0
        matcher = self.matcher
        for now, item in messages:
            if matcher.held:
                self._collect(matcher.expire(now), now)
            if isinstance(item, Annotation):
                pending = PendingAnnotation(item)
                if matcher.submit(pending, now):
                    self._collect((pending,), now)
            elif isinstance(item, Event):
                yield from self._block()
                yield item
                self._collect(self._follow(item), now)
            elif self._accepts(item):
                if self._yields_vectors:
                    yield from self._block()
                    yield item
                self._collect(matcher.add(item, now), now)
            if len(self._accepted) >= BLOCK:
                yield from self._block()
        self._collect(matcher.expire(_END), now)
        matcher.buffer.clear()
        yield from self._block()

    def take_over(self, other: AnnotationStream) -> None:
        """Continue where a copy of this stream, in another process, has stopped."""
        self.__dict__.update(other.__dict__)

    def _accepts(self, vector: StampedVector) -> bool:
        try:
            self.expected.accept_vector(vector)
        except ProEMLCError as error:
            self.rejects[cause_of(error)] += 1
            return False
        self.vectors += 1
        return True

    def _collect(self, settled: Iterable[PendingAnnotation], now: int) -> None:
        for pending in settled:
            try:
                if pending.error is not None:
                    raise pending.error
                self._accepted.append(self.expected.accept_annotation(pending.annotation))
                self._times.append(now)
            except ProEMLCError as error:
                self.rejects[cause_of(error)] += 1

    def _block(self) -> Iterator[AnnotationBlock]:
        if self._accepted:
            accepted, times, self._accepted, self._times = self._accepted, self._times, [], []
            yield AnnotationBlock.of(accepted, times, self.expected.extractor)

    def _follow(self, event: Event) -> list[PendingAnnotation]:
        """Know what the model knows after an event; return the annotations that it rejects."""
        self.matcher.objects.clear()
        if event.kind is EventKind.RESET:
            self.expected = ExpectedInput()
            return self.matcher.clear('model_replaced', 'the model was replaced')
        return []
