# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the operator writes down during the session, for the display and for the report."""

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

DIARY_FILE = 'diary.json'
VECTORS_FILE = 'features.npz'


@dataclass(frozen=True)
class OperatorMistake:
    """The operator's mistake and how it was taken back."""

    number: int
    labels: tuple[str, ...]
    answer: str
    """What the undo service said."""
    labels_before: int
    labels_during: int
    labels_after: int
    difference: float
    """Largest change of any score between before the mistake and after the undo."""


class RunLog:
    """Collects the events of a session and writes them to a folder."""

    def __init__(self, folder: Path, curriculum: Curriculum) -> None:
        """Begin; `folder` exists."""
        self._folder = folder
        self._curriculum = curriculum
        self._start = time.monotonic()
        self._label_sets: list[tuple[float, tuple[str, ...]]] = []
        self._refusals: list[tuple[int, str]] = []
        self.slip: OperatorMistake | None = None

    def seconds(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._start

    def labels(self, names: tuple[str, ...]) -> None:
        """Note the labels that the classifier says it knows."""
        if not self._label_sets or self._label_sets[-1][1] != names:
            self._label_sets.append((self.seconds(), names))

    def refused(self, step: Step, text: str) -> None:
        """Note an annotation that the classifier refused."""
        self._refusals.append((step.picture.number, text))

    def progress(self, script: OperatorScript, known: tuple[str, ...]) -> dict[str, Any]:
        """Return where the session stands, for the display."""
        records = list(script.records.values())
        recent = [record for record in records[-200:] if record.at > self.seconds() - 2]
        loss = StreamLosses(self._curriculum, script.records).hamming if records else None
        return {
            'seconds': self.seconds(), 'seen': len(records), 'taught': len(script.taught),
            'pictures': len(self._curriculum.pictures), 'labels': list(known), 'hamming': loss,
            'rate': len(recent) / 2, 'slip': asdict(self.slip) if self.slip else None,
            'lesson': self._curriculum.pictures[records[-1].number].lesson if records else 0,
        }

    def write(self, script: OperatorScript, vectors: dict[int, NDArray[np.float32]],
              saved: str) -> None:
        """Write everything to the folder."""
        numbers = np.array(list(vectors), np.int64)
        np.savez(self._folder / VECTORS_FILE, numbers=numbers, vectors=list(vectors.values()))
        content = {
            'records': [asdict(record) for record in script.records.values()],
            'taught': script.taught, 'label_sets': self._label_sets, 'saved': saved,
            'refusals': self._refusals, 'slip': asdict(self.slip) if self.slip else None,
            'seconds': self.seconds(),
        }
        (self._folder / DIARY_FILE).write_text(json.dumps(content))


@dataclass(frozen=True)
class FinishedRun:
    """A finished session, read back from its folder."""

    records: dict[int, PredictionRecord]
    taught: list[int]
    label_sets: list[tuple[float, tuple[str, ...]]]
    refusals: list[tuple[int, str]]
    slip: OperatorMistake | None
    seconds: float
    saved: str
    vectors: dict[int, NDArray[np.float32]]


def read_session(folder: Path) -> FinishedRun:
    """Read what an operator has written."""
    content = json.loads((folder / DIARY_FILE).read_text())
    with np.load(folder / VECTORS_FILE) as stored:
        vectors = dict(zip(stored['numbers'].tolist(), stored['vectors']))
    records = [PredictionRecord(**{**entry, 'predicted': tuple(entry['predicted']),
                         'known': tuple(entry['known'])}) for entry in content['records']]
    slip = content['slip']
    return FinishedRun(
        records={record.number: record for record in records}, taught=content['taught'],
        label_sets=[(at, tuple(names)) for at, names in content['label_sets']],
        refusals=[tuple(entry) for entry in content['refusals']],
        slip=OperatorMistake(**{**slip, 'labels': tuple(slip['labels'])}) if slip else None,
        seconds=content['seconds'], saved=content['saved'], vectors=vectors)
