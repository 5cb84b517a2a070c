# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures where commands take bags: features are extracted once, into a bag."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.terminal import ProgressBar, counted, show
from proemlc_ros.errors import BadSensorDataError, DataSetError, ParameterError
from proemlc_ros.evaluation.introduction import introduction_order
from proemlc_ros.evaluation.tables import DataSet

if TYPE_CHECKING:
    from proemlc_ros.features.extractor import Extractor

# What is in the folder of a bag or a journal.
_OF_BAGS = ('metadata.yaml', '*.db3', '*.mcap', '*.db3.zstd', '*.mcap.zstd')


def is_picture_folder(path: Path) -> bool:
    """Tell whether a path is a folder that may hold pictures, and is no bag."""
    if not path.is_dir() or any(next(path.glob(name), None) for name in _OF_BAGS):
        return False
    from proemlc_ros.bags.pictures.picture_files import SUFFIXES
    return any(one.suffix.lower() in SUFFIXES for one in path.rglob('*'))


def picture_extractor(kind: str = '', sensors: Path | None = None) -> Extractor:
    """Return the extractor for pictures.

    Args:
        kind: its name; empty: the default backbone, or colours where none is installed.
        sensors: parameter file of a feature node with one camera; it goes first.

    Raises:
        ParameterError: the file has no sensor with images.
        ExtractorError: there is no such extractor.
    """
    from proemlc_ros.features.parameter_file import settings_from_file
    from proemlc_ros.features.registry import make_extractor
    from proemlc_ros.features.settings import pipeline_from_settings
    if sensors is not None:
        pipeline = pipeline_from_settings(settings_from_file(sensors))
        found = [one.extractor for one in pipeline.sensors if one.extractor.sensor == 'image']
        if len(found) != 1:
            raise ParameterError(f'{sensors}: not one sensor with images')
        return found[0]
    if kind:
        return make_extractor(kind)
    from proemlc_ros.features.backbone.store import default_backbone
    backbone = default_backbone()
    if backbone is None:
        return make_extractor('colour_moments')
    return make_extractor('onnx_embedding', backbone.extractor_parameters())


def read_picture_folder(folder: Path, extractor: Extractor,
                        columns: int | Sequence[str] | None = None) -> DataSet:
    """Return the features and labels of the pictures in a folder; broken ones are named.

    Raises:
        DataSetError: no picture can be used.
    """
    from proemlc_ros.bags.pictures.picture_files import read_picture
    from proemlc_ros.bags.pictures.picture_labels import read_picture_labels
    pictures, notes = read_picture_labels(folder, columns)
    values, labels = [], []
    with ProgressBar(len(pictures), folder.name) as bar:
        for picture in pictures:
            try:
                values.append(extractor(read_picture(picture.path)))
                labels.append(picture.labels)
            except (BadSensorDataError, DataSetError) as error:
                notes.append(f'left out: {error}')
            bar.advance()
    for note in notes:
        show(f'note: {note}')
    names = list(dict.fromkeys(name for one in labels for name in one))
    if not values or not names:
        raise DataSetError(f'{folder}: no picture with a label can be used')
    places = {name: place for place, name in enumerate(names)}
    Y = np.zeros((len(values), len(names)), bool)
    for row, one in enumerate(labels):
        Y[row, [places[name] for name in one]] = True
    X = np.asarray(values, np.float64)
    return DataSet(folder.name, X, Y, names, [f'value{number}' for number in range(X.shape[1])])


def bags_of(paths: Sequence[Path], kind: str = '', sensors: Path | None = None) -> list[Path]:
    """Return bags: paths as they are, folders of pictures as new bags that end with the program.

    Args:
        paths: bags and folders.
        kind: name of the extractor, as in `picture_extractor`.
        sensors: parameter file, as there.
    """
    made: list[Path] = []
    extractor: Extractor | None = None
    for path in paths:
        if not is_picture_folder(path):
            made.append(path)
            continue
        extractor = extractor or picture_extractor(kind, sensors)
        data = read_picture_folder(path, extractor)
        scratch = Path(tempfile.mkdtemp(prefix='proemlc_pictures_'))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        order = introduction_order(data.Y, [len(data.label_names)], 0)
        make_bag(scratch / path.name, (
            (data.X[row].astype(np.float32), tuple(data.labels(row))) for row in order),
            extractor=extractor.name)
        show(f'{path}: {counted(len(data), "picture")}, '
             f'{counted(len(data.label_names), "label")}, {extractor.name}')
        made.append(scratch / path.name)
    return made
