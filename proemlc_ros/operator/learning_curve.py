# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learning curve: loss against samples, with the introductions of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class LearningCurve:
    """Hamming loss against the number of samples learnt, with the introductions of labels.

    Bounded: when full, every second point of the older half goes, so that a long run keeps its
    shape and its newest detail.
    """

    max_points: int = 400
    points: list[tuple[int, float]] = field(default_factory=list)
    introductions: list[tuple[int, str]] = field(default_factory=list)
    known: set[str] | None = None

    def add_loss(self, samples: int, loss: float) -> bool:
        """Add a point; return whether the curve changed."""
        if self.points and samples < self.points[-1][0]:
            # An undo or another model took samples back: those points are no longer true.
            self.points = [point for point in self.points if point[0] <= samples]
        if self.points and self.points[-1] == (samples, loss):
            return False
        if self.points and self.points[-1][0] == samples:
            self.points.pop()
        self.points.append((samples, loss))
        if len(self.points) > self.max_points:
            half = self.max_points // 2
            self.points[:half] = self.points[:half:2]
        return True

    def note_labels(self, names: Sequence[str], samples: int) -> bool:
        """Mark the labels that are new since the last call; those of the first call are not.

        Returns:
            Whether the labels changed.
        """
        current = set(names)
        if current == self.known:
            return False
        if self.known is not None:
            self.introductions += [
                (samples, name) for name in names if name not in self.known]
        self.known = current
        self.introductions = [
            mark for mark in self.introductions if mark[1] in current][-self.max_points:]
        return True
