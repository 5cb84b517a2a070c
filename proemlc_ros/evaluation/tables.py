# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of samples with features and labels, and how they are read from CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import numpy as np
from scipy import sparse

from proemlc_ros.errors import DataSetError

# Names of labels in one cell are separated by either; commas already separate the cells.
_SEPARATORS = str.maketrans({'|': ';'})
_LISTED = 'labels'
_PREFIX = 'label:'
# What a label column may hold, in any case.
_YES = ('1', '1.0', 'true', 'yes', 'y', 't')
_NO = ('0', '0.0', '-1', 'false', 'no', 'n', 'f')

# Each row with the number of its line in the file.
_Rows = list[tuple[int, list[str]]]


@dataclass(frozen=True)
class DataSet:
    """Samples with their labels.

    Attributes:
        name: Short name, such as 'scene'.
        X: Features, one row per sample: float64, dense or CSR as the file had them.
        Y: Boolean label indicators, one row per sample, one column per label.
        label_names: Names of the columns of Y.
        feature_names: Names of the columns of X.

    """

    name: str
    X: np.ndarray | sparse.csr_matrix
    Y: np.ndarray
    label_names: list[str]
    feature_names: list[str]

    def __len__(self) -> int:
        """Return the number of samples."""
        return int(self.Y.shape[0])

    @property
    def cardinality(self) -> float:
        """Mean number of labels per sample."""
        return float(self.Y.sum(axis=1).mean())

    @property
    def density(self) -> float:
        """Cardinality divided by the number of labels."""
        return self.cardinality / max(1, len(self.label_names))

    def labels(self, row: int) -> list[str]:
        """Return the names of the labels of one sample."""
        return [self.label_names[column] for column in np.flatnonzero(self.Y[row])]

    def subset(self, rows: Sequence[int] | np.ndarray) -> DataSet:
        """Return the data set of the given rows, in their order."""
        return replace(self, X=self.X[rows], Y=self.Y[rows])


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


def read_arrays(path: Path) -> DataSet:
    """Read a NumPy archive: X (n, features), Y (n, labels) and maybe label_names.

    Raises:
        DataSetError: The file cannot be read, or has other arrays.

    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            X, Y = np.asarray(arrays['X'], dtype=np.float64), np.asarray(arrays['Y'])
            names = ([str(name) for name in arrays['label_names']] if 'label_names' in arrays
                     else [f'label {number}' for number in range(Y.shape[-1])])
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DataSetError(f'{path}: no NumPy archive with arrays X and Y: {error}') from error
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y) or len(names) != Y.shape[1]:
        raise DataSetError(f'{path}: X has the shape {X.shape}, Y {Y.shape}, with {len(names)} '
                           'names; expected (n, features) and (n, labels)')
    if not np.isfinite(X).all():
        raise DataSetError(f'{path}: X has values that are not finite')
    return DataSet(path.stem, X, Y > 0, names, [f'value{place}' for place in range(X.shape[1])])


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
    return replace(_data_set(path, header, rows, [_LISTED], Y), label_names=names)


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


def select_labels(path: Path, names: list[str], labels: int | Sequence[str] | None) -> list[str]:
    """Return the names of the label columns.

    Args:
        path: The file, for errors.
        names: All columns.
        labels: Names, or how many of the last (negative: first) columns.

    Raises:
        DataSetError: `labels` is None, too large, or names something that is not a column.

    """
    if labels is None:
        raise DataSetError(
            f'{path}: nothing says which columns are labels; give their names or their number '
            '(--labels), or put a Mulan XML file beside it'
        )
    if isinstance(labels, int):
        if not 0 < abs(labels) < len(names):
            raise DataSetError(f'{path}: {labels} label columns among {len(names)} columns')
        return names[-labels:] if labels > 0 else names[:-labels]
    unknown = [name for name in labels if name not in set(names)]
    if unknown:
        raise DataSetError(f'{path}: label {unknown[0]!r} is not a column of the file')
    return list(labels)


def indicator(text: str) -> bool:
    """Read one cell of a label column: 1 or 0, yes or no, true or false.

    Raises:
        ValueError: It is neither.

    """
    word = text.strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise ValueError(f'{text!r} is neither 1 nor 0')
