# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures as data sets: reads and writes the labels of each picture.

Labels are in a CSV file, COCO, Pascal VOC or YOLO annotation files, or one folder per label.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import cv2
import numpy as np

from proemlc_ros.bags.pictures import picture_files
from proemlc_ros.errors import DataSetError
from proemlc_ros.files import natural_key
from proemlc_ros.label_text import CELL_SEPARATORS, csv_rows, csv_text, is_yes, split_labels
from proemlc_ros.regions import WHOLE, Region

FILE_COLUMNS = ('file', 'filename', 'file_name', 'image', 'path')
LABEL_COLUMNS = ('labels', 'label', 'class', 'tags')
MAX_BYTES = 500_000_000
_PNG = b'\x89PNG'


class LabelledPicture(NamedTuple):
    """A picture file and its labels."""

    path: Path
    labels: tuple[str, ...]


class TaughtPicture(NamedTuple):
    """A picture that was taught: of the whole view, or of a region that was cut out of one.

    Args:
        number: of the sample.
        data: the compressed picture.
        labels: names that are present.
        absent: names that are absent, where `complete` is false.
        complete: whether every other name is absent.
        region: box in the view that it was cut out of.
    """

    number: int
    data: bytes
    labels: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True
    region: Region = WHOLE

    @property
    def file_name(self) -> str:
        """Name of its file; in the order in which pictures were taught."""
        return f'{self.number:08d}.{"png" if self.data.startswith(_PNG) else "jpg"}'


class _PictureSet(NamedTuple):
    """The pictures of a folder with their labels, and notes on what was left out."""

    pictures: list[LabelledPicture]
    notes: list[str]


def read_picture_labels(folder: Path, columns: int | Sequence[str] | None = None) -> _PictureSet:
    """Find the labels of the pictures in a folder.

    Args:
        folder: with a CSV file; or COCO (.json), Pascal VOC (.xml) or YOLO (data.yaml, labels/)
            files; or one folder per label.
        columns: of the CSV file, with the labels; None: "labels" or "label", or all others.

    Raises:
        DataSetError: there are no pictures, or nothing says what they show.
    """
    files = picture_files(folder)
    found = _from_csv(folder, columns) or _from_coco(folder) or _from_voc(folder) \
        or _from_yolo(folder)
    if not found:
        return _PictureSet(_from_folders(folder, files), [])
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
    return _PictureSet([LabelledPicture(path, tuple(dict.fromkeys(labels))) for path, labels
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
            f'{folder}: no labels for {loose[0]}; put the pictures of each label into a '
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
    rows = [[cell.strip() for cell in row] for _, row in csv_rows(named[0])]
    header = rows[0] if rows else []
    file_column = next((name for name in FILE_COLUMNS if name in header), None)
    if file_column is None:
        raise DataSetError(f'{named[0]}: no column names the pictures; call it file')
    wanted = _label_columns(named[0], header, file_column, columns)
    found: dict[str, list[str]] = {}
    for row in rows[1:]:
        cells = dict(zip(header, row, strict=False))
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
    if column not in LABEL_COLUMNS:  # There a 1 is the name of a label.
        with suppress(ValueError):
            return [column] if is_yes(cell or 'no') else []
    return list(split_labels(cell, CELL_SEPARATORS))


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


def _from_yolo(folder: Path) -> dict[str, list[str]]:
    """Return the labels of images/NAME.* in labels/NAME.txt, by the names of data.yaml."""
    described = folder / 'data.yaml'
    if not described.is_file():
        return {}
    import yaml
    try:
        stated = yaml.safe_load(described.read_text(encoding='utf-8'))['names']
        names = dict(enumerate(stated) if isinstance(stated, list) else stated.items())
        found: dict[str, list[str]] = {}
        for path in picture_files(folder):
            lines = Path(*('labels' if part == 'images' else part for part in path.parts)
                         ).with_suffix('.txt')
            numbers = [int(line.split()[0]) for line in lines.read_text().splitlines()
                       if line.strip()] if lines.is_file() else []
            found[path.relative_to(folder).as_posix()] = [str(names[number]) for number in numbers]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise DataSetError(f'{described}: not whole YOLO annotations: {error}') from error
    return found


def write_pictures(folder: Path, layout: str, pictures: Iterable[TaughtPicture]) -> int:
    """Write what was taught as a data set of pictures that other tools read.

    A picture of a region is as it was cut out, and its box is the whole of it.

    Args:
        folder: to be made.
        layout: 'coco', 'yolo' or 'folder' (a folder per label, and labels.csv).
        pictures: to write.

    Returns:
        Number of pictures.

    Raises:
        DataSetError: the folder is there already, or a picture is broken.
    """
    if folder.exists():
        raise DataSetError(f'{folder}: exists already; choose another name or remove it')
    taught = sorted(pictures)
    if not taught:
        raise DataSetError('no sample has a picture; keep pictures with the parameter '
                           'keep_pictures')
    files = _LAYOUTS[layout](taught)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return len(taught)


def _labels_of(taught: Sequence[TaughtPicture]) -> list[str]:
    return list(dict.fromkeys(name for one in taught for name in one.labels))


def _as_folders(taught: Sequence[TaughtPicture]) -> dict[str, bytes | str]:
    rows: list[list[object]] = [['file', 'labels', 'absent', 'complete']]
    files: dict[str, bytes | str] = {}
    for one in taught:
        first = one.labels[0] if one.labels else 'nothing'
        place = ''.join('_' if letter in '/\\:' else letter for letter in first).strip('.')
        name = f'{place or "_"}/{one.file_name}'
        files[name] = one.data
        rows.append([name, *(';'.join('"' + name.replace('"', '""') + '"' for name in names)
                             for names in (one.labels, one.absent)), int(one.complete)])
    return {**files, 'labels.csv': csv_text(rows)}


def _as_coco(taught: Sequence[TaughtPicture]) -> dict[str, bytes | str]:
    places = {name: number for number, name in enumerate(_labels_of(taught), 1)}
    files: dict[str, bytes | str] = {}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for one in taught:
        width, height = _size_of(one)
        files[f'images/{one.file_name}'] = one.data
        # What COCO has no place for is in fields of our own, which other tools ignore.
        images.append({
            'id': one.number, 'file_name': f'images/{one.file_name}', 'width': width,
            'height': height, 'absent': one.absent, 'complete': one.complete,
            **({} if one.region.is_whole else {'cut_from': one.region.edges})})
        annotations += [{
            'id': len(annotations) + place, 'image_id': one.number, 'category_id': places[name],
            'bbox': [0, 0, width, height], 'area': width * height, 'iscrowd': 0}
            for place, name in enumerate(one.labels, 1)]
    content = {'images': images, 'annotations': annotations, 'categories': [
        {'id': number, 'name': name} for name, number in places.items()]}
    return {**files, 'annotations.json': json.dumps(content, ensure_ascii=False, indent=1)}


def _as_yolo(taught: Sequence[TaughtPicture]) -> dict[str, bytes | str]:
    names = _labels_of(taught)
    files: dict[str, bytes | str] = {
        'data.yaml': 'path: .\ntrain: images\nval: images\nnames: '
                     f'{json.dumps(names, ensure_ascii=False)}\n'}
    for one in taught:
        files[f'images/{one.file_name}'] = one.data
        files[f'labels/{one.number:08d}.txt'] = ''.join(
            f'{names.index(name)} 0.5 0.5 1 1\n' for name in one.labels)
    return files


def _size_of(one: TaughtPicture) -> tuple[int, int]:
    pixels = cv2.imdecode(np.frombuffer(one.data, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise DataSetError(f'the picture of sample {one.number} is broken')
    return pixels.shape[1], pixels.shape[0]


_LAYOUTS: dict[str, Callable[[Sequence[TaughtPicture]], dict[str, bytes | str]]] = {
    'coco': _as_coco, 'yolo': _as_yolo, 'folder': _as_folders}
