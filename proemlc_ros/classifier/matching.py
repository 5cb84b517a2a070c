# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the feature vector that an annotation is about, by its stamp and region.

The matcher has no clock: every call brings its own time, so that a live node and a replayed bag
decide alike.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from proemlc_ros.errors import UnmatchedAnnotationError
from proemlc_ros.records import Annotation, Learnt, StampedVector
from proemlc_ros.regions import SAME, WHOLE, Region, overlap
from proemlc_ros.stamps import NANOSECONDS, StampBuffer, seconds

# Regions of one picture that are kept beyond the capacity, so that they stay together.
_MOST_REGIONS = 1000
# Distance of two vectors, relative to their length, below which one is a near copy of the other.
_NEAR_COPY = 0.05
_MAX_OBJECTS = 1000


@dataclass(slots=True)
class MatchingRules:
    """How annotations find their feature vectors; may be changed while running.

    Args:
        tolerance: seconds that a vector's stamp may differ from the annotation's.
        hold: seconds that an annotation waits for a vector that is late.
        reorder: seconds by which vectors may arrive out of order; a larger step back is a jump of
            the clock (a looping bag, a restarted simulation) and clears the buffer.
        capacity: vectors kept.
        max_bytes: bytes of vectors kept.
        max_held: annotations waiting at a time.
    """

    tolerance: float = 0.0
    hold: float = 1.0
    reorder: float = 1.0
    capacity: int = 1000
    max_bytes: int = 64 * 1024 * 1024
    max_held: int = 100


class VectorBuffer(StampBuffer[StampedVector]):
    """The most recent feature vectors by stamp; those of regions have their boxes as keys.

    Args:
        rules: bounds; may be changed while running.
    """

    def __init__(self, rules: MatchingRules) -> None:
        super().__init__(rules.capacity, rules.max_bytes, max_together=_MOST_REGIONS)
        self.rules = rules
        self.jumps = 0
        self.newest: StampedVector | None = None

    def add(self, vector: StampedVector) -> None:
        """Keep a vector; a jump back of the stamps removes all others first.

        A vector without time is only ever the newest.
        """
        stamp = vector.stamp
        if stamp and self.is_long_past(stamp):
            self.jumps += 1
            self.clear()
        self.newest = vector
        if stamp:
            self.max_count, self.max_bytes = self.rules.capacity, self.rules.max_bytes
            self.put(stamp, vector, vector.data.nbytes,
                     vector.region.box if vector.region.size_x else None)

    def is_long_past(self, stamp: int) -> bool:
        """Tell whether a stamp is too old for a vector that is merely out of order."""
        return bool(self) and stamp < self.span[1] - round(self.rules.reorder * NANOSECONDS)

    def match(self, stamp: int, final: bool = False,
              region: Region = WHOLE) -> StampedVector | None:
        """Return the vector of a stamp and region, or the nearest in time within the tolerance.

        Args:
            stamp: nanoseconds.
            final: do not wait for a newer vector that might be nearer.
            region: that the vector is of; a box that two programs round differently is the same.
        """
        known = self._stream.get(stamp)
        if known is None and self._stamps and (final or stamp <= self._stamps[-1]):
            near = self.nearest(stamp, round(self.rules.tolerance * NANOSECONDS))
            known = None if near is None else self._stream[near]
        if not known:
            return None
        if not region.size_x:
            only = known.get(None) or next(iter(known.values()))
            # A picture of one region: no other can be meant.
            return only[0] if None in known or only[0].region_count == 1 else None
        if region.box in known:
            return known[region.box][0]
        best = max((vector for box, (vector, _) in known.items() if box is not None),
                   key=lambda vector: overlap(vector.region, region), default=None)
        return best if best is not None and overlap(best.region, region) >= SAME else None

    def regions_at(self, stamp: int) -> list[Region]:
        """Return the regions of a picture that have vectors."""
        return [vector.region for box, (vector, _) in self.at(stamp).items() if box is not None]

    def clear(self) -> None:
        """Forget all vectors."""
        super().clear()
        self.newest = None


class _TaughtObjects:
    """The last annotation of each object, by the id of its region."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, Annotation] = OrderedDict()

    def check(self, annotation: Annotation) -> UnmatchedAnnotationError | None:
        """Note an annotation that has found its features; return why it teaches nothing new.

        Args:
            annotation: of a region with an id.
        """
        name = annotation.region.id
        last = self._last.pop(name, None)
        if last is not None and _repeats(annotation, last):
            self._last[name] = last
            return UnmatchedAnnotationError(
                'same_object', f'the object {ascii(name[:100])} was annotated with these labels, '
                'and looks the same as then; annotate it again when it looks different')
        self._last[name] = annotation
        if len(self._last) > _MAX_OBJECTS:
            self._last.popitem(last=False)
        return None

    def clear(self) -> None:
        """Forget all: what was learnt of them may have been taken back."""
        self._last.clear()


def _repeats(one: Annotation, other: Annotation) -> bool:
    first, second = one.matched_features, other.matched_features
    if (set(one.labels), set(one.absent), one.complete) != (
            set(other.labels), set(other.absent), other.complete) or first.shape != second.shape:
        return False
    length = max(float(np.linalg.norm(first)), float(np.linalg.norm(second)))
    return float(np.linalg.norm(first - second)) <= _NEAR_COPY * length


@dataclass(slots=True, eq=False)
class PendingAnnotation:
    """An annotation that is not learnt yet: it waits for its features, then for the disk.

    Args:
        annotation: what the operator said; with features once they are found.
        future: gets what was learnt, or the error; None where nobody waits for it, as in a replay.
        deadline: nanoseconds on the clock of the calls, until which it waits for its features.
        error: the reason why no features were found.
    """

    annotation: Annotation
    future: Future[Learnt] | None = None
    deadline: int = 0
    error: UnmatchedAnnotationError | None = None

    def match(self, vector: StampedVector, objects: _TaughtObjects) -> None:
        """Take the features of a vector; an error says where they teach nothing new."""
        self.annotation = self.annotation.about(vector)
        if vector.region.id:
            self.error = objects.check(self.annotation)


class StampMatcher:
    """A bounded buffer of feature vectors by stamp, and the annotations that wait for one.

    An annotation is settled when its features are found or when its `error` says why not.

    >>> import numpy as np
    >>> matcher = StampMatcher(MatchingRules(tolerance=0.1))
    >>> matcher.add(StampedVector(5_000_000_000, np.ones(2, np.float32)), now=0)
    []
    >>> pending = PendingAnnotation(Annotation(5_050_000_000, ('cup',)))
    >>> matcher.submit(pending, now=0)      # a nearer vector may still come
    False
    >>> [settled] = matcher.add(StampedVector(5_200_000_000, np.zeros(2, np.float32)), now=1)
    >>> settled.annotation.stamp
    5000000000
    """

    def __init__(self, rules: MatchingRules | None = None) -> None:
        self.rules = rules or MatchingRules()
        self.buffer = VectorBuffer(self.rules)
        self.objects = _TaughtObjects()
        self._held: deque[PendingAnnotation] = deque()

    @property
    def held(self) -> int:
        """How many annotations wait for their feature vector."""
        return len(self._held)

    def add(self, vector: StampedVector, now: int) -> list[PendingAnnotation]:
        """Keep a feature vector and settle the annotations that waited for it.

        Args:
            vector: the caller must not change its data afterwards.
            now: nanoseconds.

        Returns:
            The annotations that are settled now, oldest first.
        """
        self.buffer.add(vector)
        return self._settle(now) if self._held else []

    def submit(self, pending: PendingAnnotation, now: int) -> bool:
        """Match an annotation, or hold it.

        Args:
            pending: the annotation.
            now: nanoseconds.

        Returns:
            Whether it is settled; False where it is held for a late vector.
        """
        annotation = pending.annotation
        if annotation.features is not None:
            return True
        newest = self.buffer.newest
        if annotation.region.size_x or (newest is not None and newest.region_count > 1):
            found = self._find_region(annotation)
        elif not annotation.stamp:
            found = newest
        else:
            found = self.buffer.match(annotation.stamp)
        if found is not None:
            pending.match(found, self.objects)
            return True
        pending.error = self._hopeless(annotation)
        if pending.error is None:
            pending.deadline = now + round(self.rules.hold * NANOSECONDS)
            self._held.append(pending)
        return pending.error is not None

    def expire(self, now: int) -> list[PendingAnnotation]:
        """Settle the annotations whose time is up; call it regularly.

        Args:
            now: nanoseconds.

        Returns:
            The annotations that are settled now, oldest first; with the nearest vector within the
            tolerance where there is one, else with an error.
        """
        if not self._held or self._held[0].deadline > now:
            return []
        return self._settle(now)

    def clear(self, cause: str, event: str) -> list[PendingAnnotation]:
        """Forget all vectors and reject the annotations that wait.

        Args:
            cause: short key of the event that makes it necessary.
            event: the same in words.
        """
        self.buffer.clear()
        self.objects.clear()
        rejected = list(self._held)
        self._held.clear()
        for pending in rejected:
            pending.error = UnmatchedAnnotationError(
                cause, f'{event} while the annotation for stamp '
                f'{seconds(pending.annotation.stamp)} waited for its features; annotate it again')
        return rejected

    def _settle(self, now: int) -> list[PendingAnnotation]:
        settled: list[PendingAnnotation] = []
        waiting: deque[PendingAnnotation] = deque()
        for pending in self._held:
            late = pending.deadline <= now
            found = self.buffer.match(pending.annotation.stamp, final=late,
                                      region=pending.annotation.region)
            if found is not None:
                pending.match(found, self.objects)
            elif late:
                pending.error = UnmatchedAnnotationError(
                    *self._unknown(pending.annotation, f'; waited {self.rules.hold:g} s for it'))
            else:
                waiting.append(pending)
                continue
            settled.append(pending)
        self._held = waiting
        return settled

    def _find_region(self, annotation: Annotation) -> StampedVector | None:
        """Return the vector of a region, or of the newest picture."""
        if annotation.stamp:
            return self.buffer.match(annotation.stamp, region=annotation.region)
        newest = self.buffer.newest
        if newest is None or (not annotation.region.size_x and newest.region_count <= 1):
            return newest
        return self.buffer.match(newest.stamp, final=True, region=annotation.region)

    def _hopeless(self, annotation: Annotation) -> UnmatchedAnnotationError | None:
        """Return why waiting is of no use, or None where a late vector may still come."""
        newest = self.buffer.newest
        if not annotation.stamp and newest is None:
            return UnmatchedAnnotationError(
                'no_features', 'the annotation is about the newest feature vector (stamp zero), '
                'but none was received; check that features are published, then annotate again')
        stamp = annotation.stamp or (newest.stamp if newest is not None else 0)
        regions = self.buffer.regions_at(stamp)
        if regions and not annotation.region.size_x:
            return UnmatchedAnnotationError(
                'no_region', f'the picture of stamp {seconds(stamp)} has '
                f'{len(regions)} regions; name the one that the annotation is about')
        if not annotation.stamp or self.buffer.is_long_past(annotation.stamp):
            return UnmatchedAnnotationError(*self._unknown(annotation))
        if len(self._held) >= self.rules.max_held:
            return UnmatchedAnnotationError(
                'too_many_held', f'{self.rules.max_held} annotations already wait for their '
                'features; annotate more slowly or raise held_annotations')
        return None

    def _unknown(self, annotation: Annotation, more: str = '') -> tuple[str, str]:
        """Return the cause and the text of an annotation whose features were not found."""
        stamp, region = annotation.stamp, annotation.region
        regions = self.buffer.regions_at(stamp or self.buffer.newest.stamp
                                         if self.buffer.newest is not None else stamp)
        if region.size_x and regions:
            shown = ', '.join(f'{x:g} {y:g} {width:g} {height:g}'
                              for x, y, width, height in (one.box for one in regions[:3]))
            return 'unknown_region', (
                f'no region of the picture of stamp {seconds(stamp)} is '
                f'{" ".join(format(value, "g") for value in region.box)} (centre and size in '
                f'pixels); it has {len(regions)}: {shown}{" …" if regions[3:] else ""}{more}')
        if not len(self.buffer):
            span = 'the buffer is empty'
        else:
            oldest, newest = self.buffer.span
            span = (f'the buffer holds {len(self.buffer)} vectors from {seconds(oldest)} to '
                    f'{seconds(newest)}')
        return 'unknown_stamp', (f'no feature vector has stamp {seconds(stamp)} within '
                                 f'{self.rules.tolerance:g} s; {span}{more}')
