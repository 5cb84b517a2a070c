# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Decides when to ask the operator for a label."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np

from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.calibration import Mask
from proemlc_ros.core.deciding.decision import EVEN
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.prediction import Classification
from proemlc_ros.records import Annotation, Query, QueryReason, StampedVector, Vector
from proemlc_ros.stamps import NANOSECONDS

# Stamps remembered as asked about or annotated; beyond it the oldest may be asked again.
_MEMORY = 10_000
_CANDIDATES = 5
# How alike two vectors of one scene are: a share of the usual square distance. What was asked or
# taught may be asked again after so many more annotations.
_ALIKE, _CHANGED = 0.1, 20
# Most that one feature counts of the usual distance; found in so many rounds.
_SHARE, _ROUNDS = 0.1, 20
# Open queries about one scene at most, and how many are remembered; an operator's list has 50.
_SCENE, _OPEN = 3, 64
# Label sets from which the usual distance is known, and samples of each.
_SETS, _EACH = 16, 4


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
    """Open queries and what was taught lately, so that nothing like it is asked now.

    Two vectors are alike where their square distance is less than a tenth of the usual one
    between samples taught with different labels. The noise of a still camera is small beside
    that, however long nothing else is seen. Until there are such samples the usual distance is a
    guess, and all open queries count as one scene.

    Vectors are kept raw, and compared in the model's input scaling as well as unscaled: where all
    was taught before one background, scaling makes its noise as large as the things.
    """

    def __init__(self) -> None:
        # By stamp: the vector, and how many annotations had been learnt when it was asked about.
        self._open: OrderedDict[int, tuple[Vector, int]] = OrderedDict()
        self._taught: deque[Vector] = deque(maxlen=_CHANGED)
        self._sets: OrderedDict[frozenset[str], deque[Vector]] = OrderedDict()
        self._learnt = 0
        self._width = 0
        self._scaling: Scaling | None = None
        self._views: list[_VectorComparison] = []
        self._guessed = True

    def asked(self, vector: StampedVector) -> None:
        """Remember an open query."""
        self._keep_to(vector.data)
        self._open[vector.stamp] = vector.data, self._learnt
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)
        self._views.clear()

    def taught(self, annotation: Annotation) -> None:
        """Remember what was learnt; a query about it is no longer open."""
        vector, labels = annotation.matched_features, frozenset(annotation.labels)
        self._keep_to(vector)
        self._open.pop(annotation.stamp, None)
        self._learnt += 1
        self._taught.append(vector)
        if annotation.complete:
            self._sets.setdefault(labels, deque(maxlen=_EACH)).append(vector)
            self._sets.move_to_end(labels)
            if len(self._sets) > _SETS:
                self._sets.popitem(last=False)
        self._views.clear()

    def resembles(self, vector: Vector, scaling: Scaling | None = None) -> bool:
        """Whether a vector is like one asked about or taught lately, or enough of it are open.

        Args:
            vector: of the stream.
            scaling: of the model's input; None: it has none.
        """
        self._keep_to(vector)
        if not self._taught and not self._open:
            return False
        if not self._views or scaling is not self._scaling:
            self._compare_in(scaling)
        alike = np.logical_or.reduce([view.alike(vector) for view in self._views]).tolist()
        opened = alike[len(self._taught):]
        if any(alike[:len(self._taught)]) or any(
                near and self._learnt - learnt <= _CHANGED
                for near, (_, learnt) in zip(opened, self._open.values(), strict=True)):
            return True
        return (len(opened) if self._guessed else sum(opened)) >= _SCENE

    def _keep_to(self, vector: Vector) -> None:
        """Forget vectors of another width than this one."""
        if len(vector) != self._width:
            self._width = len(vector)
            for kept in (self._open, self._taught, self._sets, self._views):
                kept.clear()

    def _compare_in(self, scaling: Scaling | None) -> None:
        kept = np.array([*self._taught, *(vector for vector, _ in self._open.values())], float)
        sets = [labels for labels, part in self._sets.items() for _ in part]
        different = np.array([[one != other and one.isdisjoint(other) for other in sets]
                              for one in sets], dtype=bool)
        self._guessed, known = not different.any(), kept
        if self._guessed:
            different = ~np.eye(len(kept), dtype=bool)
        else:
            known = np.array([vector for part in self._sets.values() for vector in part], float)
        self._scaling = scaling
        self._views = [_VectorComparison(kept, known, different, one)
                       for one in ((None,) if scaling is None else (None, scaling))]


class _VectorComparison:
    """Tells which of the kept vectors a vector is like, in one scaling.

    Args:
        kept: vectors (n, width).
        known: samples (m, width) from which the usual distance is known.
        different: (m, m) which of them show different things.
        scaling: None: vectors as they are.
    """

    def __init__(self, kept: Array, known: Array, different: Mask,
                 scaling: Scaling | None) -> None:
        self._scaling = scaling
        self._weights: Array = np.ones(kept.shape[1])
        known = self._scaled(known)
        self._weights = _even(known)
        known = known * self._weights
        squares = np.einsum('ij,ij->i', known, known)
        usual = (squares[:, np.newaxis] + squares - 2.0 * known @ known.T)[different]
        self._near = _ALIKE * float(usual.mean()) if len(usual) else 0.0
        self._kept = self._scaled(kept)

    def alike(self, vector: Vector) -> Mask:
        """Return for each kept vector whether this one is like it."""
        apart = self._kept - self._scaled(vector.astype(np.float64))
        near: Mask = np.einsum('ij,ij->i', apart, apart) < self._near
        return near

    def _scaled(self, rows: Array) -> Array:
        scaled: Array = rows if self._scaling is None else self._scaling.apply(rows)
        return self._weights * scaled


def _even(rows: Array) -> Array:
    """Return weights by which no feature rules the distances between rows.

    Unscaled, one large feature may count for all; so it may in the scaling of a model with few
    samples, which is a guess.
    """
    spread = rows.var(axis=0)
    share, bounded = max(_SHARE, 2.0 / len(spread)), spread
    for _ in range(_ROUNDS):
        bounded = np.minimum(bounded, share * bounded.sum())
    ratios: Array = np.divide(bounded, spread, out=np.ones_like(spread), where=spread > 0.0)
    return np.sqrt(ratios)


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

    def query(self, vector: StampedVector, prediction: VersionedPrediction, now: int,
              scaling: Scaling | None = None) -> Query | None:
        """Return a query about a vector that is worth one.

        Args:
            vector: what was classified.
            prediction: what the model said about it.
            now: nanoseconds on a clock that does not stop.
            scaling: of the model's input, in which vectors are compared.
        """
        found = prediction.classification
        if not found.names:  # Before the first label there is nothing to compare with.
            return None
        distance, doubtful = _doubt(found)
        if found.novelty >= self.rules.novelty or not self.rules.margin:
            distance = float('inf')
        with self._lock:
            if (self._reason(vector.stamp, now, found.novelty, distance) is None
                    or self._recent.resembles(vector.data, scaling)):
                return None
            reason = self.consider(vector.stamp, now, found.novelty, distance)
            if reason is None:
                return None
            self._recent.asked(vector)
        values = found.probabilities if found.by_probability else found.scores
        likeliest = np.argsort(-values, kind='stable')[:_CANDIDATES]
        label = doubtful if reason is QueryReason.DOUBTFUL else ''
        return Query(vector, explain(reason, found.novelty, distance, label),
                     tuple(found.names[column] for column in likeliest),
                     tuple(found.scores[likeliest].tolist()), found.novelty, reason, label,
                     tuple(found.probabilities[likeliest].tolist()
                           if len(found.probabilities) else ()))

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
        reason = self._reason(stamp, now, novelty, distance)
        if reason is not None:
            self._last = now
            self.settle(stamp)
        return reason

    def _reason(self, stamp: int, now: int, novelty: float,
                distance: float) -> QueryReason | None:
        rules = self.rules
        if novelty < rules.novelty and distance >= rules.margin:
            return None
        if not rules.rate or not stamp or stamp in self._settled:
            return None
        if self._last is not None and 0 <= now - self._last < NANOSECONDS / rules.rate:
            return None
        return QueryReason.NOVEL if novelty >= rules.novelty else QueryReason.DOUBTFUL

    def learnt(self, annotation: Annotation) -> None:
        """Remember a vector as annotated: neither it nor its like is asked about now."""
        with self._lock:
            self.settle(annotation.stamp)
            self._recent.taught(annotation)

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
