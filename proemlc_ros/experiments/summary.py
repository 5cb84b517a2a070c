# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Means and spreads over folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from proemlc_ros.experiments.our_runs import Record

MEASURES = ('hamming_loss', 'f1_example', 'accuracy', 'precision', 'recall', 'f1_paper',
            'subset_accuracy', 'f1_micro', 'f1_macro', 'one_error', 'coverage', 'ranking_loss',
            'average_precision', 'training_seconds', 'at_once_seconds', 'test_seconds',
            'choice_seconds', 'memory_bytes')


@dataclass(frozen=True, eq=False)
class Summary:
    """One method, variant and pattern on one data set, over its folds."""

    data: str
    method: str
    variant: str
    pattern: str
    folds: int
    numbers: tuple[int, ...]
    means: dict[str, float]
    spreads: dict[str, float]

    def text(self, measure: str, digits: int = 3) -> str:
        """Return mean and spread for a table."""
        return f'{self.means[measure]:.{digits}f} ± {self.spreads[measure]:.{digits}f}'


def summarise(records: Sequence[Record]) -> list[Summary]:
    """Return a summary for each method, variant and pattern, in order of appearance."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        key = (record['data'], record['method'], record['variant'], record['pattern'])
        groups.setdefault(key, []).append(record)
    summaries = []
    for (data, method, variant, pattern), members in groups.items():
        values = {name: np.array([_value(member, name) for member in members])
                  for name in MEASURES}
        summaries.append(Summary(
            data, method, variant, pattern, len(members),
            tuple(sorted(member['fold'] for member in members)),
            {name: float(value.mean()) for name, value in values.items()},
            {name: float(value.std()) for name, value in values.items()}))
    return summaries


def _value(record: Record, name: str) -> float:
    # Rivals learn nothing but at once.
    value: float = record['training_seconds'] if name not in record else record[name]
    return value


def by_fold(records: Sequence[Record], one: Summary, measure: str) -> dict[int, float]:
    """Return a measure for each fold of a summary."""
    return {record['fold']: _value(record, measure) for record in records if (
        record['data'], record['method'], record['variant'], record['pattern']) == (
            one.data, one.method, one.variant, one.pattern)}


def on_folds(records: Sequence[Record], like: Summary, numbers: Sequence[int]) -> Summary:
    """Return the summary of the same runs over some of its folds only."""
    wanted = (like.data, like.method, like.variant, like.pattern)
    return summarise([
        record for record in records if record['fold'] in numbers and wanted == (
            record['data'], record['method'], record['variant'], record['pattern'])])[0]


def pick(summaries: Sequence[Summary], wanted: Callable[[Summary], bool]) -> list[Summary]:
    """Return the summaries that are wanted."""
    return [summary for summary in summaries if wanted(summary)]
