# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From a path or a name to a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.datasets.arff import read_arff
from proemlc_ros.experiments.datasets.columns import arff_label_names, data_set_from_arff
from proemlc_ros.experiments.datasets.dataset import DataSet, concatenate
from proemlc_ros.experiments.datasets.table import read_csv

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
    if path.suffix.lower() not in _SUFFIXES:
        raise DataSetError(f'{path}: not a data set; expected a .arff or .csv file')
    if path.suffix.lower() == '.csv':
        return read_csv(path, labels)
    table = read_arff(path)
    label_names = arff_label_names(table, path, labels)
    return data_set_from_arff(table, path.stem, path, label_names)


def find_dataset(directory: str | Path, name: str) -> DataSet:
    """Find a data set by name in a folder or its subfolder of that name.

    A single file (scene.arff, scene-sparse.arff, scene.csv) is preferred; where there is none,
    the train and the test file are put behind each other.

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
