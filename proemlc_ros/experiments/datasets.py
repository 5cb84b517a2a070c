# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Data sets of the literature: ARFF files as Mulan and MEKA keep them, CSV files, OpenML."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

from proemlc_ros.errors import DataSetError, MissingDependencyError
from proemlc_ros.evaluation.tables import DataSet, parse_pattern, read_csv, select_labels
from proemlc_ros.experiments.arff import ArffTable, read_arff
from proemlc_ros.experiments.paper import TABLE_1
from proemlc_ros.label_text import csv_text

# MEKA states the number of label columns in the relation: "-C 6" the first six, "-C -6" the last.
_MEKA_COUNT = re.compile(r'-C\s+(-?\d+)')
_SUFFIXES = ('.arff', '.csv')


def read_dataset(path: str | Path, labels: int | Sequence[str] | None = None) -> DataSet:
    """Read a data set from one file.

    Args:
        path: An ARFF (Mulan, MEKA; dense or sparse) or CSV file.
        labels: Names of the label columns, or how many of the last (negative: first) columns are
            labels; None: a Mulan XML file beside an ARFF file, MEKA's "-C", or the header of a
            CSV file says it.

    Raises:
        DataSetError: The file is missing, of another kind or damaged; names file and line.
    """
    path = Path(path)
    if not path.exists():
        raise DataSetError(f'{path}: there is no such file')
    if path.suffix.lower() not in _SUFFIXES:
        raise DataSetError(f'{path}: not a data set; expected a .arff or .csv file')
    if path.suffix.lower() == '.csv':
        return read_csv(path, labels)
    table = read_arff(path)
    label_names = _arff_label_names(table, path, labels)
    return _data_set_from_arff(table, path.stem, path, label_names)


def find_dataset(directory: str | Path, name: str) -> DataSet:
    """Find a data set by name in a folder or its subfolder of that name.

    A single file (scene.arff, scene-sparse.arff, scene.csv) is preferred; where there is none,
    the training file and the test file are joined.

    Args:
        directory: Folder with data sets.
        name: Name of the set; capitals do not matter.

    Raises:
        DataSetError: No such set there, or its files are damaged.
    """
    directory = Path(directory)
    stems = _files_by_stem(directory, name)
    wanted = name.lower()
    for ending in ('', '-sparse'):
        if path := stems.get(wanted + ending):
            return replace(read_dataset(path), name=wanted)
    for ending in ('', '-sparse'):
        train, test = stems.get(f'{wanted}-train{ending}'), stems.get(f'{wanted}-test{ending}')
        if train and test:
            return concatenate(read_dataset(train), read_dataset(test), wanted)
    raise DataSetError(
        f'{directory}: no data set {name!r}; expected {wanted}.arff, {wanted}.csv, or '
        f'{wanted}-train.arff with {wanted}-test.arff, there or in a folder {wanted}'
    )


def _files_by_stem(directory: Path, name: str) -> dict[str, Path]:
    if not directory.is_dir():
        raise DataSetError(f'{directory}: no such folder')
    folders = [directory] + [
        child for child in directory.iterdir()
        if child.is_dir() and child.name.lower() == name.lower()
    ]
    return {
        path.stem.lower(): path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.suffix.lower() in _SUFFIXES
    }


def concatenate(first: DataSet, second: DataSet, name: str) -> DataSet:
    """Join two parts of one data set.

    Raises:
        DataSetError: Their features or labels differ.
    """
    if first.feature_names != second.feature_names or first.label_names != second.label_names:
        raise DataSetError(
            f'the parts {first.name!r} and {second.name!r} have different columns; '
            'they cannot be parts of one data set'
        )
    if sparse.issparse(first.X):
        features = sparse.vstack([first.X, second.X], format='csr')
    else:
        features = np.vstack([first.X, second.X])
    targets = np.vstack([first.Y, second.Y])
    return DataSet(name, features, targets, first.label_names, first.feature_names)


def _labels_from_xml(path: Path) -> list[str]:
    """Read label names from a Mulan XML file, sub-labels of a hierarchy included.

    Raises:
        DataSetError: The file cannot be read, or names no label; names file and line.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise DataSetError(f'{path}: cannot be read: {error.strerror}') from error
    except ElementTree.ParseError as error:
        raise DataSetError(f'{path}:{error.position[0]}: not well-formed XML: {error}') from error
    names = [
        element.get('name', '') for element in root.iter()
        if element.tag.rpartition('}')[2] == 'label'
    ]
    if not names or not all(names):
        raise DataSetError(f'{path}: names no label; expected <label name="..."/> elements')
    return names


def _arff_label_names(
    table: ArffTable, path: Path, labels: int | Sequence[str] | None
) -> list[str]:
    """Find the label columns of an ARFF table.

    Args:
        table: The table.
        path: Its file; a Mulan XML file of like name beside it is used.
        labels: Names, or how many of the last (negative: first) columns; None: find out.

    Raises:
        DataSetError: Nothing says which columns are labels.
    """
    names = [attribute.name for attribute in table.attributes]
    if labels is None and (xml := _xml_beside(path)) is not None:
        labels = _labels_from_xml(xml)
    if labels is None and (count := _MEKA_COUNT.search(table.relation)):
        labels = -int(count[1])
    return select_labels(path, names, labels)


def _data_set_from_arff(table: ArffTable, name: str, path: Path, labels: list[str]) -> DataSet:
    """Split an ARFF table into features and labels; nominal words become one column each.

    Raises:
        DataSetError: A label column holds more than two values, or all columns are labels.
    """
    position = {attribute.name: column for column, attribute in enumerate(table.attributes)}
    label_columns = [position[label] for label in labels]
    chosen = set(label_columns)
    feature_columns = [column for column in range(len(table.attributes)) if column not in chosen]
    Y = _dense(table.values[:, label_columns])
    _check_two_valued(path, Y, labels)
    blocks, feature_names = [], []
    for run, words in _runs(table, feature_columns):
        block, run_names = _feature_block(table, run, words)
        blocks.append(block)
        feature_names += run_names
    if not blocks:
        raise DataSetError(f'{path}: all columns are labels; no features are left')
    is_sparse = sparse.issparse(table.values)
    X = sparse.hstack(blocks, format='csr') if is_sparse else np.hstack(blocks)
    return DataSet(name, X, Y > 0, labels, feature_names)


def _runs(table: ArffTable, columns: list[int]) -> list[tuple[list[int], bool]]:
    """Group neighbouring columns by whether they hold more than two nominal words."""
    runs: list[tuple[list[int], bool]] = []
    for column in columns:
        attribute = table.attributes[column]
        words = not attribute.is_numeric and len(attribute.values or ()) > 2
        if words or not runs or runs[-1][1]:
            runs.append(([], words))
        runs[-1][0].append(column)
    return runs


def _feature_block(
    table: ArffTable, columns: list[int], words: bool
) -> tuple[np.ndarray | sparse.csr_matrix, list[str]]:
    block = table.values[:, columns]
    if not words:
        return block, [table.attributes[column].name for column in columns]
    attribute = table.attributes[columns[0]]
    hot = (_dense(block) == np.arange(len(attribute.values or ()))).astype(float)
    names = [f'{attribute.name}={value}' for value in attribute.values or ()]
    return (sparse.csr_matrix(hot) if sparse.issparse(block) else hot), names


def _dense(values: np.ndarray | sparse.csr_matrix) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else np.asarray(values.todense())


def _check_two_valued(path: Path, Y: np.ndarray, labels: list[str]) -> None:
    for column, label in enumerate(labels):
        values = np.unique(Y[:, column])
        if not set(values.tolist()) <= {-1.0, 0.0, 1.0}:
            raise DataSetError(
                f'{path}: label {label!r} has the value {values[-1]:g}; expected only 0 and 1'
            )


def _xml_beside(path: Path) -> Path | None:
    """Return the XML file whose name begins the file's: scene.xml for scene-train.arff."""
    stem = path.stem.lower()
    fitting = [xml for xml in path.parent.glob('*.xml') if stem.startswith(xml.stem.lower())]
    return max(fitting, key=lambda xml: len(xml.stem), default=None)


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
            _write_table(frame, name, folder / f'{name}.csv')


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


def _write_table(frame: Any, name: str, path: Path) -> None:
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
    rows = ([*row[:known.features], *(
        int(str(value).strip().lower() in ('1', '1.0', 'true')) for value in row[known.features:])]
        for row in frame.itertuples(index=False))
    path.write_text(csv_text([header, *rows]), encoding='utf-8')
