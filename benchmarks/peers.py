# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Streaming baselines on Scene, one sample at a time: predict, then learn.

Every baseline is set up as its own documentation shows. Times are processor times of this thread
with the BLAS on one thread; a baseline that would take too long stops after its budget, and is
compared with ours on the samples it has seen. Ours runs before and after each baseline, and the
mean of both speeds counts, since the speed of a shared machine varies.

    pip install river scikit-learn vowpalwabbit pyoselm scikit-elm 'dask[distributed]'
    pip install pandas pyarrow
    python benchmarks/peers.py [--budget SECONDS] [--only NAME]
"""

from __future__ import annotations

import os

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peer_models import HIDDEN, OURS, peers
from scipy.linalg import get_blas_funcs

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.compiled import absolute_differences
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.experiments.datasets import find_dataset

DATA = Path(os.environ.get('PROEMLC_DATA', Path(__file__).resolve().parents[2] / 'shared'))


class Result(NamedTuple):
    """What one model did on the stream."""

    seen: int
    per_second: float
    decided: np.ndarray
    able: np.ndarray  # whether it could answer at all; some need a first block


def run(model: Any, X: np.ndarray, Y: np.ndarray, budget: float) -> Result:
    """Predict and learn each sample in turn, until the budget of seconds is spent."""
    samples = model.prepare(X, Y)
    predicted, spent = [], 0.0
    for sample in samples:
        start = time.thread_time()
        predicted.append(model.predict(sample))
        model.learn(sample)
        spent += time.thread_time() - start
        if spent > budget:
            break
    return Result(len(predicted), len(predicted) / spent,
                  np.array([model.decode(one) for one in predicted]),
                  np.array([one is not None for one in predicted]))


def bare_calls(X: np.ndarray, labels: int) -> float:
    """Return the samples per second of nothing but the products that our default model needs.

    Distances to its centres and exp, the outputs, M h, the change of the weights and, 16 at a
    time, of M. No layer is drawn, nothing is checked, decided, counted or kept.
    """
    dsymv, dsyrk, dgemv, dger = get_blas_funcs(('symv', 'syrk', 'gemv', 'ger'), dtype=float)
    size = HIDDEN + 1
    M, beta = np.asfortranarray(np.eye(size)), np.zeros((size, labels + 1), order='F')
    changes, hidden = np.zeros((size, 16), order='F'), np.ones(size)
    centres, residual = X[:HIDDEN].copy(), np.ones(labels + 1)
    start = time.thread_time()
    for place, x in enumerate(X):
        absolute_differences(x[np.newaxis], centres, hidden[np.newaxis, :HIDDEN])
        hidden[:HIDDEN] *= -0.01
        np.exp(hidden[:HIDDEN], out=hidden[:HIDDEN])
        dgemv(1.0, beta, hidden, trans=1)
        gain = dsymv(1.0, M, hidden, lower=1)
        dger(1e-12, gain, residual, a=beta, overwrite_a=1)
        changes[:, place % 16] = 1e-9 * gain
        if place % 16 == 15:
            dsyrk(-1.0, changes, beta=1.0, c=M, lower=1, overwrite_c=1)
    return len(X) / (time.thread_time() - start)


def figures(result: Result, Y: np.ndarray, able: np.ndarray) -> tuple[float, float]:
    """Return Hamming loss and F1 over the samples that a baseline could answer."""
    truth, decided = Y[:len(able)][able], result.decided[:len(able)][able]
    return hamming_loss(truth, decided), f1_example(truth, decided)


def show(results: dict[str, Result], beside: dict[str, float], Y: np.ndarray,
         new_labels: dict[str, str]) -> int:
    """Print the table and the bars; returns how many were missed."""
    ours = results[OURS]
    print(f'{"model":<31}{"samples/s":>10}{"ours is":>9}{"Hamming":>9}{"ours":>7}'
          f'{"F1":>7}{"ours":>7}{"seen":>6}  adds a label on the fly')
    missed = 0
    for name, result in results.items():
        hamming, f1 = figures(result, Y, result.able)
        our_hamming, our_f1 = figures(ours, Y, result.able)
        faster = beside[name] / result.per_second
        print(f'{name:<31}{result.per_second:>10.0f}{faster:>8.1f}x'
              f'{hamming:>9.4f}{our_hamming:>7.4f}{f1:>7.3f}{our_f1:>7.3f}'
              f'{result.seen:>6}  {new_labels[name]}')
        if not name.startswith('ProEMLC'):
            bar = 4.0 if name.startswith('river') else 40.0
            for ok, what in ((faster >= bar, f'{bar:.0f}x as fast'),
                             (our_hamming < hamming, 'lower Hamming loss'),
                             (our_f1 > f1, 'higher F1')):
                if not ok:
                    print(f'MISS  {name}: {what}')
                    missed += 1
    return missed


def main() -> int:
    """Run the baselines; the exit code says whether every bar was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--budget', type=float, default=20.0, help='seconds for each model')
    parser.add_argument('--only', help='run only models whose name holds this text, and ours')
    arguments = parser.parse_args()
    warnings.filterwarnings('ignore')
    data = find_dataset(DATA / 'datasets', 'scene')
    order = np.random.default_rng(0).permutation(len(data))
    X, Y = np.ascontiguousarray(data.X[order]), data.Y[order]
    ProEMLC().learn(X[:2], [(), ()])  # imports what a first sample imports
    makers = peers(list(data.label_names))
    results, beside, new_labels = {}, {}, {}
    before = run(makers[OURS](), X, Y, arguments.budget)
    for name, make in makers.items():
        if arguments.only and arguments.only not in name and name != OURS:
            continue
        model = make()
        results[name] = run(model, X, Y, arguments.budget)
        after = run(makers[OURS](), X, Y, arguments.budget)
        beside[name] = (before.per_second + after.per_second) / 2
        new_labels[name] = model.new_labels
        before = after
    missed = show(results, beside, Y, new_labels)
    print(f'{"bare products of the default":<31}{bare_calls(X, Y.shape[1]):>10.0f}')
    print(f'{missed} bars missed')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
