# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""
Asking by the node's rule against asking at random, and novelty of labels never taught.

Run:  ./proemlc run python benchmarks/queries.py [--folds N] [--sets scene,medical,bursts,column]

A stream of training samples comes at one per second. Whatever is asked about is answered at once
and learnt with default settings; nothing else is learnt, except the first label. The rate of
queries is the budget: 0.05 per second are 5 % of the stream. Random asking has as many questions
as the rule asked. "bursts" are 300 samples of Scene as ten frames each that are nearly equal;
"column" is Scene with its first column times 1,000. Figures are Hamming loss / example-based F1 on
the test samples of the folds, after the last question; behind them the difference, ± its standard
error over the folds.

The second table leaves out every sample that shows a label, learns the others, and tells by the
area under the ROC curve how well novelty separates test samples that show the label from those
that do not; beside it a low best score.
Reads the data sets from $PROEMLC_DATA/datasets (default ../shared/datasets).
"""

from __future__ import annotations

import os

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import argparse
import sys
from pathlib import Path

import numpy as np
from reordered import Samples, copies, errors
from scipy.stats import rankdata

from proemlc_ros.classifier.queries import QueryPolicy, QueryRules
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.core import ProEMLC
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.records import Annotation, StampedVector
from proemlc_ros.stamps import NANOSECONDS

BUDGETS = 0.05, 0.1, 0.2
SEED = 4242
# What the node starts with: query_novelty and query_margin.
NOVELTY, MARGIN = 0.8, 0.2
RANDOM_RUNS = 3
# Test samples with a label, and without it, that an area under the curve needs.
LEAST = 5


def asked_by_rule(stream: Samples, budget: float) -> tuple[ProEMLC, int]:
    """Return what is learnt by asking as the node does, and how often it asked."""
    model, names, asked = ProEMLC(), stream.names(), 0
    policy = QueryPolicy(QueryRules(NOVELTY, MARGIN, budget))
    for place, row in enumerate(stream.X):
        stamp = (place + 1) * NANOSECONDS
        data = row.astype(np.float32)
        query = policy.query(StampedVector(stamp, data),
                             VersionedPrediction(model.classify(data), 1), stamp, model.scaling)
        if query is not None or not model.labels:
            model.learn(data, names[place])
            policy.learnt(Annotation(stamp, tuple(names[place]), features=data))
            asked += 1
    return model, asked


def asked_at_random(stream: Samples, questions: int, seed: int) -> ProEMLC:
    """Return what is learnt by asking about that many samples at random."""
    places = np.sort(np.random.default_rng(seed).permutation(len(stream.X))[:questions])
    part, model = stream.part(places), ProEMLC()
    for row, names in zip(part.X.astype(np.float32), part.names(), strict=True):
        model.learn(row, names)
    return model


def figures(model: ProEMLC, test: Samples) -> tuple[float, float]:
    """Return Hamming loss and F1 with the decision fitted to all that was learnt."""
    model.fit_decision()
    loss, f1 = errors(model, test).mean(axis=0).tolist()
    return loss, f1


def compare(name: str, folds: list[tuple[Samples, Samples]]) -> int:
    """Print one line per budget; return in how many the rule is worse by two standard errors."""
    missed = 0
    for budget in BUDGETS:
        ours, random, counts = [], [], []
        for seed, (stream, test) in enumerate(folds):
            model, asked = asked_by_rule(stream, budget)
            ours.append(figures(model, test))
            random.append(np.mean([figures(asked_at_random(stream, asked, 100 * seed + run), test)
                                   for run in range(RANDOM_RUNS)], axis=0))
            counts.append(asked / len(stream.X))
        (loss, f1), (other_loss, other_f1) = np.mean(ours, axis=0), np.mean(random, axis=0)
        apart = np.subtract(ours, random)
        (more, gain), error = apart.mean(axis=0), apart.std(axis=0, ddof=1) / len(folds) ** 0.5
        missed += bool(more > 2.0 * error[0] or gain < -2.0 * error[1])
        print(f'| {name} | {budget:.0%} | {np.mean(counts):.1%} | {loss:.4f} / {f1:.3f} '
              f'| {other_loss:.4f} / {other_f1:.3f} | {more:+.4f} ± {error[0]:.4f} '
              f'/ {gain:+.3f} ± {error[1]:.3f} |', flush=True)
    return missed


def areas(train: Samples, test: Samples) -> list[tuple[float, float]]:
    """Return the areas under the curve of novelty, and of a low best score, label by label."""
    found = []
    for label in range(train.Y.shape[1]):
        shown = test.Y[:, label]
        if min(shown.sum(), (~shown).sum()) < LEAST:
            continue
        known = train.part(np.flatnonzero(~train.Y[:, label]))
        model = ProEMLC()
        model.learn(known.X, known.names())
        found.append((area(model.novelty(test.X), shown),
                      area(-model.scores(test.X).max(axis=1), shown)))
    return found


def area(values: np.ndarray, shown: np.ndarray) -> float:
    """Return the area under the ROC curve: how often a shown one has the greater value."""
    ranks, positive = rankdata(values)[shown].sum(), int(shown.sum())
    return float((ranks - positive * (positive + 1) / 2) / (positive * (~shown).sum()))


def folds_of(name: str, count: int) -> list[tuple[Samples, Samples]]:
    """Return shuffled training and test samples; bursts: ten frames of each."""
    data = find_dataset(Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets',
                        'scene' if name in ('bursts', 'column') else name)
    X = np.asarray(data.X.toarray() if hasattr(data.X, 'toarray') else data.X)
    if name == 'column':
        X = X * np.where(np.arange(X.shape[1]) == 0, 1000.0, 1.0)
    samples, random = Samples(X, data.Y), np.random.default_rng(SEED)
    parts = np.array_split(random.permutation(len(X)), 10)
    folds = []
    for part in parts[:count]:
        train = samples.part(np.concatenate([other for other in parts if other is not part]))
        if name == 'bursts':
            train = copies(train, np.repeat(np.arange(300), 10), random)
        folds.append((train, samples.part(part)))
    return folds


def main() -> int:
    """Print both tables; return 1 where the rule is worse than chance."""
    parser = argparse.ArgumentParser(description='Compares asking by rule and at random.')
    parser.add_argument('--folds', type=int, default=5, metavar='N', help='folds used, 2 to 10')
    parser.add_argument('--sets', default='scene,medical,bursts,column', metavar='NAME,NAME')
    args = parser.parse_args()
    sets = {name: folds_of(name, args.folds) for name in args.sets.split(',')}
    print('| stream | budget | asked | by rule | at random | difference |')
    print('|---|---|---|---|---|---|', flush=True)
    missed = sum(compare(name, folds) for name, folds in sets.items())
    print('\n| labels never taught | by novelty | by a low best score |')
    print('|---|---|---|', flush=True)
    for name, folds in sets.items():
        if name not in ('bursts', 'column'):
            novelty, score = np.mean([pair for fold in folds for pair in areas(*fold)], axis=0)
            print(f'| {name} | {novelty:.3f} | {score:.3f} |', flush=True)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
