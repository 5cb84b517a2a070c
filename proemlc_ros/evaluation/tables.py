# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of samples with features and labels: CSV and NumPy files, checks, introduction orders."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proemlc_ros.core.labels import indicators
from proemlc_ros.core.metrics import Indicators
from proemlc_ros.errors import DataSetError, IntroductionError
from proemlc_ros.label_text import CELL_SEPARATORS, csv_rows, is_yes, near_duplicates, split_labels

_LISTED = 'labels'
_PREFIX = 'label:'

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

    @classmethod
    def of_lists(cls, name: str, X: np.ndarray, listed: Sequence[Sequence[str]],
                 feature_names: list[str]) -> DataSet:
        """Return the data set of samples with the names of their labels.

        The labels are in the order of their first appearance: the order a robot would meet them
        in.
        """
        names = list(dict.fromkeys(chain.from_iterable(listed)))
        columns = {label: column for column, label in enumerate(names)}
        return cls(name, X, indicators(listed, columns, len(names)), names, feature_names)

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

    def sample(self, row: int) -> tuple[NDArray[np.float32], tuple[str, ...]]:
        """Return the features of one sample, and its labels."""
        values = self.X[row].toarray()[0] if sparse.issparse(self.X) else self.X[row]
        return values.astype(np.float32), tuple(self.labels(row))

    def subset(self, rows: Sequence[int] | np.ndarray) -> DataSet:
        """Return the data set of the given rows, in their order."""
        return replace(self, X=self.X[rows], Y=self.Y[rows])


def read_csv(path: Path, labels: int | Sequence[str] | None = None) -> DataSet:
    """Read a CSV file with a header line.

    Label columns are, in this order of precedence: those given; one column called "labels" with
    names separated by ",", ";" or "|", unless in quotes; columns whose name begins with "label:".

    Args:
        path: The file.
        labels: Names of 0/1 columns, or how many of the last (negative: first) columns.

    Raises:
        DataSetError: The file cannot be read or is damaged; names file and line.
    """
    rows = csv_rows(path)
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
    Y = _cells(path, header, rows[1:], names, is_yes).astype(bool)
    X, features = _features(path, header, rows[1:], names)
    return DataSet(path.stem, X, Y, [name.removeprefix(_PREFIX) for name in names], features)


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
    except OSError as error:
        raise DataSetError(f'{path}: {error.strerror or error}') from error
    except (ValueError, KeyError, EOFError, TypeError) as error:
        # NumPy's own words would advise to trust the file.
        raise DataSetError(f'{path}: no NumPy archive with arrays X and Y') from error
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y) or len(names) != Y.shape[1]:
        raise DataSetError(f'{path}: X has the shape {X.shape}, Y {Y.shape}, with {len(names)} '
                           'names; expected (n, features) and (n, labels)')
    if not np.isfinite(X).all():
        raise DataSetError(f'{path}: X has values that are not finite')
    return DataSet(path.stem, X, Y > 0, names, [f'value{place}' for place in range(X.shape[1])])


def _with_listed_labels(path: Path, header: list[str], rows: _Rows) -> DataSet:
    column = header.index(_LISTED)
    listed = [split_labels(row[column], CELL_SEPARATORS) for _, row in rows]
    if not any(listed):
        raise DataSetError(f'{path}: the column {_LISTED!r} names no label at all')
    X, features = _features(path, header, rows, [_LISTED])
    return DataSet.of_lists(path.stem, X, listed, features)


def _features(
    path: Path, header: list[str], rows: _Rows, labels: list[str],
) -> tuple[np.ndarray, list[str]]:
    """Return the columns that are not labels, and their names."""
    names = [name for name in header if name not in set(labels)]
    if not names:
        raise DataSetError(f'{path}: all columns are labels; no features are left')
    return _cells(path, header, rows, names, _finite), names


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
            f'{path}: cannot tell which columns are labels; give their names or their number '
            '(--labels), or put a Mulan XML file beside it'
        )
    if isinstance(labels, int):
        if not 0 < abs(labels) < len(names):
            raise DataSetError(f'{path}: {labels} label columns among {len(names)} columns')
        return names[-labels:] if labels > 0 else names[:-labels]
    unknown = [name for name in labels if name not in set(names)]
    if unknown:
        meant = ''.join(f'; did you mean {name!r}?' for name in near_duplicates(
            unknown[0], names, 1))
        raise DataSetError(f'{path}: label {unknown[0]!r} is not a column of the file{meant}')
    return list(labels)


# Fewer rows say little about a column.
_ROWS = 20
# A category has a handful of codes.
_CODES = (3, 20)
_ID_NAME = re.compile(r'(?:^|[_\W])(?:id|uuid|index|idx|row|no|nr)$', re.IGNORECASE)
_SHOWN = 5


def column_notes(data: DataSet) -> list[str]:
    """Return a note for each kind of column that should probably not be a feature as it is."""
    if len(data) < _ROWS or sparse.issparse(data.X):
        return []
    X = np.asarray(data.X)
    whole = np.flatnonzero((X == np.round(X)).all(axis=0)).tolist()
    ids = [place for place in whole if _is_id(X[:, place], data.feature_names[place])]
    codes = [place for place in whole if place not in ids and _is_code(X[:, place])]
    notes = []
    if ids:
        notes.append(f'{_named(data, ids)}: numbers the samples, it seems, and says nothing about '
                     'new ones; leave it out')
    if codes:
        notes.append(f'{_named(data, codes)}: few whole numbers, maybe codes of categories, whose '
                     'order means nothing; make one 0/1 column per category, if so')
    return notes


def _is_id(column: np.ndarray, name: str) -> bool:
    distinct = len(np.unique(column)) == len(column)
    steps = np.diff(np.sort(column))
    return distinct and (bool((steps == steps[0]).all()) or bool(_ID_NAME.search(name)))


def _is_code(column: np.ndarray) -> bool:
    """Tell whether there are a few values in a row, and not mostly zero as counts are."""
    values, counts = np.unique(column, return_counts=True)
    return (_CODES[0] <= len(values) <= _CODES[1] and values[0] in (0.0, 1.0)
            and bool((np.diff(values) == 1.0).all()) and counts[0] < 0.5 * len(column)
            # Counts and levels thin out or peak; categories have no order to follow.
            and len(column) >= 10 * len(values) and not _is_ordered(counts))


def _is_ordered(counts: np.ndarray) -> bool:
    """Tell whether the frequencies fall all the way, or rise to a peak and fall."""
    peak = int(counts.argmax())
    return bool((np.diff(counts[:peak + 1]) >= 0).all() and (np.diff(counts[peak:]) <= 0).all())


def _named(data: DataSet, places: list[int]) -> str:
    names = [data.feature_names[place] for place in places]
    more = f' and {len(names) - _SHOWN} more' if len(names) > _SHOWN else ''
    return f'{data.name}, {"columns" if len(names) > 1 else "column"} ' + ', '.join(
        map(repr, names[:_SHOWN])) + more


IntegerArray = NDArray[np.intp]


def parse_pattern(pattern: str, labels: int) -> list[int]:
    """Read a label introduction pattern.

    Args:
        pattern: Numbers of labels joined by "+"; the first is known from the start.
        labels: The number of labels they must add up to.

    Returns:
        The numbers.

    Raises:
        IntroductionError: The text is not a pattern, or adds up to another number.

    >>> parse_pattern('4+1+1', 6)
    [4, 1, 1]
    """
    parts = [part.strip() for part in pattern.split('+')]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise IntroductionError(
            f'{pattern!r} is not a label introduction pattern; expected numbers like "4+1+1"')
    sizes = [int(part) for part in parts]
    if sum(sizes) != labels:
        raise IntroductionError(
            f'the pattern {pattern!r} introduces {sum(sizes)} labels, the data set has {labels}')
    return sizes


def group_of_labels(sizes: list[int]) -> IntegerArray:
    """Return for each label the group it is introduced with: [4, 1, 1] gives 0 0 0 0 1 2."""
    groups: IntegerArray = np.repeat(np.arange(len(sizes)), sizes)
    return groups


def group_of_samples(Y: Indicators, sizes: list[int]) -> IntegerArray:
    """Return for each sample the latest group among its labels, before which it cannot come."""
    groups: IntegerArray = np.where(Y, group_of_labels(sizes), 0).max(axis=1)
    return groups


def introduction_order(Y: Indicators, sizes: list[int], seed: int = 0,
                       start: float | None = None) -> IntegerArray:
    """Order samples so that labels appear group by group, evenly spread over the stream.

    With three groups, the first third of the stream shows only labels of the first group, the
    second third also those of the second, and so on; earlier labels stay in the stream.

    Args:
        Y: Label indicators, one row per sample.
        sizes: The pattern, as parse_pattern() returns it.
        seed: Of the random order.
        start: Share of the stream that shows only labels of the first group; the others are
            introduced at equal distances over the rest. None: as long as every other part.

    Returns:
        Row numbers, a permutation.
    """
    groups = group_of_samples(Y, sizes)
    start = 1.0 / len(sizes) if start is None else start
    later = start + (1.0 - start) * (groups - 1) / max(1, len(sizes) - 1)
    earliest = np.where(groups > 0, later, 0.0)
    keys = earliest + (1.0 - earliest) * np.random.default_rng(seed).random(len(groups))
    return np.argsort(keys, kind='stable')
