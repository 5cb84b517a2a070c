# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the data sets of an experiment come from: a file, a folder, or OpenML."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.errors import DataSetError, MissingDependencyError
from proemlc_ros.evaluation.introduction import parse_pattern
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.datasets import find_dataset, read_dataset
from proemlc_ros.experiments.published import TABLE_1

_QUICK_SAMPLES = 200
# OpenML's number of a data set where it is known; others are searched by name.
_NUMBERS = {'scene': 41471}
_ELSEWHERE = ('get its ARFF and XML files from the Mulan project (github.com/tsoumakas/mulan, '
              'data/multi-label) and name their folder with --data')


@dataclass(frozen=True)
class Source:
    """A data set to be read.

    Attributes:
        name: Its name in tables.
        path: A file, or a folder in which a set of this name is looked for.
        patterns: Its label introduction patterns.
        labels: Which columns of a file are labels; see read_dataset().

    """

    name: str
    path: Path
    patterns: tuple[str, ...]
    labels: int | tuple[str, ...] | None = None

    def load(self, quick: bool = False) -> DataSet:
        """Read it; quick: at most 200 of its samples.

        Raises:
            DataSetError: It is missing or damaged.

        """
        data = (find_dataset(self.path, self.name) if self.path.is_dir()
                else replace(read_dataset(self.path, self.labels), name=self.name))
        if quick and len(data) > _QUICK_SAMPLES:
            rows = np.random.default_rng(0).permutation(len(data))[:_QUICK_SAMPLES]
            data = data.subset(np.sort(rows))
        return data


def own_source(path: Path, labels: int | tuple[str, ...] | None,
               patterns: tuple[str, ...]) -> Source:
    """Return the source for a user's file, after checking that it can be read.

    Without patterns the last two labels come one after the other, as in the paper's "4+1+1".

    Raises:
        DataSetError: The file is missing or damaged.
        IntroductionError: A pattern does not suit the labels.

    """
    count = read_dataset(path, labels).Y.shape[1]
    if not patterns:
        patterns = (f'{count - 2}+1+1',) if count > 2 else (f'{count}',)
    for pattern in patterns:
        parse_pattern(pattern, count)
    return Source(path.stem, path, patterns, labels)


def fetch_missing(folder: Path, names: Sequence[str], say: Callable[[str], None]) -> None:
    """Fetch the data sets that a folder lacks, as CSV files.

    Raises:
        MissingDependencyError: scikit-learn, which can fetch them, is not installed.
        DataSetError: OpenML cannot be reached, or has no such data set.

    """
    for name in names:
        try:
            find_dataset(folder, name)
        except DataSetError:
            say(f'fetching {name} from OpenML ...')
            frame = _fetch(name)
            folder.mkdir(parents=True, exist_ok=True)
            write_table(frame, name, folder / f'{name}.csv')


def _fetch(name: str) -> Any:
    try:
        from sklearn.datasets import fetch_openml
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "--fetch needs scikit-learn; install it with: pip install 'proemlc_ros[experiments]'"
        ) from error
    number = _NUMBERS.get(name)
    try:
        # Everything as one table; the paper's counts tell which columns are labels.
        bunch = (fetch_openml(data_id=number, as_frame=True, parser='auto') if number
                 else fetch_openml(name=name, version='active', as_frame=True, parser='auto'))
    except Exception as error:  # the library passes on whatever the network raises
        raise DataSetError(f'{name} cannot be fetched from OpenML ({error}); {_ELSEWHERE}'
                           ) from error
    return bunch.frame


def write_table(frame: Any, name: str, path: Path) -> None:
    """Write a data frame as a CSV file whose last columns are labels.

    Raises:
        DataSetError: Its shape is not that of the paper's data set.

    """
    known = TABLE_1[name]
    rows, columns = frame.shape
    if (rows, columns) != (known.samples, known.features + known.labels):
        raise DataSetError(
            f'what OpenML calls {name} has {rows} samples and {columns} columns, not '
            f'{known.samples} and {known.features + known.labels}; {_ELSEWHERE}')
    names = [str(column) for column in frame.columns]
    header = names[:known.features] + [f'label:{label}' for label in names[known.features:]]
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in frame.itertuples(index=False):
            writer.writerow([*row[:known.features], *(
                int(str(value).strip().lower() in ('1', '1.0', 'true')) for value in
                row[known.features:])])
