# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""
Streams of the same samples in the order of a robot's day, where the beginning must not decide.

Run:  ./proemlc run python benchmarks/reordered.py [--folds N] [--sets scene,medical,corel5k]

Each data set is learnt in several orders, one sample after the other with the default settings,
and then renewed (ProEMLC.renewed over the samples as they came, as the node does it in the
background). Each row has a reference: the samples shuffled and renewed, without the copies that
come first. Figures are Hamming loss / example-based F1 on samples of other folds. Behind them
stands how far the renewed model is from the reference in each, ± the standard error of that
difference over the test samples: a miss of less than two of these may be chance.
Reads the data sets from $PROEMLC_DATA/datasets (default ../shared/datasets).
"""

from __future__ import annotations

import os

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.core.selection.search import select_model
from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.datasets import find_dataset

BAR = 0.05


class Samples(NamedTuple):
    """Samples in the order in which they come."""

    X: np.ndarray
    Y: np.ndarray

    def part(self, places: np.ndarray) -> Samples:
        """Return some of them, in the order of the places."""
        return Samples(self.X[places], self.Y[places])

    def before(self, others: Samples) -> Samples:
        """Return these, then others."""
        return Samples(np.concatenate([self.X, others.X]), np.concatenate([self.Y, others.Y]))

    def names(self) -> list[list[str]]:
        """Return the names of the labels of each sample."""
        return [[f'label {column}' for column in np.flatnonzero(row)] for row in self.Y]


# ----- streams -----

def sorted_by_label(samples: Samples, random: np.random.Generator) -> Samples:
    """Return one label after the other, as when things are taught in turn."""
    first = np.where(samples.Y.any(axis=1), samples.Y.argmax(axis=1), samples.Y.shape[1])
    return samples.part(np.argsort(first, kind='stable'))


def unlabelled_first(samples: Samples, random: np.random.Generator) -> Samples:
    """Return the samples without labels first, then one label after the other."""
    first = np.where(samples.Y.any(axis=1), samples.Y.argmax(axis=1), -1)
    return samples.part(np.argsort(first, kind='stable'))


def still_start(samples: Samples, random: np.random.Generator) -> Samples:
    """Return 600 nearly identical samples, then the others."""
    return copies(samples, np.zeros(600, dtype=int), random).before(samples)


def bursts_first(samples: Samples, random: np.random.Generator) -> Samples:
    """Return 20 scenes of 30 nearly identical frames, then the others."""
    return copies(samples, np.repeat(np.arange(20), 30), random).before(samples)


def all_in_bursts(samples: Samples, random: np.random.Generator) -> Samples:
    """Return every sample as a burst of five frames, one label after the other."""
    ordered = sorted_by_label(samples, random)
    return copies(ordered, np.repeat(np.arange(len(ordered.X)), 5), random)


def constant_start(samples: Samples, random: np.random.Generator) -> Samples:
    """Return the samples with features that stand still during the first 600, or half of them."""
    X = samples.X.copy()
    still = min(600, len(X) // 2)
    moved = X.std(axis=0).argsort()[::-1][:max(1, X.shape[1] // 10)]
    X[:still, moved] = X[0, moved]
    return Samples(X, samples.Y)


def copies(samples: Samples, places: np.ndarray, random: np.random.Generator) -> Samples:
    """Return nearly equal copies of some samples."""
    spread = samples.X.std(axis=0)
    noise = random.normal(size=(len(places), samples.X.shape[1])) * (0.01 * spread)
    return Samples(samples.X[places] + noise, samples.Y[places])


STREAMS: dict[str, Callable[[Samples, np.random.Generator], Samples]] = {
    'sorted by label': sorted_by_label,
    'unlabelled first': unlabelled_first,
    '600 nearly identical first': still_start,
    '20 scenes of 30 frames first': bursts_first,
    'every sample five times': all_in_bursts,
    'a tenth of the features constant first': constant_start,
}


def half_unlabelled(samples: Samples) -> Samples:
    """Return the samples without the labels that the most frequent ones are about.

    Every public set has labels in (nearly) every sample; a robot's day has many without.
    """
    frequent = np.argsort(samples.Y.sum(axis=0))[::-1]
    kept = samples.Y.copy()
    for column in frequent:
        if (~kept.any(axis=1)).mean() >= 0.4:
            break
        kept[:, column] = False
    return Samples(samples.X, kept[:, kept.any(axis=0)])


# ----- models -----

def default_model(train: Samples) -> ProEMLC:
    """Return a model with default settings that has learnt sample by sample."""
    model = ProEMLC()
    model.learn(train.X, train.names())
    return model


def selected_model(train: Samples) -> ProEMLC:
    """Return a model with the settings that `proemlc select` finds, its layer from all samples."""
    model = ProEMLC(**select_model(train.X, train.Y).keywords())
    model.learn_initial(train.X, train.names())
    model.calibrate(train.X, train.names())
    return model


def renewed_model(train: Samples) -> ProEMLC:
    """Return the renewed model."""
    return ProEMLC.renewed(train.X, train.names())


def errors(model: ProEMLC, test: Samples) -> np.ndarray:
    """Return Hamming loss and example-based F1 of each sample (n, 2)."""
    predicted = np.zeros(test.Y.shape, dtype=bool)
    for row, names in enumerate(model.predict(test.X)):
        predicted[row, [int(name.split()[1]) for name in names]] = True
    return np.array([(hamming_loss(shown, said), f1_example(shown, said)) for shown, said in zip(
        test.Y[:, np.newaxis], predicted[:, np.newaxis], strict=True)])


# ----- table -----

def rows_of(samples: Samples, train: np.ndarray, test: np.ndarray,
            seed: int) -> dict[str, list[np.ndarray]]:
    """Return for each stream the figures of default, renewed and reference."""
    found = {}
    known, unknown = samples.part(train), samples.part(test)
    shuffled = errors(renewed_model(known), unknown)
    for name, stream in STREAMS.items():
        data = half_unlabelled(samples) if stream is unlabelled_first else samples
        known, unknown = data.part(train), data.part(test)
        random = np.random.default_rng(seed)
        came = stream(known, random)
        # What stood still is part of these samples; copies are not.
        reference = shuffled if len(came.X) != len(known.X) else errors(
            renewed_model(came.part(random.permutation(len(came.X)))), unknown)
        found[name] = [errors(default_model(came), unknown), errors(renewed_model(came), unknown),
                       reference]
    known, unknown = samples.part(train), samples.part(test)
    found['shuffled: default, renewed, selected'] = [
        errors(default_model(known), unknown), shuffled, errors(selected_model(known), unknown)]
    return found


def main() -> int:
    """Print one line per data set and stream; return 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description='Compares streams of the same samples.')
    parser.add_argument('--folds', type=int, default=3, metavar='N', help='folds used, of ten')
    parser.add_argument('--sets', default='scene,medical,corel5k', metavar='NAME,NAME')
    parser.add_argument('--seed', type=int, default=16, help='of the folds')
    parser.add_argument('--most', type=int, default=5000, metavar='N',
                        help='samples used of a data set, drawn at random')
    args = parser.parse_args()
    folder = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets'
    print('| data | stream | default | renewed | reference | loss | F1 | within 5 % |')
    print('|---|---|---|---|---|---|---|---|', flush=True)
    missed = 0
    for name in args.sets.split(','):
        try:
            data = find_dataset(folder, name)
        except DataSetError as error:
            print(error, file=sys.stderr)
            return 1
        some = np.random.default_rng(5).permutation(len(data.Y))[:args.most]
        missed += table(name, Samples(np.asarray(
            data.X.toarray() if hasattr(data.X, 'toarray') else data.X), data.Y).part(some),
            args.folds, args.seed)
    return 1 if missed else 0


def table(name: str, samples: Samples, folds: int, seed: int) -> int:
    """Print the lines of one data set; return how many miss the bar."""
    parts = np.array_split(np.random.default_rng(seed).permutation(len(samples.X)), 10)
    runs = [rows_of(samples, np.concatenate([part for part in parts if part is not test]), test,
                    place) for place, test in enumerate(parts[:folds])]
    missed = 0
    for stream in runs[0]:
        each = [np.concatenate(parts) for parts in zip(*(run[stream] for run in runs))]
        default, renewed, reference = (figures.mean(axis=0) for figures in each)
        met = (renewed[0] <= (1 + BAR) * reference[0] and renewed[1] >= (1 - BAR) * reference[1])
        missed += not met
        cells = [f'{loss:.4f} / {f1:.3f}' for loss, f1 in (default, renewed, reference)]
        by_chance = (each[1] - each[2]).std(axis=0) / np.sqrt(len(each[1]))
        cells += [f'{value / whole - 1.0:+.1%} ± {error / whole:.1%}'
                  for value, whole, error in zip(renewed, reference, by_chance, strict=True)]
        print(f'| {name} | {stream} | {" | ".join(cells)} | {"yes" if met else "no"} |',
              flush=True)
    return missed


if __name__ == '__main__':
    sys.exit(main())
