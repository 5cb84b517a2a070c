# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the operator records during a run of the demo, and how well the stream was predicted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.demo.curriculum import Curriculum, ScenePicture

# The keys in this file are read by others: 'taught', 'refusals' and 'slip' stay as they are.
_LOG_FILE = 'diary.json'
_VECTORS_FILE = 'features.npz'
# Pictures that a curve averages over.
WINDOW = 25

_Curve = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass
class _PredictionRecord:
    """What the classifier predicted for a picture."""

    number: int
    predicted: tuple[str, ...]
    known: tuple[str, ...]
    """Labels that the classifier knew at that time."""
    at: float
    """Seconds since the beginning."""


@dataclass(frozen=True)
class OperatorMistake:
    """The operator's mistake and how it was undone."""

    number: int
    labels: tuple[str, ...]
    answer: str
    """The message of the undo service."""
    labels_before: int
    labels_during: int
    labels_after: int
    difference: float
    """Largest change of any score between before the mistake and after the undo."""


class RunLog:
    """The events of a run: collected, written to a folder, and read from there.

    Args:
        folder: an existing folder.
        curriculum: what the pictures show.

    Attributes:
        curriculum: what the pictures show.
        label_sets: the labels that the classifier knew, each with the seconds since the beginning.
        records: predictions by the number of the picture.
        vectors: features by the number of the picture.
        learnt: numbers of the pictures that were annotated.
        rejections: numbers of pictures whose annotation was rejected, and why.
        mistake: the operator's mistake, once it happened.
        saved: what the classifier said of the saved model, at the end.
    """

    def __init__(self, folder: Path, curriculum: Curriculum) -> None:
        self._folder = folder
        self.curriculum = curriculum
        self._start = time.monotonic()
        self._ended: float | None = None
        self.label_sets: list[tuple[float, tuple[str, ...]]] = []
        self.records: dict[int, _PredictionRecord] = {}
        self.vectors: dict[int, NDArray[np.float32]] = {}
        self.learnt: list[int] = []
        self.rejections: list[tuple[int, str]] = []
        self.mistake: OperatorMistake | None = None
        self.saved = ''

    @classmethod
    def read(cls, folder: Path, curriculum: Curriculum) -> RunLog:
        """Return a finished run that `write` has written to a folder."""
        content = json.loads((folder / _LOG_FILE).read_text())
        run = cls(folder, curriculum)
        run.records = {entry['number']: _PredictionRecord(**{
            **entry, 'predicted': tuple(entry['predicted']), 'known': tuple(entry['known'])})
            for entry in content['records']}
        with np.load(folder / _VECTORS_FILE) as stored:
            run.vectors = dict(zip(stored['numbers'].tolist(), stored['vectors']))
        run.learnt, run.saved, run._ended = content['taught'], content['saved'], content['seconds']
        run.label_sets = [(at, tuple(names)) for at, names in content['label_sets']]
        run.rejections = [(number, text) for number, text in content['refusals']]
        if mistake := content['slip']:
            run.mistake = OperatorMistake(**{**mistake, 'labels': tuple(mistake['labels'])})
        return run

    @property
    def seconds(self) -> float:
        """Duration of the run so far, or of a finished one."""
        return time.monotonic() - self._start if self._ended is None else self._ended

    @property
    def known(self) -> tuple[str, ...]:
        """Labels that the classifier knows now."""
        return self.label_sets[-1][1] if self.label_sets else ()

    def labels(self, names: tuple[str, ...]) -> None:
        """Record the labels that the classifier knows."""
        if not self.label_sets or self.known != names:
            self.label_sets.append((self.seconds, names))

    def predicted(self, number: int, labels: tuple[str, ...]) -> None:
        """Record the prediction for a picture."""
        self.records[number] = _PredictionRecord(number, labels, self.known, self.seconds)

    def progress(self) -> dict[str, Any]:
        """Return the state of the run, for the progress display."""
        records = list(self.records.values())
        recent = [record for record in records[-200:] if record.at > self.seconds - 2]
        loss = StreamLosses(self.curriculum, self.records).hamming if records else None
        return {
            'seconds': self.seconds, 'seen': len(records), 'learnt': len(self.learnt),
            'pictures': len(self.curriculum.pictures), 'labels': list(self.known),
            'hamming': loss, 'rate': len(recent) / 2,
            'mistake': asdict(self.mistake) if self.mistake else None,
            'phase': self.curriculum.pictures[records[-1].number].phase if records else 0,
        }

    def write(self, saved: str) -> None:
        """Write everything to the folder, with what the classifier said of the saved model."""
        numbers = np.array(list(self.vectors), np.int64)
        np.savez(self._folder / _VECTORS_FILE, numbers=numbers,
                 vectors=list(self.vectors.values()))
        content = {
            'records': [asdict(record) for record in self.records.values()],
            'taught': self.learnt, 'label_sets': self.label_sets, 'saved': saved,
            'refusals': self.rejections, 'slip': asdict(self.mistake) if self.mistake else None,
            'seconds': self.seconds,
        }
        (self._folder / _LOG_FILE).write_text(json.dumps(content))


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

    def __init__(self, curriculum: Curriculum, records: dict[int, _PredictionRecord]) -> None:
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

    def curve(self) -> _Curve:
        """Return picture numbers and the rolling loss of the phases, over introduced labels."""
        return self._rolling((picture, self._introduced[picture.phase])
                             for picture in self._phases)

    def label_curve(self, label: str) -> _Curve:
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

    def _rolling(self, stream: Iterable[tuple[ScenePicture, JudgedLabels]]) -> _Curve:
        metrics, numbers, losses = PrequentialMetrics(WINDOW), [], []
        for picture, judged in stream:
            self._judge(metrics, picture, judged)
            numbers.append(picture.number)
            losses.append(metrics.loss)
        return np.array(numbers, np.int64), np.array(losses, np.float64)
