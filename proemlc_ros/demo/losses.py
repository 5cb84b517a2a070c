# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How well the stream was predicted: Hamming loss by picture, label and phase."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.demo.curriculum import Curriculum, ScenePicture
from proemlc_ros.demo.operator_script import PredictionRecord

# Pictures that a curve averages over.
WINDOW = 25

Curve = tuple[NDArray[np.int64], NDArray[np.float64]]


def hamming_loss_of(
    pictures: Sequence[ScenePicture], predicted: Iterable[Iterable[str]], labels: Sequence[str],
) -> float:
    """Return the Hamming loss of predictions over some labels; NaN without pictures."""
    metrics, judged = PrequentialMetrics(), JudgedLabels.only(labels)
    for picture, names in zip(pictures, predicted, strict=True):
        metrics.add(names, picture.objects, judged)
    return float('nan') if metrics.loss is None else metrics.loss


class StreamLosses:
    """Losses of a stream of predictions against the truth of its pictures.

    Args:
        curriculum: The truth.
        records: Predictions by picture number; pictures that never arrived are left out.

    """

    def __init__(self, curriculum: Curriculum, records: dict[int, PredictionRecord]) -> None:
        """Take the predictions in the order of the pictures."""
        self.curriculum = curriculum
        self._records = records
        self._pictures = [curriculum.pictures[number] for number in sorted(records)]
        self._phases = [picture for picture in self._pictures if not picture.exam]
        self._exam = [picture for picture in self._pictures if picture.exam]
        # The labels introduced by each phase; the exam has all of them.
        labels = curriculum.labels
        self._introduced = [JudgedLabels.only(labels[:phase + 1])
                            for phase in range(len(labels) + 1)]

    @property
    def hamming(self) -> float:
        """Loss of all pictures so far, each over the labels introduced by then."""
        metrics = PrequentialMetrics()
        for picture in self._pictures:
            self._judge(metrics, picture, self._introduced[picture.phase])
        return float('nan') if metrics.loss is None else metrics.loss

    @property
    def exam_loss(self) -> float:
        """Loss of the exam at the end, over all labels."""
        return self._loss(self._exam, self.curriculum.labels)

    def phase_losses(self) -> list[tuple[float, float]]:
        """For each phase, the loss in its first and in its last third, over its labels."""
        found = []
        for phase in range(len(self.curriculum.labels)):
            pictures = [picture for picture in self._phases if picture.phase == phase]
            third = max(1, len(pictures) // 3)
            labels = self.curriculum.labels[:phase + 1]
            found.append((self._loss(pictures[:third], labels),
                          self._loss(pictures[-third:], labels)))
        return found

    def curve(self) -> Curve:
        """Return picture numbers and the rolling loss of the phases, over introduced labels."""
        return self._rolling((picture, self._introduced[picture.phase])
                             for picture in self._phases)

    def label_curve(self, label: str) -> Curve:
        """Return picture numbers and the rolling loss of one label since its introduction."""
        column, judged = self.curriculum.labels.index(label), JudgedLabels.only([label])
        return self._rolling((picture, judged)
                             for picture in self._phases if picture.phase >= column)

    def introductions(self) -> list[tuple[int, str]]:
        """Return the number of the picture at which each label was introduced."""
        firsts = [next(p.number for p in self.curriculum.pictures if p.phase == phase)
                  for phase in range(len(self.curriculum.labels))]
        return list(zip(firsts, self.curriculum.labels, strict=True))

    def _loss(self, pictures: Sequence[ScenePicture], labels: Sequence[str]) -> float:
        return hamming_loss_of(
            pictures, (self._records[picture.number].predicted for picture in pictures), labels)

    def _judge(self, metrics: PrequentialMetrics, picture: ScenePicture,
               judged: JudgedLabels) -> None:
        metrics.add(self._records[picture.number].predicted, picture.objects, judged)

    def _rolling(self, stream: Iterable[tuple[ScenePicture, JudgedLabels]]) -> Curve:
        metrics, numbers, losses = PrequentialMetrics(WINDOW), [], []
        for picture, judged in stream:
            self._judge(metrics, picture, judged)
            numbers.append(picture.number)
            losses.append(metrics.loss)
        return np.array(numbers, np.int64), np.array(losses, np.float64)
