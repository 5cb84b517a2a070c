# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Decides when to ask the operator for a label."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.classifier.matching import NANOSECONDS

# Moments remembered as asked or answered; beyond it the oldest may be asked again.
_MEMORY = 10_000


class QueryReason(IntEnum):
    """Why a label is asked for; the values are those of LabelQuery."""

    NOVEL = 1
    DOUBTFUL = 2


@dataclass(slots=True)
class QueryRules:
    """When to ask; may be changed while running.

    Args:
        novelty: ask where the novelty is at least this; above 1 never asks.
        margin: ask where a score is nearer to its threshold than this; 0 never asks.
        rate: questions a second at most; 0 never asks.
    """

    novelty: float = 0.5
    margin: float = 0.1
    rate: float = 0.5


class QueryPolicy:
    """Asks about novel and doubtful moments, not too often and never twice about the same one.

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

    def consider(self, stamp: int, now: int, novelty: float, distance: float) -> QueryReason | None:
        """Decide whether to ask about a moment, and remember it if so.

        Args:
            stamp: nanoseconds of the moment; moments without a time (0) are never asked about,
                since an answer could not name them.
            now: nanoseconds on a clock that does not stop.
            novelty: of the moment, 0 to 1.
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
        """Remember a moment as asked or answered."""
        self._settled[stamp] = None
        if len(self._settled) > _MEMORY:
            self._settled.popitem(last=False)


def nearest_distance(scores: NDArray[np.floating], threshold: float) -> float:
    """Return how near the most doubtful score is to the threshold; infinite without labels."""
    if not len(scores):
        return float('inf')
    return float(np.abs(scores - threshold).min())


def candidates(scores: NDArray[np.floating], count: int = 5) -> list[int]:
    """Return the columns of the likeliest labels, best first."""
    return np.argsort(-np.asarray(scores), kind='stable')[:count].tolist()


def explain(reason: QueryReason, novelty: float, distance: float) -> str:
    """Say in words why a label is asked for."""
    if reason is QueryReason.NOVEL:
        return f'unlike everything learnt (novelty {novelty:.2f})'
    return f'a score is only {distance:.2f} away from its threshold'
