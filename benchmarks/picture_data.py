# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures with labels for benchmarks/pictures.py: reading, near-copies, splits, orders."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.features.extractors.images import ColourHistogram

# Pairs of pictures of different classes that may be as alike as near-copies: one in 10,000.
_ALIKE = 0.9999
_THUMBNAIL = 16
# Side of a picture, and of its middle, which is looked for in another picture at these scales.
_SIDE, _MIDDLE, _SCALES = 48, 32, (0.8, 1.0, 1.25)
# Pairs of different classes, drawn by chance, that tell how alike those are.
_DRAWN_PAIRS = 30_000

# What counts as near-copies.
RULES = ('thumbnails', 'shifted', 'colours')

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


def read_grocery(rule: str = 'shifted') -> Pictures:
    """Read the groceries: one fine label per picture.

    Args:
        rule: which pictures of a class are near-copies, one of RULES. Those with alike
            thumbnails; 'shifted' ones too, of which one shows the middle of the other; or, beside
            those with alike thumbnails, those with alike 'colours': pictures of one visit, and of
            several visits where all of the picture has one colour.
    """
    folder = folder_of('grocery')
    with (folder / 'labels.csv').open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    paths = tuple(folder / row['file'] for row in rows)
    classes = np.array([row['fine'] for row in rows])
    near = alike(np.array([thumbnail(path) for path in paths]), classes)
    if rule == 'shifted':
        near |= shifted_alike(paths, classes)
    elif rule == 'colours':
        near |= alike(np.array([colours(path) for path in paths]), classes)
    return Pictures(paths, tuple((row['fine'],) for row in rows), connected(near))


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


def alike(view: NDArray[np.float64], classes: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which pairs of a class are more alike than all but one in 10,000 of other classes.

    Args:
        view: of each picture, a vector of length one.
        classes: of the pictures.
    """
    same = classes[:, np.newaxis] == classes
    found = view @ view.T
    return np.triu(same & (found > np.quantile(found[np.triu(~same, 1)], _ALIKE)), 1)


def shifted_alike(paths: Sequence[Path], classes: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which pairs of a class show the same after a shift and a change of scale.

    The middle of each is looked for in the other (normalised correlation); they must be more alike
    than all but one in 10,000 pairs of different classes.
    """
    small = [small_picture(path, _SIDE) for path in paths]
    middles = [[middle_of(picture, scale) for scale in _SCALES] for picture in small]

    def likeness(one: int, other: int) -> float:
        return max(float(cv2.matchTemplate(small[there], middle, cv2.TM_CCOEFF_NORMED).max())
                   for here, there in ((one, other), (other, one)) for middle in middles[here])

    random = np.random.default_rng(0)
    drawn = random.integers(len(paths), size=(2 * _DRAWN_PAIRS, 2))
    others = drawn[classes[drawn[:, 0]] != classes[drawn[:, 1]]][:_DRAWN_PAIRS]
    least = np.quantile([likeness(*pair) for pair in others], _ALIKE)
    near = np.zeros((len(paths), len(paths)), bool)
    for one, other in zip(*np.nonzero(np.triu(classes[:, np.newaxis] == classes, 1)), strict=True):
        near[one, other] = likeness(one, other) > least
    return near


def middle_of(picture: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    """Return the middle of a picture at a scale."""
    side = round(_SIDE * scale)
    scaled = cv2.resize(picture, (side, side), interpolation=cv2.INTER_AREA)
    start = (side - _MIDDLE) // 2
    return np.ascontiguousarray(scaled[start:start + _MIDDLE, start:start + _MIDDLE])


def connected(near: NDArray[np.bool_]) -> Indices:
    """Return a number for each picture, the same for those that near-copies connect."""
    group = np.arange(len(near))
    for one, other in zip(*np.nonzero(near), strict=True):
        group[group == group[other]] = group[one]
    return group


def colours(path: Path) -> NDArray[np.float64]:
    """Return the shares of colours in a picture as a vector of length one."""
    return ColourHistogram()(read_rgb(path)).astype(np.float64)


def thumbnail(path: Path) -> NDArray[np.float64]:
    """Return a small picture as a vector of length one, without its mean colour."""
    values = small_picture(path, _THUMBNAIL).astype(np.float64)
    values -= values.mean((0, 1))
    return values.ravel() / max(float(np.linalg.norm(values)), 1e-9)


def small_picture(path: Path, side: int) -> NDArray[np.float32]:
    """Return a picture of a side, in L*a*b*."""
    small = cv2.resize(cv2.imread(str(path)), (side, side), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2Lab), np.float32)


def extracted(paths: Sequence[Path],
              extract: Callable[[Sequence[NDArray[np.uint8]]], list[Vectors]],
              at_once: int = 64) -> Vectors:
    """Return the feature vectors of pictures."""
    found: list[Vectors] = []
    for start in range(0, len(paths), at_once):
        found += extract([read_rgb(path) for path in paths[start:start + at_once]])
    return np.array(found, np.float32)


def read_rgb(path: Path) -> NDArray[np.uint8]:
    """Return a picture as RGB."""
    return np.asarray(cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB), np.uint8)


def changed_pictures(pictures: Pictures, chosen: Indices, scenes: Pictures, seed: int,
                     ) -> Iterator[tuple[str, list[NDArray[np.uint8]]]]:
    """Yield each way of changing pictures, and the chosen ones changed in that way."""
    for way, change in CHANGES.items():
        random = np.random.default_rng(seed)
        yield way, [change(read_rgb(pictures.paths[place]), random) for place in chosen]
    random = np.random.default_rng(seed)
    yield 'half_size_elsewhere', [
        pasted(read_rgb(pictures.paths[place]),
               read_rgb(scenes.paths[random.integers(len(scenes.paths))]), 0.5, random)[0]
        for place in chosen]


def other_gamma(image: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """Return a picture darker or lighter, gamma 0.5 or 2."""
    levels = 255.0 * (np.arange(256) / 255.0) ** random.choice([0.5, 2.0])
    return np.asarray(cv2.LUT(image, np.rint(levels).astype(np.uint8)), np.uint8)


def other_white(image: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """Return a picture in warmer or colder light: red and blue times 1.3 and 0.75."""
    gains = [1.3, 1.0, 0.75][::random.choice([1, -1])]
    return np.clip(np.rint(image * np.array(gains)), 0, 255).astype(np.uint8)


def blurred(image: NDArray[np.uint8], _: np.random.Generator) -> NDArray[np.uint8]:
    """Return a picture out of focus: Gaussian of 1 % of its height."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 0.01 * image.shape[0]), np.uint8)


def quarter_resolution(image: NDArray[np.uint8], _: np.random.Generator) -> NDArray[np.uint8]:
    """Return a picture with a quarter of its rows and columns."""
    return np.asarray(cv2.resize(image, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA),
                      np.uint8)


def turned(image: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """Return a picture turned by 30 degrees to either side; its edges are mirrored."""
    rows, columns = image.shape[:2]
    turn = cv2.getRotationMatrix2D((columns / 2, rows / 2), random.choice([-30.0, 30.0]), 1.0)
    return np.asarray(cv2.warpAffine(image, turn, (columns, rows), flags=cv2.INTER_LINEAR,
                                     borderMode=cv2.BORDER_REFLECT_101), np.uint8)


CHANGES: dict[str, Callable[[NDArray[np.uint8], np.random.Generator], NDArray[np.uint8]]] = {
    'gamma': other_gamma, 'white_balance': other_white, 'blur': blurred,
    'quarter_resolution': quarter_resolution, 'turn': turned}


def pasted(image: NDArray[np.uint8], scene: NDArray[np.uint8], share: float,
           random: np.random.Generator) -> tuple[NDArray[np.uint8], tuple[int, int, int, int]]:
    """Paste a picture into a scene at a random place.

    Args:
        image: to paste.
        scene: where to.
        share: of the scene's height that it gets, less where it would be too wide.
        random: for the place.

    Returns:
        The scene, and left, top, width and height of the picture in it.
    """
    scale = min(share * scene.shape[0] / image.shape[0], 0.9 * scene.shape[1] / image.shape[1])
    height, width = (max(1, round(scale * side)) for side in image.shape[:2])
    top = int(random.integers(scene.shape[0] - height + 1))
    left = int(random.integers(scene.shape[1] - width + 1))
    scene = scene.copy()
    scene[top:top + height, left:left + width] = cv2.resize(
        image, (width, height), interpolation=cv2.INTER_AREA)
    return scene, (left, top, width, height)


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
