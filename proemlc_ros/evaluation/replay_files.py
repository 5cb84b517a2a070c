# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Results of runs over recordings as files for other programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.matching import seconds
from proemlc_ros.classifier.records import StampedVector
from proemlc_ros.core import Classification
from proemlc_ros.evaluation.replay_page import MEASURES
from proemlc_ros.evaluation.result import Result
from proemlc_ros.files import replace_text

FORMAT_VERSION = 1


def write_json(path: Path, results: Sequence[Result], bags: Sequence[str]) -> None:
    """Write everything that is known about the runs."""
    content = {
        'format': 'proemlc evaluation', 'version': FORMAT_VERSION, 'bags': list(bags),
        'runs': [_finite(result.as_dict()) for result in results],
    }
    replace_text(path, json.dumps(content, indent=1, allow_nan=False) + '\n')


def write_csv(path: Path, results: Sequence[Result]) -> None:
    """Write a line for each run and label, and one with the measures over all labels."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator='\n')
    table.writerow(['run', 'label', 'precision', 'recall', 'f1', 'support', 'first_seen_s',
                    *(f'all_{name}' for name in MEASURES)])
    for result in results:
        table.writerow([result.name, '', *[''] * 3, result.samples, '',
                        *(result.metrics.get(name, '') for name in MEASURES)])
        for one in result.labels:
            seen = '' if math.isnan(one.first_seen) else one.first_seen
            table.writerow([result.name, one.name, one.precision, one.recall, one.f1,
                            one.support, seen])
    replace_text(path, text.getvalue())


class PredictionFile(AbstractContextManager['PredictionFile']):
    """A CSV file with a line for every feature vector: stamp, labels, novelty, scores by name.

    Args:
        path: The file; it is replaced.

    """

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._file = path.open('w', encoding='utf-8', newline='')
        self._table = csv.writer(self._file, lineterminator='\n')
        self._table.writerow(['stamp', 'labels', 'novelty', 'scores'])

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def write(self, moment: StampedVector, said: Classification) -> None:
        """Write the prediction for one feature vector."""
        scores = dict(zip(said.names, said.scores.tolist(), strict=True))
        self._table.writerow([seconds(moment.stamp), ';'.join(said.labels),
                              f'{said.novelty:.9g}', json.dumps(scores, ensure_ascii=False)])


def _finite(value: Any) -> Any:
    """Put null for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value
