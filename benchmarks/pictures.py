# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Real pictures through the default configuration of the nodes: hand-made features and deep ones.

Run:  ./proemlc run python benchmarks/pictures.py [--copies RULE] [--live] [--features NAME ...]

The features are those that the feature node makes; the classifier is the one that the node opens,
with its default parameters, journal included. Pictures are taught shuffled and as a person
does, object by object; near-copies of a picture are never in training and test at once. With
--live, only the small tasks run, through a running node over DDS. Needs the networks: proemlc
backbone install lite0, proemlc backbone install lite2. Reads the pictures of $PROEMLC_DATA/images
(default ../shared/images).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import cv2
import numpy as np
from picture_data import (
    ORDERS,
    RULES,
    Indices,
    Pictures,
    Vectors,
    extracted,
    few_of_each,
    read_coco,
    read_grocery,
    split_by_copies,
)
from picture_learner import LiveLearner, NodeLearner, PictureLearner

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.features.automatic import HAND_MADE
from proemlc_ros.features.backbone.store import backbone_folder, read_backbone
from proemlc_ros.features.extractor import Extractor
from proemlc_ros.features.registry import make_extractor

FEATURES = ('colour_moments', 'hand-made', 'lite0', 'lite2')
# Repeats of tasks with few samples, whose results scatter most.
SMALL_TASKS = 10
LIVE_TASKS = 3
# Positive pictures that a label of COCO needs for its average precision to mean anything.
FEWEST_POSITIVES = 4


def main() -> int:
    """Print one line per set of features and task."""
    parser = argparse.ArgumentParser(description='Real pictures through the nodes.')
    parser.add_argument('--features', nargs='+', default=list(FEATURES), choices=FEATURES)
    parser.add_argument('--repeats', type=int, default=3, metavar='N', help='splits')
    parser.add_argument('--cache', type=Path, metavar='DIR', help='folder that keeps the vectors')
    parser.add_argument('--copies', default='shifted', choices=RULES,
                        help='what counts as near-copies (default shifted)')
    parser.add_argument('--strict', dest='copies', action='store_const', const='colours',
                        help='the same as --copies colours: whole visits count as near-copies')
    parser.add_argument('--live', action='store_true', help='only the small tasks, over DDS')
    args = parser.parse_args()
    cv2.setNumThreads(1)
    try:
        extractors = {name: extractor_of(name) for name in args.features}
        grocery, coco = read_grocery(args.copies), read_coco()
    except (ProEMLCError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f'grocery: {len(grocery.paths)} pictures, {len(grocery.classes)} classes, '
          f'{len(np.unique(grocery.copies))} without near-copies; coco128: {len(coco.paths)}')
    for name, extractor in extractors.items():
        began = time.perf_counter()
        found = [kept(args.cache, extractor, pictures) for pictures in (grocery, coco)]
        print(f'{name}: {extractor.name}, {time.perf_counter() - began:.0f} s for all pictures',
              flush=True)
        run_all(name, extractor, grocery, found[0], coco, found[1], args)
    return 0


def extractor_of(name: str) -> Extractor:
    """Return the extractor of a set of features, as the feature node makes it."""
    if name == 'hand-made':
        return make_extractor(*HAND_MADE)
    if name.startswith('lite'):
        backbone = read_backbone(backbone_folder() / name)
        return make_extractor('onnx_embedding', backbone.extractor_parameters())
    return make_extractor(name)


def kept(folder: Path | None, extractor: Extractor, pictures: Pictures) -> Vectors:
    """Return the vectors of pictures, from the folder if they are there."""
    if folder is None:
        return extracted(pictures, extractor.extract_many)
    name = hashlib.sha256(f'{extractor.name} {pictures.paths}'.encode()).hexdigest()[:16]
    path = folder / f'{name}.npy'
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path, extracted(pictures, extractor.extract_many))
    return np.load(path)


def run_all(name: str, extractor: Extractor, grocery: Pictures, vectors: Vectors, coco: Pictures,
            coco_vectors: Vectors, args: argparse.Namespace) -> None:
    """Run every task on one set of features."""
    for order in ORDERS:
        small_tasks(name, extractor, grocery, vectors, order, args.live)
        if args.live:
            continue
        maker = PictureLearner(extractor.name)
        for count in (None, 1, 5, 10):
            accuracy, f1, named = np.mean(
                [whole_split(maker, grocery, vectors, order, seed, count)
                 for seed in range(args.repeats)], axis=0)
            report(name, f'grocery, {f"{count} of each, " if count else ""}{order}',
                   accuracy=accuracy, F1=f1, named=named)
        report(name, f'coco128, {order}', mean_average_precision=np.mean([
            average_precision(maker, coco, coco_vectors, order, seed)
            for seed in range(args.repeats)]))
        report(name, f'novelty, {order}', AUROC=np.mean([
            novelty(maker, grocery, vectors, order, seed) for seed in range(args.repeats)]))


def small_tasks(name: str, extractor: Extractor, grocery: Pictures, vectors: Vectors, order: str,
                live: bool) -> None:
    """Run the tasks of the first minute, through running nodes where `live` says so."""
    maker = PictureLearner(extractor.name, LiveLearner if live else NodeLearner)
    for classes, count in ((3, 3), (10, 1)):
        accuracy, f1, named = np.mean([
            small_task(maker, grocery, vectors, order, classes, count, seed)
            for seed in range(LIVE_TASKS if live else SMALL_TASKS)], axis=0)
        report(name, f'{classes} objects x {count}, {order}{", live" if live else ""}',
               accuracy=accuracy, F1=f1, named=named)


def report(features: str, task: str, **results: float) -> None:
    """Print one line."""
    print(f'{features:<15} {task:<36} ' + '  '.join(
        f'{key.replace("_", " ")} {value:.3f}' for key, value in results.items()), flush=True)


def whole_split(maker: PictureLearner, pictures: Pictures, vectors: Vectors, order: str,
                seed: int, count: int | None = None) -> tuple[float, float, float]:
    """Teach all training pictures, or few of each class; return the scores of the test."""
    random = np.random.default_rng(seed)
    train, test = split_by_copies(pictures, random)
    if count is not None:
        train = few_of_each(pictures, train, count, random)
    return taught(maker, pictures, vectors, ORDERS[order](pictures, train, random), test)


def small_task(maker: PictureLearner, pictures: Pictures, vectors: Vectors, order: str,
               classes: int, count: int, seed: int) -> tuple[float, float, float]:
    """Teach few pictures of few classes; return the scores on their other pictures."""
    random = np.random.default_rng(seed)
    names = random.choice(pictures.classes, classes, replace=False)
    train, test = (np.array([place for place in side if pictures.labels[place][0] in names])
                   for side in split_by_copies(pictures, random))
    train = few_of_each(pictures, train, count, random)
    return taught(maker, pictures, vectors, ORDERS[order](pictures, train, random), test)


def taught(maker: PictureLearner, pictures: Pictures, vectors: Vectors, train: Iterable[int],
           test: Indices) -> tuple[float, float, float]:
    """Return top-1 accuracy, example F1, and the share of pictures that were given a label."""
    with maker.open() as learner:
        learner.teach(vectors, pictures.labels, train)
        predictions = learner.predict(vectors[test])
    truth = [pictures.labels[place] for place in test]
    best = [max(zip(found.scores, found.names, strict=True), default=(0.0, ''))[1]
            for found in predictions]
    return (float(np.mean([name in names for name, names in zip(best, truth, strict=True)])),
            float(np.mean([f1_of(found.labels, names)
                           for found, names in zip(predictions, truth, strict=True)])),
            float(np.mean([bool(found.labels) for found in predictions])))


def f1_of(predicted: Sequence[str], truth: Sequence[str]) -> float:
    """Return the F1 of one picture."""
    return 2 * len({*predicted} & {*truth}) / max(len(predicted) + len(truth), 1)


def average_precision(maker: PictureLearner, pictures: Pictures, vectors: Vectors, order: str,
                      seed: int) -> float:
    """Return the mean average precision of the labels that are in both halves."""
    random = np.random.default_rng(seed)
    places = random.permutation(len(pictures.paths))
    train, test = np.array_split(places, 2)
    with maker.open() as learner:
        learner.teach(vectors, pictures.labels, ORDERS[order](pictures, train, random))
        predictions = learner.predict(vectors[test])
    found = []
    for column, name in enumerate(predictions[0].names):
        present = np.array([name in pictures.labels[place] for place in test])
        if present.any() and len(pictures.of_class(name)) >= FEWEST_POSITIVES:
            scores = np.array([prediction.scores[column] for prediction in predictions])
            hits = present[np.argsort(-scores, kind='stable')]
            found.append(np.mean(np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1)))
    return float(np.mean(found))


def novelty(maker: PictureLearner, pictures: Pictures, vectors: Vectors, order: str,
            seed: int) -> float:
    """Teach half of the classes; return how well novelty tells pictures of the others apart."""
    random = np.random.default_rng(seed)
    train, test = split_by_copies(pictures, random)
    known = {*random.permutation(pictures.classes)[::2].tolist()}
    taught_places = np.array([place for place in train if pictures.labels[place][0] in known])
    with maker.open() as learner:
        learner.teach(
            vectors, pictures.labels, ORDERS[order](pictures, taught_places, random))
        found = np.array([prediction.novelty for prediction in learner.predict(vectors[test])])
    new = np.array([pictures.labels[place][0] not in known for place in test])
    ranks = np.argsort(np.argsort(found, kind='stable'), kind='stable') + 1.0
    return float((ranks[new].sum() - new.sum() * (new.sum() + 1) / 2) / (new.sum() * (~new).sum()))


if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
