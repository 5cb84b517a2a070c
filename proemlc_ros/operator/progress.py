# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Is it good yet? What was predicted just before it was taught, compared with what was taught."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from proemlc_ros.records import Annotation

# Annotations that "lately" means, for a label and for all.
RECENT_OF_LABEL = 20
RECENT = 50


class ComparedAnnotation(NamedTuple):
    """One annotation beside the prediction before it.

    Args:
        right: names taught or predicted where both agree.
        missed: taught as present, not predicted.
        extra: predicted, taught as absent.
    """

    right: tuple[str, ...]
    missed: tuple[str, ...]
    extra: tuple[str, ...]


def compare(predicted: Sequence[str], annotation: Annotation) -> ComparedAnnotation:
    """Compare a prediction with what an operator said; what was left open does not count.

    >>> compare(('cup', 'red'), Annotation(0, ('cup', 'bowl'), complete=True))
    ComparedAnnotation(right=('cup',), missed=('bowl',), extra=('red',))
    """
    present, seen = set(annotation.labels), set(predicted)
    absent = seen - present if annotation.complete else seen & set(annotation.absent)
    named = set(annotation.absent) - seen  # Said to be absent, and not predicted: right too.
    return ComparedAnnotation(tuple(sorted(present & seen | named)),
                              tuple(sorted(present - seen)), tuple(sorted(absent)))


class ProgressLog:
    """The last outcomes, for all labels and for each."""

    def __init__(self) -> None:
        self._outcomes: deque[ComparedAnnotation] = deque(maxlen=10 * RECENT)

    @property
    def outcomes(self) -> list[ComparedAnnotation]:
        """The outcomes, oldest first."""
        return list(self._outcomes)

    def add(self, outcome: ComparedAnnotation) -> None:
        """Add an outcome."""
        self._outcomes.append(outcome)

    def rename(self, old: str, new: str) -> None:
        """Give a label its new name; an empty one removes it."""
        def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(new if name == old else name for name in names if name != old or new)
        self._outcomes = deque(
            (ComparedAnnotation(*map(renamed, outcome)) for outcome in self._outcomes),
            self._outcomes.maxlen)

    def clear(self) -> None:
        """Forget everything: another model is in use."""
        self._outcomes.clear()

    def overall(self) -> tuple[int, int]:
        """Return how many of the last annotations were predicted exactly, and of how many."""
        last = self.outcomes[-RECENT:]
        return sum(not (one.missed or one.extra) for one in last), len(last)

    def by_label(self) -> dict[str, tuple[int, int]]:
        """Return how often each label was right among the last annotations about it."""
        found: dict[str, list[bool]] = {}
        for one in reversed(self._outcomes):
            for names, is_right in ((one.right, True), (one.missed + one.extra, False)):
                for name in names:
                    verdicts = found.setdefault(name, [])
                    if len(verdicts) < RECENT_OF_LABEL:
                        verdicts.append(is_right)
        return {name: (sum(verdicts), len(verdicts)) for name, verdicts in found.items()}

    def confused(self) -> list[tuple[str, str, int]]:
        """Return which label was taken for which lately, and how often; the most first."""
        pairs: Counter[tuple[str, str]] = Counter()
        for one in self.outcomes[-2 * RECENT:]:
            pairs.update((was, taken) for was in one.missed for taken in one.extra)
        return [(*pair, count) for pair, count in pairs.most_common(20)]
