# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The course of a loss over a stream of any length, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_POINTS = 1024


class LossCurve:
    """Wrong decisions over all decisions, by stretches of the stream.

    The stretches are as long as they have to be for there to be at most 1024 of them: when there
    are more, neighbours are joined, so that nothing is lost but detail.

    >>> curve = LossCurve()
    >>> curve.add_all([2, 1, 0, 0], [4, 4, 4, 4])
    >>> curve.points()[-1]
    (4, 0.0, 0.1875)
    """

    def __init__(self) -> None:
        """Begin without samples."""
        self.samples = 0
        self._length = 1
        self._stretches: list[tuple[int, int]] = []
        self._wrong = self._total = 0

    def add_all(self, wrong: Sequence[int], total: Sequence[int]) -> None:
        """Add samples: how many label decisions were wrong, and how many there were, of each."""
        start = 0
        while start < len(wrong):
            stop = min(len(wrong), start + self._length - self.samples % self._length)
            self._wrong += sum(wrong[start:stop])
            self._total += sum(total[start:stop])
            self.samples += stop - start
            start = stop
            if self.samples % self._length == 0:
                self._stretches.append((self._wrong, self._total))
                self._wrong = self._total = 0
                if len(self._stretches) == _MOST_POINTS:
                    self._join()

    def points(self) -> list[tuple[int, float, float]]:
        """Return for each stretch its last sample's number, its loss, and the loss up to it."""
        points, wrong, total = [], 0, 0
        stretches = list(self._stretches)
        if self._total:
            stretches.append((self._wrong, self._total))
        for number, (more_wrong, more_total) in enumerate(stretches, 1):
            wrong, total = wrong + more_wrong, total + more_total
            points.append((min(number * self._length, self.samples),
                           more_wrong / max(1, more_total), wrong / max(1, total)))
        return points

    @property
    def loss(self) -> float | None:
        """The loss over the whole stream; None before the first decision."""
        points = self.points()
        return points[-1][2] if points else None

    def _join(self) -> None:
        pairs = zip(self._stretches[::2], self._stretches[1::2], strict=True)
        self._stretches = [(a[0] + b[0], a[1] + b[1]) for a, b in pairs]
        self._length *= 2
