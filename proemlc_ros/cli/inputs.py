# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What commands take where they want samples: bags, tables and folders of pictures.

Tables and folders of pictures become bags that end with the program.
"""

from __future__ import annotations

import argparse
import atexit
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proemlc_ros.cli.terminal import ProgressBar, counted, show, show_notes
from proemlc_ros.errors import (
    BackboneError,
    BadSensorDataError,
    DataSetError,
    MissingDependencyError,
)
from proemlc_ros.evaluation.tables import (
    DataSet,
    column_notes,
    introduction_order,
    read_arrays,
    read_csv,
)
from proemlc_ros.journal.journal import Journal
from proemlc_ros.label_text import split_labels

if TYPE_CHECKING:
    from proemlc_ros.features.backbone.store import Backbone
    from proemlc_ros.features.extractor import Extractor

_TABLES = ('.csv', '.arff', '.npz')
# What is in the folder of a bag or a journal.
_OF_BAGS = ('metadata.yaml', '*.db3', '*.mcap', '*.db3.zstd', '*.mcap.zstd')


def add_label_columns(parser: argparse._ActionsContainer, table: str) -> None:
    """Add the option --labels, which says which columns of a table are labels.

    Args:
        parser: The parser, or a group of it.
        table: The metavariable of the table's path, for the help text.
    """
    parser.add_argument('--labels', type=_label_columns, metavar='NAMES|N',
                        help=f'label columns of {table}: names separated by commas, or the number '
                             'of last (negative: first) columns')


def _label_columns(text: str) -> int | tuple[str, ...]:
    """Read the value of --labels: a number of columns, or names separated by commas.

    >>> _label_columns('3'), _label_columns('cup,red')
    (3, ('cup', 'red'))
    """
    try:
        return int(text)
    except ValueError:
        return split_labels(text)


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


def is_table(path: Path) -> bool:
    """Tell whether a path is that of a table, by its name."""
    return path.suffix.lower() in _TABLES and not path.is_dir()


def read_noted_table(path: Path, labels: int | Sequence[str] | None = None) -> DataSet:
    """Read a table and say which columns look like no features.

    Raises:
        DataSetError: It cannot be read.
    """
    data = read_table(path, labels)
    show_notes(column_notes(data))
    return data


def is_picture_folder(path: Path) -> bool:
    """Tell whether a path is a folder that may hold pictures, and is no bag."""
    if not path.is_dir() or Journal.find(path) is not None or (
            any(next(path.glob(name), None) for name in _OF_BAGS)):
        return False
    from proemlc_ros.bags.pictures import SUFFIXES
    return any(one.suffix.lower() in SUFFIXES for one in path.rglob('*'))


def picture_extractor(kind: str = '', sensors: Path | None = None) -> Extractor:
    """Return the extractor for pictures.

    Args:
        kind: its name; empty: the default backbone, or colours where none is installed.
        sensors: parameter file of a feature node with one camera; it goes first.

    Raises:
        ParameterError: the file has not one sensor with images.
        ExtractorError: there is no such extractor.
    """
    from proemlc_ros.evaluation.predictions import picture_extractors
    from proemlc_ros.features.registry import make_extractor
    return make_extractor(kind) if kind and sensors is None else next(picture_extractors(sensors))


def read_picture_folder(folder: Path, extractor: Extractor,
                        columns: int | Sequence[str] | None = None) -> DataSet:
    """Return the features and labels of the pictures in a folder; broken ones are named.

    Raises:
        DataSetError: no picture can be used.
    """
    from proemlc_ros.bags.picture_labels import read_picture_labels
    from proemlc_ros.bags.pictures import read_picture
    pictures, notes = read_picture_labels(folder, columns)
    values, labels = [], []
    with ProgressBar(len(pictures), folder.name) as bar:
        for picture in bar.over(pictures):
            try:
                values.append(extractor(read_picture(picture.path)))
                labels.append(picture.labels)
            except (BadSensorDataError, DataSetError) as error:
                notes.append(f'left out: {error}')
    show_notes(notes)
    if not any(labels):
        raise DataSetError(f'{folder}: no picture with a label can be used')
    X = np.asarray(values, np.float64)
    return DataSet.of_lists(folder.name, X, labels,
                            [f'value{number}' for number in range(X.shape[1])])


def as_bags(paths: Sequence[Path], labels: int | Sequence[str] | None = None, kind: str = '',
            sensors: Path | None = None) -> list[Path]:
    """Return bags as they are; tables and folders of pictures as bags that end with the program.

    Args:
        paths: bags, tables and folders.
        labels: which columns of tables are labels, as in `read_table`.
        kind: name of the extractor for pictures, as in `picture_extractor`.
        sensors: parameter file, as there.
    """
    made: list[Path] = []
    extractor: Extractor | None = None
    for path in paths:
        if is_table(path):
            data = read_noted_table(path, labels)
            order, name = np.arange(len(data)), ''
        elif is_picture_folder(path):
            extractor = extractor or picture_extractor(kind, sensors)
            data = read_picture_folder(path, extractor)
            order, name = introduction_order(data.Y, [len(data.label_names)], 0), extractor.name
            show(f'{path}: {counted(len(data), "picture")}, '
                 f'{counted(len(data.label_names), "label")}, {name}')
        else:
            made.append(path)
            continue
        from proemlc_ros.bags.writer import make_bag
        scratch = Path(tempfile.mkdtemp(prefix='proemlc_'))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        made.append(scratch / path.stem)
        make_bag(made[-1], map(data.sample, order.tolist()), extractor=name)
    return made


def try_deep_features(say: Callable[[str], None]) -> Backbone | None:
    """Return the installed network, or install the default one; None where that is impossible.

    Args:
        say: takes what the user should know.
    """
    from proemlc_ros.features.backbone.installing import ensure_backbone
    from proemlc_ros.features.registry import automatic_in_words
    try:
        backbone = ensure_backbone()
    except (BackboneError, MissingDependencyError) as error:
        say(f'No deep features: {error}')
        say(f'Going on with {automatic_in_words()}.')
        return None
    say(f'Using {automatic_in_words()}; {backbone.speed}.')
    return backbone
