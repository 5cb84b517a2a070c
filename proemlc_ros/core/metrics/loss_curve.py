# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The Hamming loss over a stream of any length, as a curve in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_MOST_POINTS = 1024


class CurvePoint(NamedTuple):
    """The loss of one section of the stream.

    Attributes:
        samples: Number of the section's last sample, from 1.
        loss: Hamming loss of the section.
        loss_so_far: Hamming loss from the first sample to that one.

    """

    samples: int
    loss: float
    loss_so_far: float


class LossCurve:
    """Wrong label decisions over all label decisions, by sections of the stream.

    There are at most 1024 sections: when there are more, neighbours are joined, so that only
    detail is lost.

    >>> curve = LossCurve()
    >>> for wrong in (2, 1, 0, 0):
    ...     curve.add(wrong, 4)
    >>> curve.points()[-1]
    CurvePoint(samples=4, loss=0.0, loss_so_far=0.1875)
    """

    def __init__(self) -> None:
        """Start without samples."""
        self.samples = 0
        self._section_length = 1
        self._sections: list[tuple[int, int]] = []
        # Of the section that is not full yet.
        self._wrong = self._judged = 0

    def add(self, wrong: int, judged: int) -> None:
        """Add a sample: its wrong label decisions, and all of its label decisions."""
        self.add_block((wrong,), (judged,))

    def add_block(self, wrong: Sequence[int], judged: Sequence[int]) -> None:
        """Add samples in order; both arguments have one entry per sample."""
        start = 0
        while start < len(wrong):
            missing = self._section_length - self.samples % self._section_length
            section = slice(start, min(start + missing, len(wrong)))
            self.samples += section.stop - start
            self._wrong += sum(wrong[section])
            self._judged += sum(judged[section])
            if self.samples % self._section_length == 0:
                self._close_section()
            start = section.stop

    def points(self) -> list[CurvePoint]:
        """Return one point per section."""
        points, wrong, judged = [], 0, 0
        sections = list(self._sections)
        if self._judged:
            sections.append((self._wrong, self._judged))
        for number, (more_wrong, more_judged) in enumerate(sections, 1):
            wrong, judged = wrong + more_wrong, judged + more_judged
            points.append(CurvePoint(min(number * self._section_length, self.samples),
                                     more_wrong / max(1, more_judged), wrong / max(1, judged)))
        return points

    def _close_section(self) -> None:
        self._sections.append((self._wrong, self._judged))
        self._wrong = self._judged = 0
        if len(self._sections) == _MOST_POINTS:
            pairs = zip(self._sections[::2], self._sections[1::2], strict=True)
            self._sections = [(a[0] + b[0], a[1] + b[1]) for a, b in pairs]
            self._section_length *= 2
