# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""
Objects taught one after the other, and the curve of F1 over samples, with the node's renewals.

Run:  ./proemlc run python benchmarks/objects.py [--part objects|curve] [--seeds N] [--cache DIR]

Part "objects": 10 samples of each of 7, 14, 18 … objects are taught, one object after the other
or shuffled, to the classifier that the node opens by default. Then inputs come that show none of
them: how many get the name that is commonest among them, and the AUROC of the novelty against new
samples of what was taught. Inputs are points of clusters in 64 dimensions, and the groceries with
the installed network (strangers: coco128).

Part "curve": F1 on samples that are never taught after 50, 100, 200, 400 samples, with the
renewals of the node and without, shuffled, means over seeds.
Reads $PROEMLC_DATA (default ../shared).
"""

from __future__ import annotations

import os

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from picture_data import read_coco, read_grocery
from picture_learner import PictureLearner, PicturePrediction
from pictures import extractor_of, kept

from proemlc_ros.core.metrics import f1_example
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.experiments.datasets import find_dataset

_EACH, _WIDTH, _NOISE = 10, 64, 0.3
_OBJECTS, _MANY = (7, 14, 18, 25, 40), (75, 150)
_STOPS = (50, 100, 200, 400)


def auroc(strangers: Sequence[float], known: Sequence[float]) -> float:
    """Return how often a stranger is more novel than something known."""
    one, other = np.asarray(strangers)[:, np.newaxis], np.asarray(known)[np.newaxis]
    return float(np.mean((one > other) + 0.5 * (one == other)))


def best_names(found: Sequence[PicturePrediction]) -> list[str]:
    """Return the likeliest label of each, named or not."""
    return [one.names[int(np.argmax(one.scores))] for one in found]


def clusters(count: int, seed: int) -> tuple[np.ndarray, list[str], np.ndarray, np.ndarray]:
    """Return samples, their labels, new samples of the same, and points of no cluster."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(count, _WIDTH))

    def around(each: int) -> np.ndarray:
        return (np.repeat(centres, each, axis=0)
                + _NOISE * random.normal(size=(count * each, _WIDTH))).astype(np.float32)

    names = [f'object {number}' for number in range(count) for _ in range(_EACH)]
    return around(_EACH), names, around(3), random.normal(size=(300, _WIDTH)).astype(np.float32)


def report_objects(what: str, maker: PictureLearner, X: np.ndarray, names: list[str],
                   known: np.ndarray, strangers: np.ndarray, seed: int) -> None:
    """Teach in both orders; print what strangers are called."""
    orders = {'one by one': np.arange(len(X)),
              'shuffled': np.random.default_rng(seed).permutation(len(X))}
    for order, places in orders.items():
        with maker.open() as learner:
            learner.teach(X, [(name,) for name in names], places)
            found, seen = learner.predict(strangers), learner.predict(known)
        likeliest = Counter(best_names(found)).most_common(1)[0][1] / len(found)
        named = Counter(one.labels[0] for one in found if one.labels).most_common(1)
        print(f'| {what} | {len({*names})} | {order} | yes '
              f'| {(named[0][1] if named else 0) / len(found):.2f} | {likeliest:.2f} '
              f'| {auroc([one.novelty for one in found], [one.novelty for one in seen]):.3f} |',
              flush=True)


def objects(args: argparse.Namespace) -> None:
    """Print a table of what strangers are called after objects taught one after the other."""
    print('| inputs | objects | order | renewals | commonest name | likeliest label | AUROC |')
    print('|---|---|---|---|---|---|---|', flush=True)
    for count in _OBJECTS + (_MANY if args.many else ()):
        X, names, known, strangers = clusters(count, 3)
        report_objects('clusters', PictureLearner('', renew=True), X, names, known,
                       strangers, 3)
    extractor, grocery = extractor_of(args.network), read_grocery()
    vectors, strangers = (kept(args.cache, extractor, pictures)
                          for pictures in (grocery, read_coco()))
    maker = PictureLearner(extractor.name, renew=True)
    random = np.random.default_rng(3)
    enough = [name for name in grocery.classes if len(grocery.of_class(name)) >= _EACH + 3]
    for count in [count for count in _OBJECTS if count <= len(enough)]:
        chosen = random.permutation(enough)[:count].tolist()
        parts = [random.permutation(grocery.of_class(name)) for name in chosen]
        taught = np.concatenate([part[:_EACH] for part in parts])
        known = vectors[np.concatenate([part[_EACH:_EACH + 3] for part in parts])]
        names = [name for name in chosen for _ in range(_EACH)]
        report_objects('groceries', maker, vectors[taught], names, known, strangers, 3)


def samples_of(name: str, args: argparse.Namespace
               ) -> tuple[np.ndarray, list[tuple[str, ...]], str]:
    """Return vectors, labels and extractor of a data set or of the groceries."""
    if name != 'groceries':
        data = find_dataset(Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets', name)
        X = data.X.toarray() if hasattr(data.X, 'toarray') else data.X
        return (np.asarray(X, np.float32), [tuple(data.labels(row)) for row in range(len(X))], '')
    extractor, grocery = extractor_of(args.network), read_grocery()
    return (kept(args.cache, extractor, grocery), [*grocery.labels],
            extractor.name)


def f1_at_stops(maker: PictureLearner, X: np.ndarray, labels: Sequence[tuple[str, ...]],
                order: np.ndarray) -> Iterator[float]:
    """Yield the F1 on the last 500 of an order after so many of the first."""
    names = sorted({name for said in labels for name in said})
    test = order[-500:]

    def shown(sets: Sequence[Sequence[str]]) -> np.ndarray:
        return np.array([[name in said for name in names] for said in map(set, sets)])

    with maker.open() as learner:
        begun = 0
        for stop in _STOPS:
            learner.teach(X, labels, order[begun:stop])
            begun = stop
            found = [one.labels for one in learner.predict(X[test])]
            yield f1_example(shown([labels[place] for place in test]), shown(found))


def curve(args: argparse.Namespace) -> None:
    """Print F1 over samples, with renewals and without."""
    print('| data | renewals | ' + ' | '.join(f'{stop} samples' for stop in _STOPS) + ' |')
    print('|---|---|' + '---|' * len(_STOPS), flush=True)
    for name in args.sets.split(','):
        X, labels, extractor = samples_of(name, args)
        for renew in (False, True):
            found = np.array([list(f1_at_stops(
                PictureLearner(extractor, renew=renew), X, labels,
                np.random.default_rng(seed).permutation(len(X))))
                for seed in range(args.seeds)])
            values = ' | '.join(f'{mean:.3f} ± {spread:.3f}' for mean, spread in zip(
                found.mean(axis=0), found.std(axis=0) / max(args.seeds - 1, 1) ** 0.5,
                strict=True))
            print(f'| {name} | {"yes" if renew else "no"} | {values} |', flush=True)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description='Objects one after the other; F1 over samples.')
    parser.add_argument('--part', choices=('objects', 'curve'), default='objects')
    parser.add_argument('--many', action='store_true',
                        help='also 1.5 and 3 times as many samples as neurons')
    parser.add_argument('--seeds', type=int, default=5, metavar='N')
    parser.add_argument('--sets', default='scene,medical,groceries', metavar='NAME,NAME')
    parser.add_argument('--network', default='lite0')
    parser.add_argument('--cache', type=Path, metavar='DIR', help='folder that keeps the vectors')
    args = parser.parse_args()
    try:
        (objects if args.part == 'objects' else curve)(args)
    except (ProEMLCError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
