# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Means over the folds, and the paper's tables of them in Markdown."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proemlc_ros.errors import DataSetError
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.baselines import BASELINES, baseline_class
from proemlc_ros.experiments.paper import TABLE_1, TABLE_2, TABLE_4
from proemlc_ros.experiments.runs import (
    DEFAULT,
    LEAST_ERRORS,
    PAPER_ORDERS,
    SAME_RULE,
    SELECTED,
    SMALL,
    STOCK,
    Record,
)
from proemlc_ros.label_text import csv_text

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
        values = {name: np.array([_value(member, name) for member in members]) for name in METRICS}
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
    rows = [[*_NAMES, *METRICS, *(name + _DEVIATION for name in METRICS)]]
    for one in summaries:
        values = [values[name] for values in (one.means, one.deviations) for name in METRICS]
        rows.append([one.run, *one.key, ' '.join(map(str, one.numbers)),
                     *('' if np.isnan(value) else f'{value:.6g}' for value in values)])
    path.write_text(csv_text(rows), encoding='utf-8')


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


OURS_AS = {variant: f'ours, {variant}' for variant in (SELECTED, DEFAULT, LEAST_ERRORS, SMALL)}
# Behind a time that was measured in another run than the first rows of the page.
OTHER_RUN = '†'

_DIGITS = {'corel5k': 4, 'medical': 4}
_TABLE_2_METRICS = (('hamming_loss', 'Hamming loss'), ('accuracy', 'accuracy'),
                    ('precision', 'precision'), ('recall', 'recall'), ('f1_paper', 'F1'),
                    ('f1_example', 'example-based F1'))
_AGAIN = dict(zip(PAPER_ORDERS, (
    'its formulas, run here', 'its formulas, labels introduced late',
    'its formulas, labels strictly in turn'), strict=True))
# Our rows of Table IV: variant, time, and whether the paper's figure belongs to it.
_OUR_TIMES = {
    'ours, selected settings, one by one': (SELECTED, 'training_seconds', True),
    'ours, selected settings, in one batch': (SELECTED, 'at_once_seconds', False),
    'ours, default settings, one by one': (DEFAULT, 'training_seconds', False),
    'ours, default settings, in one batch': (DEFAULT, 'at_once_seconds', False),
    'ours, small, in one batch': (SMALL, 'at_once_seconds', False),
}


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ['| ' + ' | '.join(header) + ' |', '|' + '---|' * len(header)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows])


def row_name(one: Summary) -> str:
    """Return what tables call the row of a method and variant."""
    return OURS_AS.get(one.variant) or _AGAIN.get(one.variant) or one.method


def table_1(sets: Sequence[DataSet]) -> str:
    """Return the characteristics of the data sets, the paper's in brackets."""
    def row(name: str, ours: list[str], paper: list[str]) -> list[str]:
        return [name, *(mine if not theirs else f'{mine} ({theirs})'
                        for mine, theirs in zip(ours, paper, strict=True))]

    known = [TABLE_1.get(data.name) for data in sets]
    return markdown(['', *(data.name for data in sets)], [
        row('features', [str(data.X.shape[1]) for data in sets],
            [str(one.features) if one else '' for one in known]),
        row('samples', [str(len(data)) for data in sets],
            [str(one.samples) if one else '' for one in known]),
        row('labels', [str(data.Y.shape[1]) for data in sets],
            [str(one.labels) if one else '' for one in known]),
        row('label density', [f'{data.density:.4f}' for data in sets],
            [f'{one.density:.3f}' if one else '' for one in known]),
        row('label cardinality', [f'{data.cardinality:.3f}' for data in sets],
            [f'{one.cardinality:.2f}' if one else '' for one in known]),
    ])


def table_2(summaries: Sequence[Summary]) -> str:
    """Return for each pattern the paper's figures, its formulas run here, and our learner."""
    rows = []
    cases = dict.fromkeys((one.data, one.pattern) for one in pick(summaries, SELECTED, DEFAULT))
    for data, pattern in cases:
        paper = TABLE_2.get((data, pattern))
        if paper is not None:
            printed = (getattr(paper, name, None) for name, _ in _TABLE_2_METRICS)
            rows.append([data, pattern, 'paper, as printed',
                         *('-' if value is None else f'{value:.3f}' for value in printed),
                         f'{paper.training_seconds:.2f}', f'{paper.test_seconds:.3f}'])
        here = [found for variant in (*PAPER_ORDERS, DEFAULT, SELECTED)
                for found in pick(summaries, variant, data=data, pattern=pattern)]
        rows += [[data, pattern, _AGAIN.get(one.variant) or f'**{row_name(one)}**',
                  *(one.text(name, _DIGITS.get(data, 3) if name == 'hamming_loss' else 3)
                    for name, _ in _TABLE_2_METRICS),
                  _seconds(summaries, one, 'training_seconds', 2),
                  _seconds(summaries, one, 'test_seconds', 3)] for one in here]
    return markdown(['data', 'pattern', 'run', *(title for _, title in _TABLE_2_METRICS),
                     'training s', 'test s'], rows)


def comparison(summaries: Sequence[Summary], data: str) -> str:
    """Return all methods on one data set, with their own decision rule and with ours.

    Beside a baseline stands what our selected settings reach on the folds that it ran on.
    """
    rows = []
    reference = pick(summaries, SELECTED, data=data)[-1]
    ours = [one for variant in OURS_AS for one in pick(summaries, variant, data=data)[-1:]]
    for variant, title in ((STOCK, 'own'), (SAME_RULE, 'ours')):
        baselines = pick(summaries, variant, data=data)
        for one in sorted(ours + baselines, key=lambda one: -one.means['f1_example']):
            digits = _DIGITS.get(data, 3)
            beside = reference.on_folds(one.numbers)
            rows.append([
                title, f'**{row_name(one)}**' if one in ours else row_name(one),
                str(one.folds), one.text('hamming_loss', digits), one.text('f1_example'),
                f'{beside.means["hamming_loss"]:.{digits}f}, {beside.means["f1_example"]:.3f}',
                *(f'{one.means[key]:.3f}' for key in (
                    'accuracy', 'precision', 'recall', 'f1_paper')),
                _seconds(summaries, one, 'at_once_seconds', 2),
                _seconds(summaries, one, 'training_seconds', 2) if one in ours else '-',
                _seconds(summaries, one, 'test_seconds', 3),
                f'{one.means["memory_bytes"] / 2**20:.0f}'])
    return markdown(['decision rule', 'method', 'folds', 'Hamming loss', 'example-based F1',
                     'ours, selected, on these folds', 'accuracy', 'precision', 'recall', 'F1',
                     'training s', 'one by one s', 'test s', 'peak MiB'], rows)


def table_3() -> str:
    """Return the baselines with their references.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    kinds = [(name, baseline_class(name)) for name in BASELINES]
    return markdown(['baseline', 'category', 'reference'],
                    [[name, kind.category, kind.reference] for name, kind in kinds])


def table_4(summaries: Sequence[Summary]) -> str:
    """Return training seconds: measured here, and in brackets on the authors' machine."""
    sets = list(dict.fromkeys(summary.data for summary in summaries))
    times = dict.fromkeys(BASELINES, (STOCK, 'training_seconds', True)) | _OUR_TIMES
    rows = []
    for name, (variant, metric, printed) in times.items():
        method = name if name in BASELINES else 'Pro-EMLC'
        cells = []
        for data in sets:
            found = pick(summaries, variant, data=data, method=method)
            paper = TABLE_4[method].get(data) if printed and method in TABLE_4 else None
            here = _seconds(summaries, found[-1], metric, 2) if found else '-'
            cells.append(here + (f' ({paper:g})' if paper is not None else ''))
        rows.append([name, *cells])
    return markdown(['training seconds', *sets], rows)


def _seconds(summaries: Sequence[Summary], one: Summary, metric: str, digits: int) -> str:
    if math.isnan(one.means[metric]):
        return '-'
    return f'{one.means[metric]:.{digits}f}{"" if one.run == summaries[0].run else OTHER_RUN}'
