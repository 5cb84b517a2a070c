# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is where, on coco128: proposals, labels by box and by whole picture, speed of ten boxes.

python benchmarks/regions.py                           # all of it, with the default features
python benchmarks/regions.py --features FILE labels    # one part, with a feature node's parameters
./proemlc run python benchmarks/regions.py chain       # ten boxes a picture over DDS

The pictures are those of PROEMLC_DATA (images/coco128); their boxes are given.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proemlc_ros.classifier.profiles import profile_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import evaluate
from proemlc_ros.features.extractor import Extractor
from proemlc_ros.features.extractors.images import ImageExtractor
from proemlc_ros.features.regions.crops import widened
from proemlc_ros.features.regions.detector import has_detector, installed_detector
from proemlc_ros.features.regions.proposals import propose
from proemlc_ros.features.settings import sensor_from_settings, settings_from_file
from proemlc_ros.regions import Region, overlap, pixels_in

FOLDER = Path(os.environ.get(
    'PROEMLC_DATA', Path(__file__).resolve().parents[2] / 'shared')) / 'images' / 'coco128'
LEAST_BOXES = 5
ROUNDS = 2
FOLDS = 5
# Shares of the height of a scene that a pasted picture gets.
SIZES = (0.25, 0.5, 0.75)


class LabelledPicture(NamedTuple):
    """A picture, its boxes and the label of each."""

    pixels: np.ndarray
    boxes: list[Region]
    labels: list[str]


def pictures() -> list[LabelledPicture]:
    """Return the pictures in the order of their names."""
    rows = defaultdict(list)
    with (FOLDER / 'boxes.csv').open(newline='') as file:
        for row in csv.DictReader(file):
            rows[row['file']].append(row)
    found = []
    for name in sorted(rows):
        pixels = cv2.cvtColor(cv2.imread(str(FOLDER / name)), cv2.COLOR_BGR2RGB)
        height, width = pixels.shape[:2]
        boxes = [Region('', float(row['x_centre']) * width, float(row['y_centre']) * height,
                        float(row['width']) * width, float(row['height']) * height)
                 for row in rows[name]]
        found.append(LabelledPicture(pixels, boxes, [row['label'] for row in rows[name]]))
    return found


def measure_proposals(data: list[LabelledPicture]) -> None:
    """Print the recall of the given boxes, and the time of a picture."""
    started = time.process_time()
    found = [propose(picture.pixels, 50) for picture in data]
    spent = (time.process_time() - started) / len(data)
    for count in (10, 50):
        best, large = [], []
        for picture, proposals in zip(data, found, strict=True):
            area = picture.pixels.shape[0] * picture.pixels.shape[1]
            for box in picture.boxes:
                best.append(max((overlap(box, one) for one in proposals[:count]), default=0.0))
                large.append(box.size_x * box.size_y >= 0.01 * area)
        hit = np.array(best) >= 0.5
        print(f'proposals: recall of {len(hit)} boxes at {count} (overlap 0.5): {hit.mean():.3f}; '
              f'of the {sum(large)} that cover 1 % of the picture: {hit[large].mean():.3f}')
    print(f'proposals: {spent * 1e3:.1f} ms of processor time per picture')


def measure_pasted(count: int = 120) -> None:
    """Print recall and time of proposals and detector for groceries pasted into scenes.

    Args:
        count: pictures of each size.
    """
    from picture_data import pasted, read_coco, read_rgb

    sources: dict[str, Callable[[np.ndarray, int], list[Region]]] = {'proposals': propose}
    if has_detector():
        sources['detector'] = installed_detector()
    else:
        print('pasted: no detector is installed (proemlc backbone install detector)')
    groceries = sorted((FOLDER.parent / 'grocery').rglob('*.jpg'))
    scenes = read_coco().paths
    spent: Counter[str] = Counter()
    for size in SIZES:
        random = np.random.default_rng(0)
        hits: Counter[str] = Counter()
        for _ in range(count):
            picture, (left, top, width, height) = pasted(
                read_rgb(groceries[random.integers(len(groceries))]),
                read_rgb(scenes[random.integers(len(scenes))]), size, random)
            truth = Region.of_edges(left, top, left + width, top + height)
            for name, find in sources.items():
                began = time.process_time()
                boxes = find(picture, 10)
                spent[name] += time.process_time() - began
                hits[name] += max((overlap(truth, one) for one in boxes), default=0.0) >= 0.5
        found = ', '.join(f'{name} {hits[name] / count:.3f}' for name in sources)
        print(f'pasted at {size} of the height, {count} pictures, recall at 10 boxes: {found}',
              flush=True)
    print('pasted, processor time per picture: ' + ', '.join(
        f'{name} {1e3 * spent[name] / (count * len(SIZES)):.1f} ms' for name in sources))


def measure_labels(data: list[LabelledPicture], extractor: Extractor) -> None:
    """Print F1 and mean average precision, by box and by whole picture, taught one by one."""
    counts = Counter(label for picture in data for label in picture.labels)
    names = sorted(label for label, count in counts.items() if count >= LEAST_BOXES)
    print(f'labels: {len(names)} of {len(counts)} with {LEAST_BOXES} boxes or more, '
          f'{extractor.name.partition("(")[0]}')
    whole = [extractor(picture.pixels) for picture in data]
    margin = extractor.margin if isinstance(extractor, ImageExtractor) else 0.0
    boxes = [extractor.extract_many([pixels_in(picture.pixels, widened(box, margin))
                                     for box in picture.boxes]) for picture in data]
    column = {name: place for place, name in enumerate(names)}
    new_model = partial(ProEMLC, **profile_of(extractor.name))
    for way, one_round in (('new pictures', by_folds), ('as it is taught', as_taught)):
        rounds = [one_round(data, column, whole, boxes, seed, new_model) for seed in range(ROUNDS)]
        found = {key: float(np.mean([one[key] for one in rounds])) for key in rounds[0]}
        for key, value in found.items():
            print(f'labels, {way}: {key}: {value:.3f}')
        print(f'labels, {way}: F1 by box against whole pictures: '
              f'{found["F1 by box"] / found["F1 of whole pictures"]:.2f}x (bar: 1.3x)')


def as_taught(data: list[LabelledPicture], column: dict[str, int], whole: list[np.ndarray],
              boxes: list[list[np.ndarray]], seed: int, new_model: Callable[[], ProEMLC],
              ) -> dict[str, float]:
    """Predict every picture, or every box, and then teach it: what an operator meets."""
    by_picture, by_box = new_model(), new_model()
    truth_picture, said_picture, truth_box, said_box = [], [], [], []
    for place in np.random.default_rng(seed).permutation(len(data)):
        labels = [name for name in dict.fromkeys(data[place].labels) if name in column]
        truth_picture.append(indicator(labels, column))
        said_picture.append(answer(by_picture, whole[place], column)[0])
        by_picture.learn(whole[place], labels)
        for row, label in zip(boxes[place], data[place].labels, strict=True):
            truth_box.append(indicator([label], column))
            said_box.append(answer(by_box, row, column)[0])
            by_box.learn(row, [label] if label in column else [])
    return {'F1 of whole pictures': evaluate(truth_picture, said_picture)['f1_micro'],
            'F1 by box': evaluate(truth_box, said_box)['f1_micro']}


def by_folds(data: list[LabelledPicture], column: dict[str, int], whole: list[np.ndarray],
             boxes: list[list[np.ndarray]], seed: int, new_model: Callable[[], ProEMLC],
             ) -> dict[str, float]:
    """Test on pictures of which nothing was taught, by folds in one random order."""
    order = np.random.default_rng(seed).permutation(len(data))
    truth_box, said_box, truth_picture = [], [], []
    said_whole, said_union, score_whole, score_boxes = [], [], [], []
    for fold in range(FOLDS):
        tested = order[fold::FOLDS]
        taught = [place for place in order if place not in set(tested)]
        by_picture, by_box = new_model(), new_model()
        for place in taught:
            labels = [name for name in dict.fromkeys(data[place].labels) if name in column]
            by_picture.learn(whole[place], labels)
            for row, label in zip(boxes[place], data[place].labels, strict=True):
                by_box.learn(row, [label] if label in column else [])
        for place in tested:
            truth_picture.append(indicator(data[place].labels, column))
            said, scores = answer(by_picture, whole[place], column)
            said_whole.append(said)
            score_whole.append(scores)
            answers = [answer(by_box, row, column) for row in boxes[place]]
            said_union.append(np.any([said for said, _ in answers], axis=0))
            score_boxes.append(np.max([scores for _, scores in answers], axis=0))
            for (said, _), label in zip(answers, data[place].labels, strict=True):
                truth_box.append(indicator([label], column))
                said_box.append(said)
    return {
        'F1 of whole pictures': evaluate(truth_picture, said_whole)['f1_micro'],
        'F1 by box': evaluate(truth_box, said_box)['f1_micro'],
        'F1 by picture, from its boxes': evaluate(truth_picture, said_union)['f1_micro'],
        'mean average precision of whole pictures': mean_precision(truth_picture, score_whole),
        'mean average precision by picture, from its boxes': mean_precision(
            truth_picture, score_boxes)}


def indicator(labels: list[str], column: dict[str, int]) -> np.ndarray:
    """Return which of the columns are among the labels."""
    row = np.zeros(len(column), bool)
    row[[column[label] for label in labels if label in column]] = True
    return row


def answer(model: ProEMLC, row: np.ndarray,
           column: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return predicted labels and scores by column."""
    found = model.classify(row)
    scores = np.full(len(column), -2.0)
    for name, score in zip(found.names, found.scores, strict=True):
        scores[column[name]] = score
    return indicator(list(found.labels), column), scores


def mean_precision(truth: list[np.ndarray], scores: list[np.ndarray]) -> float:
    """Return the mean over the labels of the average precision over the pictures."""
    precisions = []
    for shown, said in zip(np.array(truth).T, np.array(scores).T, strict=True):
        if shown.any():
            hits = shown[np.argsort(-said, kind='stable')]
            precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
            precisions.append(precision[hits].mean())
    return float(np.mean(precisions))


def measure_batch(data: list[LabelledPicture], extractor: Extractor, rounds: int = 15) -> None:
    """Print how much faster ten boxes of a picture are together than one by one."""
    picture = data[0].pixels
    height, width = picture.shape[:2]
    crops = [pixels_in(picture, Region('', width * (0.2 + 0.06 * place), height / 2, width / 4,
                                       height / 2)) for place in range(10)]
    spent: dict[str, list[float]] = {'one by one': [], 'together': []}
    for _ in range(rounds):
        started = time.perf_counter()
        for crop in crops:
            extractor(crop)
        spent['one by one'].append(time.perf_counter() - started)
        started = time.perf_counter()
        extractor.extract_many(crops)
        spent['together'].append(time.perf_counter() - started)
    single, together = (min(values) for values in spent.values())
    print(f'ten boxes: one by one {single * 1e3:.1f} ms, together {together * 1e3:.1f} ms: '
          f'{single / together:.2f}x as fast (bar: 1.5x)')


def main() -> None:
    """Run the parts that are named, or all that need no ROS."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('parts', nargs='*', default=['proposals', 'pasted', 'labels', 'batch'],
                        help='proposals, pasted, labels, batch, chain')
    parser.add_argument('--features', help='parameter file of a feature node; default: auto')
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    settings = (settings_from_file(arguments.features) if arguments.features else
                {'sensors': ['camera'], 'camera': {'topic': 'image', 'extractor': 'auto'}})
    name = settings['sensors'][0]
    if 'chain' in arguments.parts:
        from region_chain import measure_chain  # needs ROS 2
        measure_chain(settings[name])
    data = pictures()
    if 'proposals' in arguments.parts:
        measure_proposals(data)
    if 'pasted' in arguments.parts:
        measure_pasted()
    if {'labels', 'batch'} & set(arguments.parts):
        extractor = sensor_from_settings(name, settings[name]).extractor
        if 'labels' in arguments.parts:
            measure_labels(data, extractor)
        if 'batch' in arguments.parts:
            measure_batch(data, extractor)


if __name__ == '__main__':
    main()
