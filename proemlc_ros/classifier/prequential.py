# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Test-then-train: how good the predictions were just before each annotation was learnt."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from proemlc_ros.classifier.records import Annotation


class RollingHamming:
    """Hamming loss over the most recent annotations.

    A label that the annotation introduces counts as missed, since it was there and not predicted;
    a label that the annotation leaves unknown does not count.

    Args:
        window: annotations looked back upon.
    """

    def __init__(self, window: int) -> None:
        self._outcomes: deque[tuple[int, int]] = deque(maxlen=window)
        self._wrong = 0
        self._total = 0

    def __len__(self) -> int:
        return len(self._outcomes)

    def add(self, predicted: Collection[str], annotation: Annotation,
            known: Collection[str]) -> None:
        """Compare a prediction with the truth that came after it.

        Args:
            predicted: names that were predicted.
            annotation: what was said.
            known: all labels known when the prediction was made.
        """
        present = set(annotation.labels)
        if annotation.complete:
            judged = present.union(known, annotation.absent)
        else:
            judged = present.union(annotation.absent)
        wrong = len((set(predicted) ^ present) & judged)
        if len(self._outcomes) == self._outcomes.maxlen:
            oldest_wrong, oldest_total = self._outcomes[0]
            self._wrong -= oldest_wrong
            self._total -= oldest_total
        self._outcomes.append((wrong, len(judged)))
        self._wrong += wrong
        self._total += len(judged)

    @property
    def loss(self) -> float | None:
        """The share of wrong decisions, or None before the first annotation."""
        return self._wrong / self._total if self._total else None
