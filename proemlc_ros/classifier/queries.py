# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Decides when to ask the operator for a label."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np

from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.core.deciding.decision import EVEN
from proemlc_ros.core.prediction import Classification
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.records import Annotation, Query, QueryReason, StampedVector, Vector
from proemlc_ros.stamps import NANOSECONDS

# Stamps remembered as asked about or annotated; beyond it the oldest may be asked again.
_MEMORY = 10_000
_CANDIDATES = 5
# Vectors asked about or taught that nothing alike is asked after, and how alike: a share of the
# usual square distance. What was asked may be asked again after so many annotations.
_RECENT, _ALIKE, _CHANGED = 64, 0.1, 20
# Vectors of the stream from which the usual distance is known.
_WINDOW = 1000


@dataclass(slots=True)
class QueryRules:
    """When to ask; may be changed while running.

    Args:
        novelty: ask where the novelty is at least this; above 1 never asks.
        margin: ask where a probability is nearer to one half than this, or a score to its
            threshold where scores decide; 0 never asks.
        rate: queries per second at most; 0 never asks.
    """

    novelty: float = 0.5
    margin: float = 0.2
    rate: float = 0.5


class RecentQueries:
    """Vectors that were asked about or taught lately, so that nothing like them is asked now.

    What is alike is judged by how far apart the vectors of the stream are: a square distance of
    less than a tenth of the usual one. What was asked may be asked again once the model has
    learnt so much that it may answer otherwise.
    """

    def __init__(self) -> None:
        self._recent: deque[tuple[Array, int]] = deque(maxlen=_RECENT)
        self._seen = 0
        self._mean: Array = np.zeros(0)
        self._spread = 0.0
        self._learnt = 0

    def see(self, vector: Vector) -> None:
        """Learn from a vector of the stream how far apart vectors usually are."""
        if len(self._mean) != len(vector):
            self._seen, self._mean, self._spread = 0, np.zeros(len(vector)), 0.0
            self._recent.clear()
        self._seen += 1
        difference = vector - self._mean
        share = 1.0 / min(self._seen, _WINDOW)
        self._mean = self._mean + share * difference
        self._spread += share * ((1.0 - share) * float(difference @ difference) - self._spread)

    def add(self, vector: Vector, learnt: bool = False) -> None:
        """Remember a vector that was asked about, or learnt."""
        self._learnt += learnt
        self._recent.append((np.asarray(vector, np.float64), self._learnt))

    def resembles(self, vector: Vector) -> bool:
        """Whether a vector is like one that was asked about or learnt lately."""
        near = _ALIKE * 2.0 * self._spread
        return any(len(other) == len(vector) and self._learnt - learnt <= _CHANGED
                   and float(np.square(other - vector).sum()) < near
                   for other, learnt in self._recent)


class QueryPolicy:
    """Asks about novel and doubtful vectors, not too often and not about the same thing again.

    >>> policy = QueryPolicy(QueryRules(novelty=0.5, rate=1.0))
    >>> policy.consider(7, now=0, novelty=0.9, distance=1.0)
    <QueryReason.NOVEL: 1>
    >>> policy.consider(7, now=5_000_000_000, novelty=0.9, distance=1.0) is None
    True
    """

    def __init__(self, rules: QueryRules | None = None) -> None:
        self.rules = rules or QueryRules()
        self._settled: OrderedDict[int, None] = OrderedDict()
        self._last: int | None = None
        self._lock = threading.Lock()
        self._recent = RecentQueries()

    def query(self, vector: StampedVector, prediction: VersionedPrediction,
              now: int) -> Query | None:
        """Return a query about a vector that is worth one.

        Args:
            vector: what was classified.
            prediction: what the model said about it.
            now: nanoseconds on a clock that does not stop.
        """
        found = prediction.classification
        distance, doubtful = _doubt(found)
        if found.novelty >= self.rules.novelty or not self.rules.margin:
            distance = float('inf')
        with self._lock:
            self._recent.see(vector.data)
            if self._worth(found.novelty, distance) and self._recent.resembles(vector.data):
                return None
            reason = self.consider(vector.stamp, now, found.novelty, distance)
            if reason is None:
                return None
            self._recent.add(vector.data)
        values = found.probabilities if found.by_probability else found.scores
        likeliest = np.argsort(-values, kind='stable')[:_CANDIDATES]
        label = doubtful if reason is QueryReason.DOUBTFUL else ''
        return Query(vector, explain(reason, found.novelty, distance, label),
                     tuple(found.names[column] for column in likeliest),
                     tuple(found.scores[likeliest].tolist()), found.novelty, reason, label,
                     tuple(found.probabilities[likeliest].tolist()
                           if len(found.probabilities) else ()))

    def _worth(self, novelty: float, distance: float) -> bool:
        return novelty >= self.rules.novelty or distance < self.rules.margin

    def consider(self, stamp: int, now: int, novelty: float,
                 distance: float) -> QueryReason | None:
        """Decide whether to ask about a vector, and remember it if so.

        Args:
            stamp: nanoseconds of the vector; vectors without a time (0) are never asked about,
                since an annotation could not name them.
            now: nanoseconds on a clock that does not stop.
            novelty: of the vector, 0 to 1.
            distance: of the nearest score to its threshold; infinite where there is no label.

        Returns:
            The reason to ask, or None.
        """
        rules = self.rules
        if novelty >= rules.novelty:
            reason = QueryReason.NOVEL
        elif distance < rules.margin:
            reason = QueryReason.DOUBTFUL
        else:
            return None
        if not rules.rate or not stamp or stamp in self._settled:
            return None
        if self._last is not None and 0 <= now - self._last < NANOSECONDS / rules.rate:
            return None
        self._last = now
        self.settle(stamp)
        return reason

    def learnt(self, annotation: Annotation) -> None:
        """Remember a vector as annotated: neither it nor its like is asked about now."""
        with self._lock:
            self.settle(annotation.stamp)
            self._recent.add(annotation.matched_features, learnt=True)

    def settle(self, stamp: int) -> None:
        """Remember a vector as asked about or annotated."""
        self._settled[stamp] = None
        if len(self._settled) > _MEMORY:
            self._settled.popitem(last=False)


def _doubt(found: Classification) -> tuple[float, str]:
    """Return how far the most doubtful label is from being decided otherwise, and its name."""
    if not len(found.scores):
        return float('inf'), ''
    distances = (np.abs(found.probabilities - EVEN) if found.by_probability
                 else np.abs(found.scores - found.threshold))
    place = int(distances.argmin())
    return float(distances[place]), found.names[place]


def explain(reason: QueryReason, novelty: float, distance: float, label: str = '') -> str:
    """Return the reason of a query in words."""
    if reason is QueryReason.NOVEL:
        return f'unlike everything learnt (novelty {novelty:.2f})'
    what = f'"{label}"' if label else 'a label'
    return f'{what} is only {distance:.2f} away from being decided otherwise'
