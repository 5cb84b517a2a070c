# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Partial annotations: what exact learning brings, and what it costs, on the Scene data set.

Run:  ./proemlc run python benchmarks/partial.py [--folds N] [--known SHARE] [--neurons N]

Of each training sample a share of the labels is known, chosen at random; nothing is said of the
others. The same stream is learnt sample by sample with one matrix for all labels (partial_memory
0: a label keeps its weights where it is unknown), with exact learning, and, as the best that can
be had, with every label known. The exact weights are compared with one ridge solution per label
by NumPy. Times are processor times of the learning thread. Then the same annotations renew a
model, whose probabilities are compared with what is so, as the renewal leaves it and after
fit_decision().
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
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.errors import DataSetError
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.experiments.paper import make_folds


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
    results = [renewed(data, fold.train, fold.test, args.known, fold.number)
               for fold in make_folds(data.Y, ['6'], args.folds)]
    for name, found in zip(('renewed', 'and fit_decision()'), np.mean(results, axis=0)):
        print(f'{name:<24} Hamming loss {found[0]:.4f}  F1 {found[1]:.4f}  '
              f'calibration error {found[2]:.4f}', flush=True)
    return 0


def run(data: DataSet, train: np.ndarray, test: np.ndarray, known: float,
        settings: dict[str, Any], seed: int) -> tuple[float, float, float, float, float]:
    """Return loss, F1, microseconds per sample, megabytes and the largest error of a weight."""
    X, annotations = stream(data, train, known, seed)
    model = ProEMLC(**settings, labels=data.label_names)
    warmup = model.options.warmup_samples
    model.learn(X[:warmup], annotations[:warmup])
    began = time.thread_time()
    for x, labels in zip(X[warmup:], annotations[warmup:]):
        model.learn(x, labels)
    taken = (time.thread_time() - began) / (len(X) - warmup)
    model.calibrate(X, annotations)
    return (*errors(model, data, test)[:2], 1e6 * taken, 1e-6 * model.memory_bytes,
            largest_error(model, X, annotations))


def renewed(data: DataSet, train: np.ndarray, test: np.ndarray, known: float,
            seed: int) -> list[tuple[float, float, float]]:
    """Return the errors of a renewed model as it is, and after fit_decision()."""
    X, annotations = stream(data, train, known, seed)
    model = ProEMLC.renewed(X, annotations, names=data.label_names)
    before = errors(model, data, test)
    model.fit_decision()
    return [before, errors(model, data, test)]


def stream(data: DataSet, train: np.ndarray, known: float,
           seed: int) -> tuple[np.ndarray, list[SampleLabels]]:
    """Return training samples in random order, and what is known of each."""
    random = np.random.default_rng(seed)
    train = random.permutation(train)
    annotations = [annotation(data, row, random.random(data.Y.shape[1]) < known)
                   for row in train]
    return np.ascontiguousarray(data.X[train], dtype=float), annotations


def errors(model: ProEMLC, data: DataSet, test: np.ndarray) -> tuple[float, float, float]:
    """Return Hamming loss, F1 and calibration error (ten bins of probability) of the test."""
    truth, predicted = data.Y[test], model.predict(data.X[test])
    Y = np.array([[name in labels for name in data.label_names] for labels in predicted])
    columns = [model.labels.index(name) for name in data.label_names]
    chances = model.probabilities(data.X[test])[:, columns].ravel()
    bins = np.minimum((10.0 * chances).astype(int), 9)
    gaps = np.bincount(bins, chances - truth.ravel(), 10)
    return hamming_loss(truth, Y), f1_example(truth, Y), float(np.abs(gaps).sum() / truth.size)


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
