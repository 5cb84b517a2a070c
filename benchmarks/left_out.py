# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""
What "Is it good yet?" says, against pictures that were never taught.

Run:  ./proemlc run python benchmarks/left_out.py [--draws N] [--renew] [--cache DIR]

Ten kinds of groceries are drawn, and 5 or 20 pictures of each taught, shuffled, to the classifier
that the node opens by default; up to 20 others of each are the test. In "bursts" 20 samples of
each are taught, four near copies of 5 pictures: shifted by up to 2 % of the side, 5 % lighter or
darker. The page tells the share that is labelled exactly as taught, each sample left out in turn;
beside it stands the same share of the test, once by the labels alone, once with "I don't know"
counted as wrong. Reads $PROEMLC_DATA (default ../shared).
"""

from __future__ import annotations

import os

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from picture_data import Indices, Pictures, Vectors, folder_of, read_rgb
from picture_learner import NodeLearner, PictureLearner
from pictures import extractor_of, kept

from proemlc_ros.operator.progress import Truth
from proemlc_ros.records import Annotation, TaughtSample

_KINDS, _TESTED, _COPIES = 10, 20, 4
# Kinds to draw from, the most frequent, and pictures of each.
_AMONG, _EACH = 20, 40
_SHIFT, _LIGHT = 0.02, 0.05


def groceries() -> Pictures:
    """Return the pictures of the most frequent kinds."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(folder_of('grocery').glob('*.jpg')):
        kinds.setdefault(path.stem.rpartition('_')[0], []).append(path)
    most = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))[:_AMONG]
    chosen = [(path, (kind,)) for kind in most for path in kinds[kind][:_EACH]]
    return Pictures(tuple(path for path, _ in chosen), tuple(names for _, names in chosen),
                    np.arange(len(chosen)))


def near_copies(path: Path) -> Iterator[NDArray[np.uint8]]:
    """Yield a picture as a camera sees it that is hardly moved."""
    random, image = np.random.default_rng(len(path.name)), read_rgb(path)
    rows, columns = image.shape[:2]
    for _ in range(_COPIES):
        x, y = random.uniform(-_SHIFT, _SHIFT, 2)
        moved = cv2.warpAffine(image, np.array([[1, 0, x * columns], [0, 1, y * rows]]),
                               (columns, rows), borderMode=cv2.BORDER_REFLECT_101)
        yield np.clip(moved * random.uniform(1 - _LIGHT, 1 + _LIGHT), 0, 255).astype(np.uint8)


def taught(learner: NodeLearner, vectors: Vectors, labels: list[tuple[str, ...]],
           bursts: list[str], order: Indices) -> Truth:
    """Teach samples, and return what the page then tells."""
    learner.teach(vectors, labels, order)
    samples = [TaughtSample(number, 0, Annotation(number, labels[place]), True, 0.0)
               for number, place in enumerate(order, start=1)]
    return Truth.of_labels(learner.judged(), samples, {
        number: bursts[place] for number, place in enumerate(order, start=1) if bursts[place]})


def draw(maker: PictureLearner, pictures: Pictures, vectors: Vectors,
         copies: Callable[[int], list[Vectors]], way: str,
         seed: int) -> tuple[float, float, float, str]:
    """Return the page's share, that of the test, with "I don't know" too, and the page's words."""
    random = np.random.default_rng(seed)
    kinds = random.permutation(pictures.classes)[:_KINDS]
    count = int(way) if way.isdigit() else 5
    train, test = [], []
    for kind in kinds:
        members = random.permutation(pictures.of_class(kind))
        train += members[:count].tolist()
        test += members[-_TESTED:].tolist()
    shown, labels = vectors[train], [pictures.labels[place] for place in train]
    bursts = [''] * len(train)
    if not way.isdigit():
        shown = np.array([vector for place in train for vector in copies(place)], np.float32)
        labels = [names for names in labels for _ in range(_COPIES)]
        bursts = [str(place) for place in train for _ in range(_COPIES)]
    with maker.open() as learner:
        truth = taught(learner, shown, labels, bursts, random.permutation(len(shown)))
        said = [one.labels for one in learner.predict(vectors[test])]
        labelled = learner.labelled(vectors[test])

    def right(found: list[tuple[str, ...]]) -> float:
        return float(np.mean([set(names) == set(pictures.labels[place])
                              for names, place in zip(found, test, strict=True)]))
    return (truth.right / truth.of, right(labelled), right(said),
            f'{truth.sentence} {truth.caution}'.strip())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description='Left-out figure against held-out pictures.')
    parser.add_argument('--draws', type=int, default=10, metavar='N')
    parser.add_argument('--features', default='hand-made,lite0', metavar='NAME,NAME')
    parser.add_argument('--taught', default='5,20,bursts', metavar='WAY,WAY')
    parser.add_argument('--renew', action='store_true', help='wait for renewals that become due')
    parser.add_argument('--cache', type=Path, metavar='DIR', help='folder that keeps the vectors')
    args = parser.parse_args()
    print("| features | taught | page | test | page less test | at most | with I don't know |")
    print('|---|---|---|---|---|---|---|', flush=True)
    pictures = groceries()
    for name in args.features.split(','):
        extractor = extractor_of(name)
        vectors = kept(args.cache, extractor, pictures)
        copies = cache(lambda place, extract=extractor.extract_many: extract(
            [*near_copies(pictures.paths[place])]))
        maker = PictureLearner(extractor.name, renew=args.renew)
        for way in args.taught.split(','):
            drawn = [draw(maker, pictures, vectors, copies, way, seed)
                     for seed in range(args.draws)]
            page, test, said = np.array([one[:3] for one in drawn]).T
            print(f'| {name} | {way} | {page.mean():.3f} | {test.mean():.3f} | '
                  f'{(page - test).mean():+.3f} | {np.abs(page - test).max():.3f} | '
                  f'{said.mean():.3f} |', flush=True)
            print(f'  the page, draw 0: {drawn[0][3]}', flush=True)


if __name__ == '__main__':
    main()
