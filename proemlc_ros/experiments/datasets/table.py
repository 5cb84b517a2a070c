# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""CSV files: a header of column names, then one sample a line."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.datasets.columns import indicator, select_labels
from proemlc_ros.experiments.datasets.dataset import DataSet

# Names of labels in one cell are separated by either; commas already separate the cells.
_SEPARATORS = str.maketrans({'|': ';'})
_LISTED = 'labels'
_PREFIX = 'label:'

# Each row with the number of its line in the file.
_Rows = list[tuple[int, list[str]]]


def read_csv(path: Path, labels: int | Sequence[str] | None = None) -> DataSet:
    """Read a CSV file with a header line.

    Label columns are, in this order of precedence: those given; one column called "labels" with
    names separated by ";" or "|"; columns whose name begins with "label:".

    Args:
        path: The file.
        labels: Names of 0/1 columns, or how many of the last (negative: first) columns.

    Raises:
        DataSetError: The file cannot be read or is damaged; names file and line.

    """
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            rows = [(line, row) for line, row in _numbered(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataSetError(f'{path}: cannot be read as CSV: {error}') from error
    if len(rows) < 2:
        raise DataSetError(f'{path}: a header line and at least one sample are needed')
    header = [name.strip() for name in rows[0][1]]
    if len(set(header)) != len(header):
        raise DataSetError(f'{path}:1: two columns have the same name')
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise DataSetError(f'{path}:{line}: {len(row)} values for {len(header)} columns')
    if labels is None and _LISTED in header:
        return _with_listed_labels(path, header, rows[1:])
    if labels is None:
        labels = [name for name in header if name.startswith(_PREFIX)] or None
    names = select_labels(path, header, labels)
    Y = _cells(path, header, rows[1:], names, indicator).astype(bool)
    return _data_set(path, header, rows[1:], names, Y)


def _numbered(file: TextIO) -> _Rows:
    reader = csv.reader(file)
    return [(reader.line_num, row) for row in reader]


def _with_listed_labels(path: Path, header: list[str], rows: _Rows) -> DataSet:
    column = header.index(_LISTED)
    listed = [
        [name.strip() for name in row[column].translate(_SEPARATORS).split(';') if name.strip()]
        for _, row in rows
    ]
    # In the order of their first appearance: the order a robot would meet them in.
    names = list(dict.fromkeys(name for sample in listed for name in sample))
    if not names:
        raise DataSetError(f'{path}: the column {_LISTED!r} names no label at all')
    position = {name: index for index, name in enumerate(names)}
    Y = np.zeros((len(rows), len(names)), dtype=bool)
    for row, sample in enumerate(listed):
        Y[row, [position[name] for name in sample]] = True
    data = _data_set(path, header, rows, [_LISTED], Y)
    return DataSet(data.name, data.X, Y, names, data.feature_names)


def _data_set(
    path: Path, header: list[str], rows: _Rows, labels: list[str], Y: np.ndarray
) -> DataSet:
    features = [name for name in header if name not in set(labels)]
    if not features:
        raise DataSetError(f'{path}: all columns are labels; no features are left')
    X = _cells(path, header, rows, features, _finite)
    names = [name.removeprefix(_PREFIX) for name in labels]
    return DataSet(path.stem, X, Y, names, features)


def _cells(
    path: Path, header: list[str], rows: _Rows, names: list[str],
    convert: Callable[[str], float],
) -> np.ndarray:
    columns = [header.index(name) for name in names]
    values = np.empty((len(rows), len(columns)))
    for index, (line, row) in enumerate(rows):
        for place, column in enumerate(columns):
            try:
                values[index, place] = convert(row[column])
            except ValueError as error:
                raise DataSetError(f'{path}:{line}: column {names[place]!r}: {error}') from None
    return values


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f'{text!r} is not a number') from None
    if not math.isfinite(number):
        raise ValueError(f'{text!r} is not finite')
    return number
