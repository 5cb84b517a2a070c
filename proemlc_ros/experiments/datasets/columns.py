# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which columns of a table are labels, and the data set that follows from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.datasets.arff import ArffTable
from proemlc_ros.experiments.datasets.dataset import DataSet

# MEKA states the number of label columns in the relation: "-C 6" the first six, "-C -6" the last.
_MEKA_COUNT = re.compile(r'-C\s+(-?\d+)')
_YES = ('1', '1.0', 'true', 'yes', 'y', 't')
_NO = ('0', '0.0', '-1', 'false', 'no', 'n', 'f')


def labels_from_xml(path: Path) -> list[str]:
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


def arff_label_names(
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
        labels = labels_from_xml(xml)
    if labels is None and (count := _MEKA_COUNT.search(table.relation)):
        labels = -int(count[1])
    return select_labels(path, names, labels)


def select_labels(path: Path, names: list[str], labels: int | Sequence[str] | None) -> list[str]:
    """Return the label columns' names for a count or a choice of names.

    Raises:
        DataSetError: No choice, too large a count, or a name that is no column.

    """
    if labels is None:
        raise DataSetError(
            f'{path}: nothing says which columns are labels; name them, give their number, '
            'or put a Mulan XML file beside it'
        )
    if isinstance(labels, int):
        if not 0 < abs(labels) < len(names):
            raise DataSetError(f'{path}: {labels} label columns among {len(names)} columns')
        return names[-labels:] if labels > 0 else names[:-labels]
    unknown = [name for name in labels if name not in set(names)]
    if unknown:
        raise DataSetError(f'{path}: label {unknown[0]!r} is not a column of the file')
    return list(labels)


def data_set_from_arff(table: ArffTable, name: str, path: Path, labels: list[str]) -> DataSet:
    """Split an ARFF table into features and labels; nominal words become one column each.

    Raises:
        DataSetError: A label column holds more than two values, or all columns are labels.

    """
    position = {attribute.name: column for column, attribute in enumerate(table.attributes)}
    label_columns = [position[label] for label in labels]
    chosen = set(label_columns)
    feature_columns = [column for column in range(len(table.attributes)) if column not in chosen]
    Y = table.values[:, label_columns]
    Y = np.asarray(Y.todense()) if sparse.issparse(Y) else Y
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


def indicator(text: str) -> bool:
    """Read a yes or no of a label column.

    Raises:
        ValueError: It is neither.

    """
    word = text.strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise ValueError(f'{text!r} is neither 1 nor 0')


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
    positions = np.asarray(block.todense()) if sparse.issparse(block) else block
    hot = (positions == np.arange(len(attribute.values or ()))).astype(float)
    names = [f'{attribute.name}={value}' for value in attribute.values or ()]
    return (sparse.csr_matrix(hot) if sparse.issparse(block) else hot), names


def _check_two_valued(path: Path, Y: np.ndarray, labels: list[str]) -> None:
    for column, label in enumerate(labels):
        values = np.unique(Y[:, column])
        if not set(values.tolist()) <= {-1.0, 0.0, 1.0}:
            raise DataSetError(
                f'{path}: label {label!r} has the value {values[-1]:g}; expected only 0 and 1'
            )


def _xml_beside(path: Path) -> Path | None:
    """Return the XML file whose name begins the file's own, as scene.xml for scene-train.arff."""
    stem = path.stem.lower()
    fitting = [xml for xml in path.parent.glob('*.xml') if stem.startswith(xml.stem.lower())]
    return max(fitting, key=lambda xml: len(xml.stem), default=None)
