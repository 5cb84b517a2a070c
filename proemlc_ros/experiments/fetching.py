# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's data sets from OpenML, for those who have not got Mulan's files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from proemlc_ros.errors import DataSetError, MissingDependencyError
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.experiments.published import TABLE_1

# OpenML's number of a data set where it is known; others are looked for by name.
_NUMBERS = {'scene': 41471}
_ELSEWHERE = ('get its ARFF and XML files from the Mulan project (github.com/tsoumakas/mulan, '
              'data/multi-label) and name their folder with --data')


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
            '--fetch needs scikit-learn; install it with: pip install scikit-learn') from error
    number = _NUMBERS.get(name)
    try:
        # Everything as one table; which columns are labels is settled by the paper's counts.
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
