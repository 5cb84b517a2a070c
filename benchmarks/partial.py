# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Partial annotations: what exact learning brings, and what it costs, on the Scene data set.

Run:  ./proemlc run python benchmarks/partial.py [--folds N] [--known SHARE] [--neurons N]

Of each training sample a share of the labels is known, chosen at random; nothing is said of the
others. The same stream is learnt sample by sample with one matrix for all labels (partial_memory
0: a label keeps its weights where it is unknown), with exact learning, and, as the best that can
be had, with every label known. The exact weights are compared with one ridge solution per label
by NumPy. Times are processor times of the learning thread.
Reads scene.arff from $PROEMLC_DATA/datasets (default ../shared/datasets).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.errors import DataSetError
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.experiments.protocol import make_folds


def main() -> int:
    """Print quality, time per sample and memory of each way to learn."""
    parser = argparse.ArgumentParser(description='Partial annotations on Scene.')
    parser.add_argument('--folds', type=int, default=5, metavar='N')
    parser.add_argument('--known', type=float, default=0.2, metavar='SHARE')
    parser.add_argument('--neurons', type=int, default=500, metavar='N')
    args = parser.parse_args()
    folder = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets'
    try:
        data = find_dataset(folder, 'scene')
    except DataSetError as error:
        print(error, file=sys.stderr)
        return 1
    exact = {'hidden_size': args.neurons}
    runs = (('one matrix (as before)', args.known, {**exact, 'partial_memory': 0.0}),
            ('exact', args.known, exact), ('all labels known', 1.0, exact))
    for name, known, settings in runs:
        results = [run(data, fold.train, fold.test, known, settings, fold.number)
                   for fold in make_folds(data.Y, ['6'], args.folds)]
        loss, f1, microseconds, megabytes, error = np.mean(results, axis=0)
        print(f'{name:<24} Hamming loss {loss:.4f}  F1 {f1:.4f}  {microseconds:5.0f} us/sample  '
              f'{megabytes:5.1f} MB  largest error {error:.1e}', flush=True)
    return 0


def run(data: DataSet, train: np.ndarray, test: np.ndarray, known: float,
        settings: dict[str, Any], seed: int) -> tuple[float, float, float, float, float]:
    """Return loss, F1, microseconds per sample, megabytes and the largest error of a weight."""
    random = np.random.default_rng(seed)
    train = random.permutation(train)
    annotations = [annotation(data, row, random.random(data.Y.shape[1]) < known)
                   for row in train]
    model = ProEMLC(**settings, labels=data.label_names)
    X = np.ascontiguousarray(data.X[train], dtype=float)
    warmup = model.options.warmup_samples
    model.learn(X[:warmup], annotations[:warmup])
    began = time.thread_time()
    for x, labels in zip(X[warmup:], annotations[warmup:]):
        model.learn(x, labels)
    taken = (time.thread_time() - began) / (len(X) - warmup)
    model.calibrate(X, annotations)
    predicted = model.predict(data.X[test])
    Y = np.array([[name in labels for name in data.label_names] for labels in predicted])
    return (hamming_loss(data.Y[test], Y), f1_example(data.Y[test], Y), 1e6 * taken,
            1e-6 * model.memory_bytes, largest_error(model, X, annotations))


def annotation(data: DataSet, row: int, known: np.ndarray) -> SampleLabels:
    """Return what is known of one sample."""
    told = [(name, shown) for name, shown, sure in zip(data.label_names, data.Y[row], known)
            if sure]
    present = tuple(name for name, shown in told if shown)
    if known.all():
        return SampleLabels(present)
    return SampleLabels(present, tuple(name for name, shown in told if not shown), False)


def largest_error(model: ProEMLC, X: np.ndarray, annotations: list[SampleLabels]) -> float:
    """Return the largest difference to the weights of one ridge solution per label."""
    H = model.hidden(X)
    errors = []
    for place, name in enumerate(model.labels):
        told = [labels.complete or name in labels.present + labels.absent
                for labels in annotations]
        y = np.array([1.0 if name in labels.present else -1.0 for labels in annotations])[told]
        rows = H[told]
        beta = np.linalg.solve(rows.T @ rows + model.options.ridge * np.eye(H.shape[1]),
                               rows.T @ y)
        errors.append(np.abs(beta - model.weights[:, place]).max())
    return float(max(errors))


if __name__ == '__main__':
    sys.exit(main())
