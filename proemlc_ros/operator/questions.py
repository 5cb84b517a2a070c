# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The robot's open questions, oldest first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from proemlc_ros.operator.recent import Sight
from proemlc_ros.teaching.moments import Moment


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The robot asks what one moment shows.

    Args:
        moment: what was sensed.
        text: why the robot asks, for people.
        candidates: the likeliest labels, best first.
        scores: of the candidates.
        novelty: of the moment.
    """

    moment: Moment
    text: str
    candidates: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    novelty: float = 0.0

    def sight(self) -> Sight:
        """Return the moment asked about as something to freeze; its scores are not known."""
        return Sight(self.moment.stamp, (), np.empty(0, np.float32), self.novelty, version=-1)


class QuestionQueue:
    """Questions by stamp; the oldest go when there are more than anybody will answer."""

    def __init__(self, max_count: int = 50) -> None:
        self._max_count = max_count
        self._questions: OrderedDict[int, Question] = OrderedDict()

    def __len__(self) -> int:
        return len(self._questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(list(self._questions.values()))

    def add(self, question: Question) -> None:
        """Put a question at the end."""
        self._questions[question.moment.stamp] = question
        while len(self._questions) > self._max_count:
            self._questions.popitem(last=False)

    def find(self, stamp: int) -> Question | None:
        """Return the question about a moment, or None."""
        return self._questions.get(stamp)

    def settle(self, stamp: int) -> bool:
        """Take out the question about a moment, answered or skipped; tell whether it was there."""
        return self._questions.pop(stamp, None) is not None
