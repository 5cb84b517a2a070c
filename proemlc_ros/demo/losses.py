# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How well the stream was predicted: losses by picture, label and lesson."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.demo.curriculum import Curriculum, ScenePicture
from proemlc_ros.demo.operator_script import PredictionRecord

# Pictures that a curve averages over.
WINDOW = 25


def mistakes(
    pictures: Sequence[ScenePicture], predicted: Iterable[Iterable[str]], labels: Sequence[str],
) -> NDArray[np.bool_]:
    """Return which labels were decided wrongly, (pictures, labels)."""
    truth = np.array([[name in picture.objects for name in labels] for picture in pictures])
    said = np.array([[name in names for name in labels] for names in map(set, predicted)])
    return np.asarray(truth != said).reshape(len(pictures), len(labels))


def rolling_mean(values: NDArray[np.float64], window: int = WINDOW) -> NDArray[np.float64]:
    """Return the mean of each value and those before it, up to a window's length."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    last = np.arange(1, len(total))
    first = np.maximum(last - window, 0)
    return np.asarray((total[last] - total[first]) / (last - first))


class StreamLosses:
    """Losses of a stream of predictions against the truth of its pictures."""

    def __init__(self, curriculum: Curriculum, records: dict[int, PredictionRecord]) -> None:
        """Judge the records; pictures that never arrived are left out."""
        self.curriculum = curriculum
        self.pictures = [curriculum.pictures[number] for number in sorted(records)]
        self.records = [records[picture.number] for picture in self.pictures]
        self.wrong = mistakes(
            self.pictures, (record.predicted for record in self.records), curriculum.labels)
        self._exam = np.array([picture.exam for picture in self.pictures], bool)
        self._lesson = np.array([picture.phase for picture in self.pictures], int)

    @property
    def hamming(self) -> float:
        """Mean loss of all pictures so far, each over the labels introduced by then."""
        losses = self._losses(np.arange(len(self.pictures)))
        return float(losses.mean()) if len(losses) else float('nan')

    @property
    def exam_loss(self) -> float:
        """Hamming loss of the exam at the end."""
        return float(self.wrong[self._exam].mean())

    def lesson_losses(self) -> list[tuple[float, float]]:
        """For each lesson, the loss in its first and in its last third, over taught labels."""
        found = []
        for lesson in range(len(self.curriculum.labels)):
            rows = np.flatnonzero((self._lesson == lesson) & ~self._exam)
            part = max(1, len(rows) // 3)
            taught = self.wrong[:, :lesson + 1]
            found.append((float(taught[rows[:part]].mean()), float(taught[rows[-part:]].mean())))
        return found

    def curve(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return numbers and the rolling loss of the lessons' pictures, over taught labels."""
        rows = np.flatnonzero(~self._exam)
        return self._numbers(rows), rolling_mean(self._losses(rows))

    def label_curve(self, label: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return numbers and the rolling loss of one label, from the lesson that introduced it."""
        column = self.curriculum.labels.index(label)
        rows = np.flatnonzero(~self._exam & (self._lesson >= column))
        return self._numbers(rows), rolling_mean(self.wrong[rows, column].astype(float))

    def introductions(self) -> list[tuple[int, str]]:
        """Return the number of the picture at which each label was introduced."""
        firsts = [next(p.number for p in self.curriculum.pictures if p.phase == lesson)
                  for lesson in range(len(self.curriculum.labels))]
        return list(zip(firsts, self.curriculum.labels))

    def _losses(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([self.wrong[row, :self._lesson[row] + 1].mean() for row in rows], float)

    def _numbers(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([self.pictures[row].number for row in rows], np.int64)
