# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Means and standard deviations over the folds, from records or from an earlier run's table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.runs import Record

METRICS = ('hamming_loss', 'f1_example', 'accuracy', 'precision', 'recall', 'f1_paper',
           'subset_accuracy', 'f1_micro', 'f1_macro', 'one_error', 'coverage', 'ranking_loss',
           'average_precision', 'training_seconds', 'at_once_seconds', 'test_seconds',
           'choice_seconds', 'memory_bytes')
_NAMES = ('run', 'data', 'method', 'variant', 'pattern', 'folds')
_DEVIATION = ' sd'


@dataclass(frozen=True, eq=False)
class Summary:
    """One method, variant and pattern on one data set, over its folds.

    Attributes:
        data: The data set.
        method: The method.
        variant: Its variant; see runs.py.
        pattern: The label introduction pattern; empty for a baseline.
        numbers: The folds that it ran on.
        means: Metric to mean; NaN: not known.
        deviations: Metric to standard deviation; NaN: not known.
        run: Date, versions and machine of the run that it comes from.
        records: One per fold; empty where only the earlier run's table is there.

    """

    data: str
    method: str
    variant: str
    pattern: str
    numbers: tuple[int, ...]
    means: dict[str, float]
    deviations: dict[str, float]
    run: str = ''
    records: tuple[Record, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifier among the summaries of an experiment."""
        return self.data, self.method, self.variant, self.pattern

    @property
    def folds(self) -> int:
        """Number of folds that it ran on."""
        return len(self.numbers)

    def text(self, metric: str, digits: int = 3) -> str:
        """Return mean and standard deviation for a table."""
        return f'{self.means[metric]:.{digits}f} ± {self.deviations[metric]:.{digits}f}'

    def error(self, metric: str) -> float:
        """Return the standard error of the mean over the folds."""
        return self.deviations[metric] / float(np.sqrt(max(1, self.folds - 1)))

    def by_fold(self, metric: str) -> dict[int, float]:
        """Return a metric for each fold; empty where the records are not there."""
        return {record['fold']: _value(record, metric) for record in self.records}

    def on_folds(self, numbers: Sequence[int]) -> Summary:
        """Return the summary over some of the folds; over all where the records are not there."""
        found = summarise((record for record in self.records if record['fold'] in numbers),
                          self.run)
        return found[0] if found else self


def summarise(records: Iterable[Record], run: str = '') -> list[Summary]:
    """Return a summary for each method, variant and pattern, in order of appearance."""
    groups: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in records:
        key = record['data'], record['method'], record['variant'], record['pattern']
        groups.setdefault(key, []).append(record)
    summaries = []
    for key, members in groups.items():
        values = {name: np.array([_value(member, name) for member in members])
                  for name in METRICS}
        summaries.append(Summary(
            *key, tuple(sorted(member['fold'] for member in members)),
            {name: float(value.mean()) for name, value in values.items()},
            {name: float(value.std()) for name, value in values.items()}, run, tuple(members)))
    return summaries


def pick(summaries: Iterable[Summary], *variants: str, data: str | None = None,
         method: str | None = None, pattern: str | None = None) -> list[Summary]:
    """Return the summaries of some variants; None: of any data set, method or pattern."""
    return [one for one in summaries if one.variant in variants and all(
        wanted in (None, found) for wanted, found in (
            (data, one.data), (method, one.method), (pattern, one.pattern)))]


def add_missing(kept: Sequence[Summary], more: Sequence[Summary]) -> list[Summary]:
    """Return the summaries of an earlier run with those that it lacks, sorted by data set."""
    known = {one.key for one in kept}
    together = [*kept, *(one for one in more if one.key not in known)]
    sets = list(dict.fromkeys(one.data for one in together))
    return sorted(together, key=lambda one: sets.index(one.data))


def write_summaries(summaries: Iterable[Summary], path: Path) -> None:
    """Write a CSV file, one line per summary; read_summaries() reads it."""
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow([*_NAMES, *METRICS, *(name + _DEVIATION for name in METRICS)])
        for one in summaries:
            values = [values[name] for values in (one.means, one.deviations) for name in METRICS]
            writer.writerow([one.run, *one.key, ' '.join(map(str, one.numbers)),
                             *('' if np.isnan(value) else f'{value:.6g}' for value in values)])


def read_summaries(path: Path) -> list[Summary]:
    """Read what write_summaries() wrote; empty cells are figures that are not known.

    Raises:
        DataSetError: The file cannot be read or is not such a table.

    """
    try:
        with path.open(newline='', encoding='utf-8') as file:
            return [_from_row(row) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataSetError(f'{path}: not a table of results as `proemlc paper` writes it into '
                           f'results/summary.csv ({error})') from error


def _from_row(row: dict[str, str]) -> Summary:
    means, deviations = ({name: float(row[name + ending] or 'nan') for name in METRICS}
                         for ending in ('', _DEVIATION))
    return Summary(row['data'], row['method'], row['variant'], row['pattern'],
                   tuple(int(number) for number in row['folds'].split()), means, deviations,
                   row['run'])


def _value(record: Record, name: str) -> float:
    # Baselines learn in one batch only.
    value: float = record['training_seconds'] if name not in record else record[name]
    return value
