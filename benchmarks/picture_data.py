# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures with labels for benchmarks/pictures.py: reading, near-copies, splits, orders."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.features.colour import ColourHistogram

# Pairs of pictures of different classes that may be as alike as near-copies: one in 10,000.
_ALIKE = 0.9999
_THUMBNAIL = 16

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Pictures:
    """Paths, the labels of each picture, and a number that near-copies share."""

    paths: tuple[Path, ...]
    labels: tuple[tuple[str, ...], ...]
    copies: Indices

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that occur, in alphabetical order."""
        return tuple(sorted({name for names in self.labels for name in names}))

    def of_class(self, name: str) -> Indices:
        """Return the pictures that show a label."""
        return np.flatnonzero([name in names for names in self.labels])


def folder_of(name: str) -> Path:
    """Return the folder of a set of pictures."""
    return Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'images' / name


def read_grocery(strict: bool = False) -> Pictures:
    """Read the groceries: one fine label per picture; near-copies are found by thumbnails.

    Args:
        strict: pictures of one place from elsewhere, which have the same colours, count as well.
    """
    folder = folder_of('grocery')
    with (folder / 'labels.csv').open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    paths = tuple(folder / row['file'] for row in rows)
    labels = tuple((row['fine'],) for row in rows)
    views = [np.array([thumbnail(path) for path in paths])]
    if strict:
        views.append(np.array([colours(path) for path in paths]))
    return Pictures(paths, labels, near_copies(views, [row['fine'] for row in rows]))


def read_coco() -> Pictures:
    """Read the COCO pictures: several labels per picture, no near-copies among them."""
    folder = folder_of('coco128')
    labels: dict[str, set[str]] = {}
    with (folder / 'boxes.csv').open(encoding='utf-8') as file:
        for row in csv.DictReader(file):
            labels.setdefault(row['file'], set()).add(row['label'])
    return Pictures(
        tuple(folder / name for name in labels),
        tuple(tuple(sorted(names)) for names in labels.values()), np.arange(len(labels)))


def near_copies(views: Sequence[NDArray[np.float64]], classes: Sequence[str]) -> Indices:
    """Return a number for each picture, the same for near-copies within a class.

    Two pictures are near-copies where in one view, vectors of length one, they are more alike than
    all but one in 10,000 pairs of different classes; so are pictures that near-copies connect.
    """
    names = np.array(classes)
    same = names[:, np.newaxis] == names
    pairs = np.triu_indices(len(names), 1)
    near = np.zeros(same.shape, bool)
    for view in views:
        alike = view @ view.T
        near |= alike > np.quantile(alike[pairs][~same[pairs]], _ALIKE)
    group = np.arange(len(names))
    for one, other in zip(*np.nonzero(np.triu(near & same, 1)), strict=True):
        group[group == group[other]] = group[one]
    return group


def colours(path: Path) -> NDArray[np.float64]:
    """Return the shares of colours in a picture as a vector of length one."""
    image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    return ColourHistogram()(image).astype(np.float64)


def thumbnail(path: Path) -> NDArray[np.float64]:
    """Return a small picture as a vector of length one, without its mean colour."""
    small = cv2.resize(cv2.imread(str(path)), (_THUMBNAIL, _THUMBNAIL),
                       interpolation=cv2.INTER_AREA)
    values = cv2.cvtColor(small, cv2.COLOR_BGR2Lab).astype(np.float64)
    values -= values.mean((0, 1))
    return values.ravel() / max(float(np.linalg.norm(values)), 1e-9)


def extracted(pictures: Pictures, extract: Callable[[Sequence[NDArray[np.uint8]]], list[Vectors]],
              at_once: int = 64) -> Vectors:
    """Return the feature vectors of all pictures."""
    found: list[Vectors] = []
    for start in range(0, len(pictures.paths), at_once):
        images = [cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
                  for path in pictures.paths[start:start + at_once]]
        found += extract(images)
    return np.array(found, np.float32)


def split_by_copies(pictures: Pictures, random: np.random.Generator,
                    share: float = 0.5) -> tuple[Indices, Indices]:
    """Return training and test pictures: of each class a share, and near-copies on one side."""
    train: list[int] = []
    test: list[int] = []
    for name in pictures.classes:
        members = pictures.of_class(name)
        groups = random.permutation(np.unique(pictures.copies[members]))
        # At least one group on each side; a class of one group cannot be tested.
        wanted, taken = share * len(members), 0
        for place, group in enumerate(groups):
            inside = members[pictures.copies[members] == group].tolist()
            to_train = taken < wanted and (place == 0 or place < len(groups) - 1)
            (train if to_train else test).extend(inside)
            taken += len(inside) if to_train else 0
    return np.array(train), np.array(test)


def few_of_each(pictures: Pictures, among: Indices, count: int,
                random: np.random.Generator) -> Indices:
    """Return that many pictures of each class, near-copies last."""
    chosen: list[int] = []
    for name in pictures.classes:
        members = random.permutation(np.intersect1d(among, pictures.of_class(name)))
        _, first = np.unique(pictures.copies[members], return_index=True)
        different = members[np.sort(first)]
        chosen += [*different, *np.setdiff1d(members, different)][:count]
    return np.array(chosen, np.int64)


def shuffled(_: Pictures, samples: Indices, random: np.random.Generator) -> Indices:
    """Return samples in any order."""
    return random.permutation(samples)


def in_bursts(pictures: Pictures, samples: Indices, random: np.random.Generator) -> Indices:
    """Return samples as a person teaches: object by object, near-copies one after the other."""
    names = sorted({pictures.labels[place] for place in samples})
    turn = dict(zip(names, random.permutation(len(names)).tolist(), strict=True))
    return np.array(sorted(samples, key=lambda place: (
        turn[pictures.labels[place]], pictures.copies[place], place)))


ORDERS = {'shuffled': shuffled, 'bursts': in_bursts}
