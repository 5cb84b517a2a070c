# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How commands read tables of samples: CSV, or ARFF by the reader of the experiments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from proemlc_ros.evaluation.tables import DataSet, read_arrays, read_csv


def add_label_columns(parser: argparse._ActionsContainer, table: str) -> None:
    """Add the option --labels, which says which columns of a table are labels.

    Args:
        parser: The parser, or a group of it.
        table: The metavariable of the table's path, for the help text.

    """
    parser.add_argument('--labels', type=label_columns, metavar='NAMES|N',
                        help=f'label columns of {table}: names separated by commas, or the number '
                             'of last (negative: first) columns')


def label_columns(text: str) -> int | tuple[str, ...]:
    """Read the value of --labels: a number of columns, or names separated by commas.

    >>> label_columns('3'), label_columns('cup,red')
    (3, ('cup', 'red'))
    """
    try:
        return int(text)
    except ValueError:
        return tuple(name.strip() for name in text.split(','))


def read_table(path: Path, labels: int | Sequence[str] | None = None) -> DataSet:
    """Read a table of samples from a file.

    Args:
        path: A CSV file, an ARFF file (Mulan, MEKA; dense or sparse), or a NumPy archive with
            arrays X and Y.
        labels: Names of the label columns, or how many of the last (negative: first) columns are
            labels; None: the file says it, or a Mulan XML file beside it.

    Raises:
        DataSetError: The file is missing, of another kind or damaged; names file and line.

    """
    if path.suffix.lower() == '.csv':
        return read_csv(path, labels)
    if path.suffix.lower() == '.npz':
        return read_arrays(path)
    # The experiments are imported only where one of their files is given.
    from proemlc_ros.experiments.datasets import read_dataset
    return read_dataset(path, labels)


def find_table(folder: Path, name: str) -> DataSet:
    """Find a data set of the literature by its name, such as scene, in a folder.

    Raises:
        DataSetError: There is no such data set, or its files are damaged.

    """
    from proemlc_ros.experiments.datasets import find_dataset
    return find_dataset(folder, name)
