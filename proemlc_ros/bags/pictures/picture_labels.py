# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures as data sets: what the folder says about the labels of each picture.

By a CSV file, COCO or Pascal VOC annotation files, or one folder per label.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from proemlc_ros.bags.pictures.picture_files import natural_key, picture_files
from proemlc_ros.errors import DataSetError

FILE_COLUMNS = ('file', 'filename', 'file_name', 'image', 'path')
LABEL_COLUMNS = ('labels', 'label', 'class', 'tags')
# What a column of zeros and ones may hold.
_YES, _NO = frozenset({'1', 'true', 'yes', '1.0'}), frozenset({'0', 'false', 'no', '0.0', ''})
MAX_BYTES = 500_000_000


class LabelledPicture(NamedTuple):
    """A picture file and its labels."""

    path: Path
    labels: tuple[str, ...]


class PictureSet(NamedTuple):
    """The pictures of a folder with their labels, and notes on what was left out."""

    pictures: list[LabelledPicture]
    notes: list[str]


def read_picture_labels(folder: Path, columns: int | Sequence[str] | None = None) -> PictureSet:
    """Find the labels of the pictures in a folder.

    Args:
        folder: with a CSV file; or COCO (.json) or Pascal VOC (.xml) files; or one folder per
            label.
        columns: of the CSV file, with the labels; None: "labels" or "label", or all others.

    Raises:
        DataSetError: there are no pictures, or nothing says what they show.
    """
    files = picture_files(folder)
    found = _from_csv(folder, columns) or _from_coco(folder) or _from_voc(folder)
    if not found:
        return PictureSet(_from_folders(folder, files), [])
    places = _places(folder, files)
    pictures: dict[Path, list[str]] = {}
    missing = []
    for name, labels in found.items():
        path = places.get(name) or places.get(Path(name).name)
        if path is None:
            missing.append(name)
        else:
            pictures.setdefault(path, []).extend(labels)
    if not pictures:
        raise DataSetError(f'{folder}: the annotations name no picture that is there (such as '
                           f'{missing[0]!r})')
    notes = _listed('annotated, but not there', missing)
    notes += _listed('there, but not annotated', [
        path.relative_to(folder).as_posix() for path in files if path not in pictures])
    return PictureSet([LabelledPicture(path, tuple(dict.fromkeys(labels))) for path, labels
                       in sorted(pictures.items(), key=lambda item: natural_key(item[0]))], notes)


def _listed(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f' and {len(names) - 3} more' if len(names) > 3 else ''
    return [f'{what}: {", ".join(names[:3])}{more}']


def _places(folder: Path, files: Iterable[Path]) -> dict[str, Path]:
    """Return the files by their path in the folder, and by their name where that is clear."""
    places: dict[str, Path] = {}
    names: dict[str, list[Path]] = {}
    for path in files:
        places[path.relative_to(folder).as_posix()] = path
        names.setdefault(path.name, []).append(path)
    for name, paths in names.items():
        if len(paths) == 1:
            places.setdefault(name, paths[0])
    return places


def _from_folders(folder: Path, files: Sequence[Path]) -> list[LabelledPicture]:
    loose = [path.name for path in files if path.parent == folder]
    if loose:
        raise DataSetError(
            f'{folder}: nothing says what {loose[0]} shows; put the pictures of each label into a '
            'folder of its own, or a CSV file (file, labels), COCO or Pascal VOC annotations '
            'beside them')
    return [LabelledPicture(path, (path.relative_to(folder).parts[0],)) for path in files]


def _from_csv(folder: Path, columns: int | Sequence[str] | None) -> dict[str, list[str]]:
    tables = sorted(folder.glob('*.csv'))
    if not tables:
        return {}
    named = [path for path in tables if path.stem in ('labels', 'annotations')] or tables
    if len(named) > 1:
        raise DataSetError(f'{folder}: several CSV files; name the one with the labels labels.csv')
    try:
        with named[0].open(encoding='utf-8-sig', newline='') as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            header = [name.strip() for name in reader.fieldnames or ()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataSetError(f'{named[0]}: cannot be read as CSV: {error}') from error
    file_column = next((name for name in FILE_COLUMNS if name in header), None)
    if file_column is None:
        raise DataSetError(f'{named[0]}: no column names the pictures; call it file')
    wanted = _label_columns(named[0], header, file_column, columns)
    found: dict[str, list[str]] = {}
    for row in rows:
        cells = {str(name).strip(): str(value or '').strip() for name, value in row.items()}
        labels = [label for name in wanted for label in _cell_labels(name, cells.get(name, ''))]
        found.setdefault(cells.get(file_column, ''), []).extend(labels)
    return found


def _label_columns(path: Path, header: list[str], file_column: str,
                   columns: int | Sequence[str] | None) -> list[str]:
    others = [name for name in header if name != file_column]
    if isinstance(columns, int):
        others = others[-columns:] if columns > 0 else others[:-columns]
    elif columns is not None:
        unknown = [name for name in columns if name not in others]
        if unknown:
            raise DataSetError(f'{path}: there is no column {unknown[0]!r}')
        others = list(columns)
    else:
        known = [name for name in LABEL_COLUMNS if name in others]
        others = known[:1] or others
    if not others:
        raise DataSetError(f'{path}: no column has labels')
    return others


def _cell_labels(column: str, cell: str) -> list[str]:
    """Return the labels of a cell: names, or the column's own name where it holds a 1."""
    word = cell.lower()
    if word in _YES:
        return [column]
    if word in _NO:
        return []
    return [name.strip() for name in cell.replace('|', ';').split(';') if name.strip()]


def _from_coco(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted({*folder.glob('*.json'), *folder.glob('annotations/*.json')}):
        content = _json(path)
        if not isinstance(content, dict) or not {'images', 'annotations', 'categories'} <= set(
                content):
            continue
        try:
            names = {one['id']: str(one['name']) for one in content['categories']}
            files = {one['id']: str(one['file_name']) for one in content['images']}
            for name in files.values():
                found.setdefault(name, [])
            for one in content['annotations']:
                found[files[one['image_id']]].append(names[one['category_id']])
        except (KeyError, TypeError) as error:
            raise DataSetError(f'{path}: not whole COCO annotations: {error} is missing'
                               ) from error
    return found


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataSetError(f'{path}: too large')
        return json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError) as error:
        raise DataSetError(f'{path}: cannot be read as JSON: {error}') from error


def _from_voc(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob('*.xml'), key=natural_key):
        try:
            if path.stat().st_size > MAX_BYTES or b'<!ENTITY' in path.read_bytes():
                raise DataSetError(f'{path}: too large, or with entities of its own')
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            raise DataSetError(f'{path}: cannot be read as XML: {error}') from error
        if root.tag == 'annotation':
            name = (root.findtext('filename') or '').strip() or f'{path.stem}.jpg'
            found[name] = [text.strip() for one in root.iter('object')
                           if (text := one.findtext('name') or '').strip()]
    return found
