# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of samples where commands take bags: each becomes a bag that ends with the program."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.tables import read_table
from proemlc_ros.cli.terminal import show
from proemlc_ros.evaluation.column_check import column_notes
from proemlc_ros.evaluation.tables import DataSet

TABLES = ('.csv', '.arff', '.npz')


def is_table(path: Path) -> bool:
    """Tell whether a path is that of a table, by its name."""
    return path.suffix.lower() in TABLES and not path.is_dir()


def read_noted_table(path: Path, labels: int | Sequence[str] | None = None) -> DataSet:
    """Read a table and say which columns look like no features.

    Raises:
        DataSetError: It cannot be read.

    """
    data = read_table(path, labels)
    for note in column_notes(data):
        show(f'note: {note}')
    return data


def without_tables(paths: Sequence[Path],
                   labels: int | Sequence[str] | None = None) -> list[Path]:
    """Return bags as they are, and tables as bags of their rows, in their order."""
    made = []
    for path in paths:
        if not is_table(path):
            made.append(path)
            continue
        data = read_noted_table(path, labels)
        scratch = Path(tempfile.mkdtemp(prefix='proemlc_table_'))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        make_bag(scratch / path.stem, (
            (_dense(data, row), tuple(data.labels(row))) for row in range(len(data))))
        made.append(scratch / path.stem)
    return made


def _dense(data: DataSet, row: int) -> np.ndarray:
    values = data.X[row]
    dense = values.toarray() if hasattr(values, 'toarray') else values
    return np.asarray(dense, dtype=np.float32).ravel()
