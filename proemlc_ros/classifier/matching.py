# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the feature vector that an annotation is about, by its stamp.

The matcher knows no clock: every event brings its own time, so that a live node and a replayed bag
take the same decisions from the same events.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from proemlc_ros.classifier.buffer import MatchingRules, VectorBuffer
from proemlc_ros.classifier.records import NANOSECONDS, Annotation, StampedVector
from proemlc_ros.errors import UnmatchedAnnotationError


@dataclass(slots=True, eq=False)
class Held:
    """An annotation that waits for its feature vector.

    Args:
        annotation: what was said.
        deadline: nanoseconds on the clock of the events.
        ticket: whatever the caller wants back with the answer.
    """

    annotation: Annotation
    deadline: int
    ticket: object = None


@dataclass(slots=True, eq=False)
class Answer:
    """How an annotation fared: the annotation with its features, or the reason why not."""

    annotation: Annotation
    ticket: object = None
    error: UnmatchedAnnotationError | None = None


class StampMatcher:
    """A bounded buffer of feature vectors by stamp, and the annotations that wait for one.

    >>> import numpy as np
    >>> matcher = StampMatcher(MatchingRules(tolerance=0.1))
    >>> matcher.add(StampedVector(5_000_000_000, np.ones(2, np.float32)), now=0)
    []
    >>> answer = matcher.submit(Annotation(5_050_000_000, ('cup',)), now=0)
    >>> answer is None      # a nearer vector may still come
    True
    >>> [found] = matcher.add(StampedVector(5_200_000_000, np.zeros(2, np.float32)), now=1)
    >>> found.annotation.stamp
    5000000000
    """

    def __init__(self, rules: MatchingRules | None = None) -> None:
        self.rules = rules or MatchingRules()
        self.buffer = VectorBuffer(self.rules)
        self._held: deque[Held] = deque()

    @property
    def held(self) -> int:
        """How many annotations wait for their feature vector."""
        return len(self._held)

    @property
    def jumps(self) -> int:
        """How often the stamps jumped back."""
        return self.buffer.jumps

    @property
    def duplicates(self) -> int:
        """How many vectors had the stamp of another one."""
        return self.buffer.duplicates

    def add(self, moment: StampedVector, now: int) -> list[Answer]:
        """Keep a feature vector and settle the annotations that waited for it.

        Args:
            moment: the vector; the caller must not change its data afterwards.
            now: nanoseconds on the clock of the events.

        Returns:
            The annotations that this event settled, oldest first.
        """
        self.buffer.add(moment)
        return self._settle(now) if self._held else []

    def submit(self, annotation: Annotation, now: int, ticket: object = None) -> Answer | None:
        """Match an annotation, or hold it.

        Args:
            annotation: what was said.
            now: nanoseconds on the clock of the events.
            ticket: comes back with the answer.

        Returns:
            The answer, or None where the annotation is held for a late vector.
        """
        if annotation.features is not None:
            return Answer(annotation, ticket)
        if not annotation.stamp:
            return self._about_newest(annotation, ticket)
        found = self.buffer.find(annotation.stamp)
        if found is not None:
            return Answer(annotation.about(found), ticket)
        error = self._hopeless(annotation)
        if error is not None:
            return Answer(annotation, ticket, error)
        deadline = now + round(self.rules.hold * NANOSECONDS)
        self._held.append(Held(annotation, deadline, ticket))
        return None

    def expire(self, now: int) -> list[Answer]:
        """Settle the annotations whose time is up; call it regularly.

        Args:
            now: nanoseconds on the clock of the events.

        Returns:
            The annotations that were settled, oldest first; with the nearest vector within the
            tolerance where there is one, else with an error.
        """
        if not self._held or self._held[0].deadline > now:
            return []
        return self._settle(now)

    def clear(self, cause: str, event: str) -> list[Answer]:
        """Forget all vectors and refuse what waits.

        Args:
            cause: short key of the event that makes it necessary.
            event: the same in words.
        """
        self.buffer.clear()
        refused = [Answer(held.annotation, held.ticket, UnmatchedAnnotationError(
            cause, f'{event} while the annotation for stamp '
            f'{seconds(held.annotation.stamp)} waited for its features; annotate it again'))
            for held in self._held]
        self._held.clear()
        return refused

    def _settle(self, now: int) -> list[Answer]:
        settled, waiting = [], deque()
        for held in self._held:
            late = held.deadline <= now
            found = self.buffer.find(held.annotation.stamp, final=late)
            if found is not None:
                settled.append(Answer(held.annotation.about(found), held.ticket))
            elif late:
                settled.append(Answer(held.annotation, held.ticket, self._timed_out(held)))
            else:
                waiting.append(held)
        self._held = waiting
        return settled

    def _about_newest(self, annotation: Annotation, ticket: object) -> Answer:
        if self.buffer.newest is not None:
            return Answer(annotation.about(self.buffer.newest), ticket)
        return Answer(annotation, ticket, UnmatchedAnnotationError(
            'no_features', 'the annotation is about the newest feature vector (stamp zero), but '
            'none was received; check that features are published, then annotate again'))

    def _hopeless(self, annotation: Annotation) -> UnmatchedAnnotationError | None:
        """Return why waiting is of no use, or None where a late vector may still come."""
        if self.buffer.is_long_past(annotation.stamp):
            return UnmatchedAnnotationError('unknown_stamp', self._unknown(annotation.stamp))
        if len(self._held) >= self.rules.max_held:
            return UnmatchedAnnotationError(
                'too_many_held', f'{self.rules.max_held} annotations already wait for their '
                'features; annotate more slowly or raise held_annotations')
        return None

    def _timed_out(self, held: Held) -> UnmatchedAnnotationError:
        return UnmatchedAnnotationError(
            'unknown_stamp', f'{self._unknown(held.annotation.stamp)}; '
            f'waited {self.rules.hold:g} s for it')

    def _unknown(self, stamp: int) -> str:
        if not len(self.buffer):
            span = 'the buffer is empty'
        else:
            oldest, newest = self.buffer.span
            span = (f'the buffer holds {len(self.buffer)} vectors from {seconds(oldest)} to '
                    f'{seconds(newest)}')
        return (f'no feature vector has stamp {seconds(stamp)} within '
                f'{self.rules.tolerance:g} s; {span}')


def seconds(stamp: int) -> str:
    """Write a stamp in nanoseconds as seconds, the way ROS tools print it."""
    return f'{stamp // NANOSECONDS}.{stamp % NANOSECONDS:09d}'
