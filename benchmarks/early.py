# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""
The first samples of a stream, and whether decisions are better than naming nothing.

Run:  ./proemlc run python benchmarks/early.py [--runs N] [--sets scene,medical]

Samples come shuffled, one by one, to a model with default settings. After some of them, Hamming
loss and example-based F1 on samples that are never taught are printed, beside the loss of naming
no label at all. Means over runs with other orders and other test samples.
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
from reordered import Samples, errors

from proemlc_ros.core import ProEMLC
from proemlc_ros.experiments.datasets import find_dataset

LEARNT = 5, 10, 20, 50, 100
TEST = 500
SEED = 4242


def curve(samples: Samples, seed: int, threshold: str) -> tuple[list[tuple[float, float]], float]:
    """Return loss and F1 after some samples each, and the loss of naming nothing."""
    order = np.random.default_rng(seed).permutation(len(samples.X))
    test, stream = samples.part(order[:TEST]), samples.part(order[TEST:TEST + LEARNT[-1]])
    model, found, names = ProEMLC(threshold=threshold), [], stream.names()
    for count, row in enumerate(stream.X, start=1):
        model.learn(row, names[count - 1])
        if count in LEARNT:
            found.append(tuple(errors(model, test).mean(axis=0)))
    return found, float(test.Y.mean())


def main() -> int:
    """Print one line per data set and number of samples; return 1 where nothing is better."""
    parser = argparse.ArgumentParser(description='Looks at the first decisions of a stream.')
    parser.add_argument('--runs', type=int, default=5, metavar='N')
    parser.add_argument('--sets', default='scene,medical', metavar='NAME,NAME')
    parser.add_argument('--threshold', default=ProEMLC().options.threshold, metavar='RULE')
    args = parser.parse_args()
    folder = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets'
    print('| data | learnt | Hamming loss / F1 | loss of naming nothing | not worse |')
    print('|---|---|---|---|---|', flush=True)
    missed = 0
    for name in args.sets.split(','):
        data = find_dataset(folder, name)
        samples = Samples(np.asarray(data.X.toarray() if hasattr(data.X, 'toarray') else data.X),
                          data.Y)
        curves = [curve(samples, SEED + run, args.threshold) for run in range(args.runs)]
        nothing = float(np.mean([loss for _, loss in curves]))
        means = np.mean([found for found, _ in curves], axis=0)
        for count, (loss, f1) in zip(LEARNT, means, strict=True):
            missed += loss > nothing
            print(f'| {name} | {count} | {loss:.4f} / {f1:.3f} | {nothing:.4f} '
                  f'| {"yes" if loss <= nothing else "no"} |', flush=True)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
