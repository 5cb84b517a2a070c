# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Real pictures through the default configuration of the nodes: hand-made features and deep ones.

Run:  ./proemlc run python benchmarks/pictures.py [--copies RULE] [--live] [--features NAME ...]
      [--looks N ...] [--tasks NAME ...] [--renew]

The features are those that the feature node makes; the classifier is the one that the node opens,
with its default parameters, journal included. Pictures are taught shuffled and as a person
does, object by object; near-copies of a picture are never in training and test at once. With
--renew the renewals run that the node would begin by itself. The task "changed" predicts pictures
in other light, resolution or place than taught. With
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
from numpy.typing import NDArray
from picture_data import (
    ORDERS,
    RULES,
    Indices,
    Pictures,
    Vectors,
    changed_pictures,
    extracted,
    few_of_each,
    read_coco,
    read_grocery,
    split_by_copies,
)
from picture_learner import LiveLearner, NodeLearner, PictureLearner, PicturePrediction

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.features.backbone.store import backbone_folder, read_backbone
from proemlc_ros.features.extractor import Extractor
from proemlc_ros.features.registry import HAND_MADE, make_extractor

FEATURES = ('colour_moments', 'hand-made', 'lite0', 'lite2')
TASKS = ('small', 'grocery', 'coco128', 'novelty', 'unknown', 'changed')
LOOKS = (1.0, 0.75, 0.55)
# Of the test pictures, every how many is changed in each way.
CHANGED_EVERY = 6
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
    parser.add_argument('--tasks', nargs='+', default=list(TASKS), choices=TASKS)
    parser.add_argument('--counts', type=int, nargs='+', default=[0, 1, 5, 10], metavar='N',
                        help='examples of each class of groceries; 0 = all of the training half')
    parser.add_argument('--orders', nargs='+', default=list(ORDERS), choices=list(ORDERS))
    parser.add_argument('--looks', type=int, nargs='+', default=[0], metavar='N',
                        help='looks of deep features, 1 to 3; 0 = as installed')
    parser.add_argument('--renew', action='store_true', help='with the renewals of a node')
    args = parser.parse_args()
    cv2.setNumThreads(1)
    try:
        extractors = {f'{name}, {looks} looks' if looks else name: extractor_of(name, looks)
                      for name in args.features for looks in args.looks}
        grocery, coco = read_grocery(args.copies), read_coco()
    except (ProEMLCError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f'grocery: {len(grocery.paths)} pictures, {len(grocery.classes)} classes, '
          f'{len(np.unique(grocery.copies))} without near-copies; coco128: {len(coco.paths)}')
    for name, extractor in extractors.items():
        began = time.perf_counter()
        found = [kept(args.cache, extractor, pictures) if args.tasks != ['changed'] else
                 np.zeros((0, extractor.width), np.float32) for pictures in (grocery, coco)]
        print(f'{name}: {extractor.name}, {time.perf_counter() - began:.0f} s for all pictures',
              flush=True)
        run_all(name, extractor, grocery, found[0], coco, found[1], args)
    return 0


def extractor_of(name: str, looks: int = 0) -> Extractor:
    """Return the extractor of a set of features, as the feature node makes it.

    Args:
        name: one of FEATURES.
        looks: of deep features; 0: as the network is installed.
    """
    if name == 'hand-made':
        return make_extractor(*HAND_MADE)
    if name.startswith('lite'):
        backbone = read_backbone(backbone_folder() / name)
        chosen = {'looks': LOOKS[:looks]} if looks else {}
        return make_extractor('onnx_embedding', {**backbone.extractor_parameters(), **chosen})
    return make_extractor(name)


def kept(folder: Path | None, extractor: Extractor, pictures: Pictures) -> Vectors:
    """Return the vectors of pictures, from the folder if they are there."""
    if folder is None:
        return extracted(pictures.paths, extractor.extract_many)
    name = hashlib.sha256(f'{extractor.name} {pictures.paths}'.encode()).hexdigest()[:16]
    path = folder / f'{name}.npy'
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path, extracted(pictures.paths, extractor.extract_many))
    return np.load(path)


def run_all(name: str, extractor: Extractor, grocery: Pictures, vectors: Vectors, coco: Pictures,
            coco_vectors: Vectors, args: argparse.Namespace) -> None:
    """Run the wanted tasks on one set of features."""
    maker = PictureLearner(extractor.name, renew=args.renew)
    splits = range(args.repeats)
    for order in args.orders:
        if 'small' in args.tasks:
            small_tasks(name, extractor, grocery, vectors, order, args.live)
        if args.live:
            continue
        for count in args.counts if 'grocery' in args.tasks else ():
            accuracy, f1, named = np.mean(
                [whole_split(maker, grocery, vectors, order, seed, count or None)
                 for seed in splits], axis=0)
            report(name, f'grocery, {f"{count} of each, " if count else ""}{order}',
                   accuracy=accuracy, F1=f1, named=named)
        if 'coco128' in args.tasks:
            report(name, f'coco128, {order}', mean_average_precision=np.mean([
                average_precision(maker, coco, coco_vectors, order, seed) for seed in splits]))
        if 'novelty' in args.tasks:
            report(name, f'novelty, {order}', AUROC=np.mean([
                novelty(maker, grocery, vectors, order, seed) for seed in splits]))
        if 'unknown' in args.tasks:
            strangers, refused, elsewhere = np.mean([
                unknown(maker, grocery, vectors, coco_vectors, order, seed)
                for seed in splits], axis=0)
            report(name, f"I don't know, {order}", unknown_named=strangers,
                   known_not_named=refused, coco128_named=elsewhere)
        if 'changed' in args.tasks:
            rounds = [changed(maker, extractor, grocery, coco, order, seed)
                      for seed in splits]
            report(name, f'changed, 5 of each, {order}', **{
                way: float(np.mean([one[way] for one in rounds])) for way in rounds[0]})


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
    return (accuracy_of(predictions, truth),
            float(np.mean([f1_of(found.labels, names)
                           for found, names in zip(predictions, truth, strict=True)])),
            float(np.mean([bool(found.labels) for found in predictions])))


def accuracy_of(predictions: Sequence[PicturePrediction],
                truth: Sequence[tuple[str, ...]]) -> float:
    """Return the share of pictures whose best label is right."""
    best = [max(zip(found.scores, found.names, strict=True), default=(0.0, ''))[1]
            for found in predictions]
    return float(np.mean([name in names for name, names in zip(best, truth, strict=True)]))


def changed(maker: PictureLearner, extractor: Extractor, pictures: Pictures, scenes: Pictures,
            order: str, seed: int) -> dict[str, float]:
    """Teach 5 pictures of each class; return the accuracy on changed test pictures, by change."""
    random = np.random.default_rng(seed)
    train, test = split_by_copies(pictures, random)
    train = few_of_each(pictures, train, 5, random)
    test = test[::CHANGED_EVERY]
    truth = [pictures.labels[place] for place in test]
    vectors = np.zeros((len(pictures.paths), extractor.width), np.float32)
    for chosen in (train, test):
        vectors[chosen] = extracted([pictures.paths[place] for place in chosen],
                                    extractor.extract_many)
    with maker.open() as learner:
        learner.teach(vectors, pictures.labels, ORDERS[order](pictures, train, random))
        found = {'unchanged': accuracy_of(learner.predict(vectors[test]), truth)}
        for way, images in changed_pictures(pictures, test, scenes, seed):
            seen = np.array(extractor.extract_many(images), np.float32)
            found[way] = accuracy_of(learner.predict(seen), truth)
    found['mean_of_changed'] = float(np.mean([*found.values()][1:]))
    return found


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
    train, test, new = half_of_the_classes(pictures, random)
    with maker.open() as learner:
        learner.teach(vectors, pictures.labels, ORDERS[order](pictures, train, random))
        found = np.array([prediction.novelty for prediction in learner.predict(vectors[test])])
    ranks = np.argsort(np.argsort(found, kind='stable'), kind='stable') + 1.0
    return float((ranks[new].sum() - new.sum() * (new.sum() + 1) / 2) / (new.sum() * (~new).sum()))


def half_of_the_classes(pictures: Pictures, random: np.random.Generator
                        ) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Return training pictures of half of the classes, test pictures, and which are of others."""
    train, test = split_by_copies(pictures, random)
    known = {*random.permutation(pictures.classes)[::2].tolist()}
    return (np.array([place for place in train if pictures.labels[place][0] in known]), test,
            np.array([pictures.labels[place][0] not in known for place in test]))


def unknown(maker: PictureLearner, pictures: Pictures, vectors: Vectors, others: Vectors,
            order: str, seed: int) -> tuple[float, float, float]:
    """Teach 5 pictures each of half of the classes.

    Returns:
        The share of pictures of the other classes that get a label, of the taught ones that get
        none, and of unrelated pictures that get one.
    """
    random = np.random.default_rng(seed)
    train, test, new = half_of_the_classes(pictures, random)
    train = few_of_each(pictures, train, 5, random)
    with maker.open() as learner:
        learner.teach(vectors, pictures.labels, ORDERS[order](pictures, train, random))
        named, elsewhere = (np.array([bool(found.labels) for found in learner.predict(some)])
                            for some in (vectors[test], others))
    return float(named[new].mean()), float(1.0 - named[~new].mean()), float(elsewhere.mean())


if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
