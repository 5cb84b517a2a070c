# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The robot's open questions, oldest first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from proemlc_ros.classifier.records import Query


class QueryQueue:
    """Questions by stamp; the oldest go when there are more than anybody will answer."""

    def __init__(self, max_count: int = 50) -> None:
        self._max_count = max_count
        self._questions: OrderedDict[int, Query] = OrderedDict()

    def __len__(self) -> int:
        return len(self._questions)

    def __iter__(self) -> Iterator[Query]:
        return iter(list(self._questions.values()))

    def add(self, question: Query) -> None:
        """Put a question at the end."""
        self._questions[question.vector.stamp] = question
        while len(self._questions) > self._max_count:
            self._questions.popitem(last=False)

    def find(self, stamp: int) -> Query | None:
        """Return the question about a moment, or None."""
        return self._questions.get(stamp)

    def settle(self, stamp: int) -> bool:
        """Take out the question about a moment, answered or skipped; tell whether it was there."""
        return self._questions.pop(stamp, None) is not None
