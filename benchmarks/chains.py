# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""
Training at once against classifier chains, with quality beside it.

Run:  ./proemlc run python benchmarks/chains.py [--sets scene,medical,corel5k] [--folds N]

Each model learns a whole training fold in one batch: ours with default settings, one chain of
support vector machines (CC), and ten of them (ECC), both with the machines that held-out training
samples prefer, which is not timed. Ours learns before and after each of the others; the least
processor time of each counts, with the BLAS on one thread. Chains are also judged with the
decision rule of ours. The floor is what no implementation of our method can leave out: the hidden
rows, their products, one factorisation and the inverse.
Reads the data sets from $PROEMLC_DATA/datasets (default ../shared/datasets).
"""

from __future__ import annotations

import os

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.compiled import inverse, routines
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.baselines import baseline_class
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.experiments.paper import Fold, make_folds
from proemlc_ros.experiments.runs import select_baseline

DATA = Path(os.environ.get('PROEMLC_DATA', Path(__file__).resolve().parents[2] / 'shared'))
# How many times as long each may at least take, by data set; None: the floor is stated.
BARS: dict[str, dict[str, float | None]] = {
    'CC': {'scene': 4.0, 'medical': None, 'corel5k': 4.0},
    'ECC': {'scene': 10.0, 'medical': 10.0, 'corel5k': 10.0},
}
FOLDS, SEED = 10, 0


def spent(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a job, and its result."""
    start = time.process_time()
    result = job()
    return time.process_time() - start, result


def quality(truth: np.ndarray, predicted: np.ndarray) -> str:
    """Return Hamming loss and example-based F1 as text."""
    return f'{hamming_loss(truth, predicted):.4f} / {f1_example(truth, predicted):.3f}'


class Ours:
    """Our learner with default settings on one fold."""

    def __init__(self, data: DataSet, fold: Fold) -> None:
        """Name the labels of the training samples, which is no part of learning."""
        self._data, self._fold = data, fold
        self._names = [[data.label_names[column] for column in np.flatnonzero(row)]
                       for row in data.Y[fold.train]]
        self.seconds = float('inf')
        self.model = ProEMLC()

    def learn(self) -> None:
        """Learn the fold in one batch."""
        X = self._data.X[self._fold.train]
        self.model = ProEMLC()
        seconds, _ = spent(lambda: self.model.learn(X, self._names))
        self.seconds = min(self.seconds, seconds)

    def floor(self) -> float:
        """Return the seconds of hidden rows, products, factor and inverse alone."""
        layer, X = self.model.layer, self._data.X[self._fold.train]

        def bare() -> None:
            hidden = layer.rows(X)
            gram = routines('float64').syrk(1.0, hidden.T, lower=1)
            gram.flat[::layer.size + 1] += self.model.options.ridge
            inverse(gram)

        return min(spent(bare)[0] for _ in range(5))

    def quality(self) -> str:
        """Return the quality on the test samples."""
        truth = self._data.Y[self._fold.test]
        columns = {name: column for column, name in enumerate(self._data.label_names)}
        predicted = np.zeros_like(truth)
        for row, names in zip(predicted, self.model.predict(self._data.X[self._fold.test])):
            row[[columns[name] for name in names]] = True
        return quality(truth, predicted)


def compare(data: DataSet, fold: Fold, name: str) -> str:
    """Return one line: a baseline beside ours."""
    X, Y = data.X[fold.train], data.Y[fold.train]
    test, truth = data.X[fold.test], data.Y[fold.test]
    ours = Ours(data, fold)
    kind = baseline_class(name)
    settings, rule = select_baseline(kind, X, Y, fold.number)
    seconds = float('inf')
    for _ in range(2):
        ours.learn()
        baseline = kind(**settings, seed=fold.number)
        seconds = min(seconds, spent(lambda: baseline.fit(X, Y))[0])  # noqa: B023
    ours.learn()
    ruled = rule.decide(np.where(Y.any(axis=0), baseline.scores(test), -np.inf))
    bar = BARS[name].get(data.name)
    wanted = 'no bar' if bar is None else f'bar {bar:g}x'
    return (f'{data.name:8} fold {fold.number}: {name:3} takes {seconds / ours.seconds:5.1f}x as '
            f'long ({wanted}): {seconds:.3f} s, ours {ours.seconds:.3f} s, its floor '
            f'{ours.floor():.3f} s; Hamming loss / F1: '
            f'{name} {quality(truth, baseline.predict(test))}, with our rule '
            f'{quality(truth, ruled)}, ours {ours.quality()}; {name} with '
            + ', '.join(f'{key}={value}' for key, value in settings.items()))


def main() -> None:
    """Print one line per data set, fold and kind of chains."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--sets', default='scene,medical,corel5k')
    parser.add_argument('--folds', type=int, default=1, help=f'of {FOLDS}, to run')
    parser.add_argument('--only', choices=list(BARS), help='run one kind of chains')
    args = parser.parse_args()
    warnings.simplefilter('ignore')  # of machines that have not converged
    for name in args.sets.split(','):
        data = find_dataset(DATA / 'datasets' / name, name)
        folds = make_folds(data.Y, [str(data.Y.shape[1])], FOLDS, SEED)
        for fold in folds[:args.folds]:
            for kind in [args.only] if args.only else BARS:
                print(compare(data, fold, kind), flush=True)


if __name__ == '__main__':
    main()
