# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Decides when to ask the operator for a label."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from proemlc_ros.classifier.records import Query, QueryReason, StampedVector
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.stamps import NANOSECONDS

# Stamps remembered as asked about or annotated; beyond it the oldest may be asked again.
_MEMORY = 10_000
_CANDIDATES = 5


@dataclass(slots=True)
class QueryRules:
    """When to ask; may be changed while running.

    Args:
        novelty: ask where the novelty is at least this; above 1 never asks.
        margin: ask where a score is nearer to its threshold than this; 0 never asks.
        rate: queries per second at most; 0 never asks.
    """

    novelty: float = 0.5
    margin: float = 0.1
    rate: float = 0.5


class QueryPolicy:
    """Asks about novel and doubtful vectors, not too often and never twice about the same one.

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

    def query(self, vector: StampedVector, prediction: VersionedPrediction,
              now: int) -> Query | None:
        """Return a query about a vector that is worth one.

        Args:
            vector: what was classified.
            prediction: what the model said about it.
            now: nanoseconds on a clock that does not stop.
        """
        found = prediction.classification
        distance = float('inf')
        if found.novelty < self.rules.novelty and self.rules.margin and len(found.scores):
            distance = float(np.abs(found.scores - found.threshold).min())
        reason = self.consider(vector.stamp, now, found.novelty, distance)
        if reason is None:
            return None
        likeliest = np.argsort(-found.scores, kind='stable')[:_CANDIDATES]
        return Query(vector, explain(reason, found.novelty, distance),
                     tuple(found.names[column] for column in likeliest),
                     tuple(found.scores[likeliest].tolist()), found.novelty, reason)

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

    def settle(self, stamp: int) -> None:
        """Remember a vector as asked about or annotated."""
        self._settled[stamp] = None
        if len(self._settled) > _MEMORY:
            self._settled.popitem(last=False)


def explain(reason: QueryReason, novelty: float, distance: float) -> str:
    """Return the reason of a query in words."""
    if reason is QueryReason.NOVEL:
        return f'unlike everything learnt (novelty {novelty:.2f})'
    return f'a score is only {distance:.2f} away from its threshold'
