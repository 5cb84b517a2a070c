# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The results of evaluations, as objects and as files: JSON, CSV, and a CSV of predictions."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.matching import seconds
from proemlc_ros.core import Classification
from proemlc_ros.core.metrics import CurvePoint, PrequentialMetrics
from proemlc_ros.files import replace_text
from proemlc_ros.records import StampedVector

FORMAT_VERSION = 1

METRICS = {
    'hamming': 'Hamming loss', 'subset_accuracy': 'subset accuracy', 'accuracy': 'accuracy',
    'precision': 'precision', 'recall': 'recall', 'f1': 'example F1', 'micro_f1': 'micro F1',
    'macro_f1': 'macro F1', 'log_loss': 'log loss', 'calibration_error': 'calibration error',
}
"""Keys of the metrics in files and on the command line, with their titles."""


@dataclass(frozen=True)
class LabelResult:
    """Metrics of one label; first_seen is in seconds from the beginning of the first bag."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    first_sample: int
    first_seen: float


@dataclass(frozen=True)
class EvaluationResult:
    """One run of a model over bags.

    Attributes:
        name: What distinguishes the run: a model file or settings.
        settings: The settings of the model.
        learning: Whether the model learnt while it was tested.
        samples: Annotations compared.
        vectors: Feature vectors read.
        seconds: Duration of the run.
        metrics: Metrics by key; empty where nothing was annotated.
        labels: One entry per label, in the order of their first appearance.
        confusion: For each label, what was predicted instead when it was missed.
        curve: Hamming loss over the stream.
        latency_ms: Percentiles of a single prediction: p50 and p95.
        rejects: Numbers of what was rejected, by cause.
        notes: Defects of the bags.

    """

    name: str
    settings: dict[str, Any]
    learning: bool
    samples: int
    vectors: int
    seconds: float
    metrics: dict[str, float]
    labels: list[LabelResult]
    confusion: dict[str, dict[str, int]]
    curve: list[CurvePoint]
    latency_ms: dict[str, float]
    rejects: dict[str, int]
    notes: list[str] = field(default_factory=list)


def label_results(metrics: PrequentialMetrics, start: int) -> list[LabelResult]:
    """Return the metrics of each label: in the order of appearance, then those never present.

    Args:
        metrics: Of the run.
        start: Beginning of the first bag in nanoseconds.

    """
    ordered = sorted(metrics.labels.items(),
                     key=lambda item: (not item[1].support, item[1].first_sample))
    return [
        LabelResult(name, one.precision, one.recall, one.f1, one.support, one.first_sample,
                    (one.first_time - start) / 1e9 if one.support else float('nan'))
        for name, one in ordered
    ]


def write_json(path: Path, results: Sequence[EvaluationResult], bags: Sequence[str]) -> None:
    """Write the results whole; `bags` names the bags that were played."""
    content = {
        'format': 'proemlc evaluation', 'version': FORMAT_VERSION, 'bags': list(bags),
        'runs': [_finite(asdict(result)) for result in results],
    }
    replace_text(path, json.dumps(content, indent=1, allow_nan=False) + '\n')


def write_csv(path: Path, results: Sequence[EvaluationResult]) -> None:
    """Write a line per run with its metrics, followed by a line per label."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator='\n')
    table.writerow(['run', 'label', 'precision', 'recall', 'f1', 'support', 'first_seen_s',
                    *(f'all_{name}' for name in METRICS)])
    for result in results:
        table.writerow([result.name, '', *[''] * 3, result.samples, '',
                        *(result.metrics.get(name, '') for name in METRICS)])
        for one in result.labels:
            seen = '' if math.isnan(one.first_seen) else one.first_seen
            table.writerow([result.name, one.name, one.precision, one.recall, one.f1,
                            one.support, seen])
    replace_text(path, text.getvalue())


class PredictionFile(AbstractContextManager['PredictionFile']):
    """A CSV file with a line per feature vector: stamp, labels, novelty, scores by name, region.

    Args:
        path: The file; it is replaced.

    """

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._file = path.open('w', encoding='utf-8', newline='')
        self._table = csv.writer(self._file, lineterminator='\n')
        self._table.writerow(['stamp', 'labels', 'novelty', 'scores', 'region'])

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def write(self, vector: StampedVector, prediction: Classification) -> None:
        """Write the prediction for one feature vector."""
        scores = dict(zip(prediction.names, prediction.scores.tolist(), strict=True))
        self._table.writerow([seconds(vector.stamp), ';'.join(prediction.labels),
                              f'{prediction.novelty:.9g}',
                              json.dumps(scores, ensure_ascii=False),
                              '' if vector.region.is_whole else json.dumps(
                                  vector.region._asdict(), ensure_ascii=False)])


def _finite(value: Any) -> Any:
    """Put null for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value
