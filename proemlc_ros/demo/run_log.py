# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the operator records during a run, for the progress display and for the report."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.losses import StreamLosses
from proemlc_ros.demo.operator_script import OperatorScript, PredictionRecord, Step

# The keys in this file are read by others: 'taught', 'refusals' and 'slip' stay as they are.
LOG_FILE = 'diary.json'
VECTORS_FILE = 'features.npz'


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
    """Collects the events of a run and writes them to a folder.

    Args:
        folder: an existing folder.
        curriculum: what the pictures show.
    """

    def __init__(self, folder: Path, curriculum: Curriculum) -> None:
        self._folder = folder
        self._curriculum = curriculum
        self._start = time.monotonic()
        self._label_sets: list[tuple[float, tuple[str, ...]]] = []
        self._rejections: list[tuple[int, str]] = []
        self.mistake: OperatorMistake | None = None

    def seconds(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._start

    def labels(self, names: tuple[str, ...]) -> None:
        """Record the labels that the classifier knows."""
        if not self._label_sets or self._label_sets[-1][1] != names:
            self._label_sets.append((self.seconds(), names))

    def rejected(self, step: Step, text: str) -> None:
        """Record an annotation that the classifier rejected."""
        self._rejections.append((step.picture.number, text))

    def progress(self, script: OperatorScript, known: tuple[str, ...]) -> dict[str, Any]:
        """Return the state of the run, for the progress display."""
        records = list(script.records.values())
        recent = [record for record in records[-200:] if record.at > self.seconds() - 2]
        loss = StreamLosses(self._curriculum, script.records).hamming if records else None
        return {
            'seconds': self.seconds(), 'seen': len(records), 'learnt': len(script.learnt),
            'pictures': len(self._curriculum.pictures), 'labels': list(known), 'hamming': loss,
            'rate': len(recent) / 2,
            'mistake': asdict(self.mistake) if self.mistake else None,
            'phase': self._curriculum.pictures[records[-1].number].phase if records else 0,
        }

    def write(self, script: OperatorScript, vectors: dict[int, NDArray[np.float32]],
              saved: str) -> None:
        """Write everything to the folder."""
        numbers = np.array(list(vectors), np.int64)
        np.savez(self._folder / VECTORS_FILE, numbers=numbers, vectors=list(vectors.values()))
        content = {
            'records': [asdict(record) for record in script.records.values()],
            'taught': script.learnt, 'label_sets': self._label_sets, 'saved': saved,
            'refusals': self._rejections, 'slip': asdict(self.mistake) if self.mistake else None,
            'seconds': self.seconds(),
        }
        (self._folder / LOG_FILE).write_text(json.dumps(content))


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, read back from its folder."""

    records: dict[int, PredictionRecord]
    learnt: list[int]
    label_sets: list[tuple[float, tuple[str, ...]]]
    rejections: list[tuple[int, str]]
    mistake: OperatorMistake | None
    seconds: float
    saved: str
    vectors: dict[int, NDArray[np.float32]]


def read_run(folder: Path) -> FinishedRun:
    """Read what the operator has written to a folder."""
    content = json.loads((folder / LOG_FILE).read_text())
    with np.load(folder / VECTORS_FILE) as stored:
        vectors = dict(zip(stored['numbers'].tolist(), stored['vectors']))
    records = [
        PredictionRecord(**{**entry, 'predicted': tuple(entry['predicted']),
                            'known': tuple(entry['known'])}) for entry in content['records']]
    mistake = content['slip']
    return FinishedRun(
        records={record.number: record for record in records}, learnt=content['taught'],
        label_sets=[(at, tuple(names)) for at, names in content['label_sets']],
        rejections=[(number, text) for number, text in content['refusals']],
        mistake=OperatorMistake(
            **{**mistake, 'labels': tuple(mistake['labels'])}) if mistake else None,
        seconds=content['seconds'], saved=content['saved'], vectors=vectors)
