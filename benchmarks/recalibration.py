# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
How a late label is learnt: the paper's formula beside the exact one, on the Scene data set.

Run:  ./proemlc run python benchmarks/recalibration.py [--folds N] [--figure FILE.svg]

One network (400 sigmoid neurons, zero threshold) learns the same streams three times: with the
fifth and the sixth label coming late by either formula, and with all labels known from the start.
The paper does not say in which order its samples came, so there are two: earlier labels stay in
the stream while later ones come, or each group of samples ends before the next begins.
Reads scene.arff from $PROEMLC_DATA/datasets (default ../shared/datasets).
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from proemlc_ros.core.metrics import hamming_loss
from proemlc_ros.errors import DataSetError
from proemlc_ros.evaluation.charts import Mark, Series, line_chart
from proemlc_ros.evaluation.tables import DataSet, introduction_order, parse_pattern
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.experiments.paper import Fold, make_folds
from proemlc_ros.experiments.runs import Stream

LATE = '4+1+1'
NETWORK = {'hidden_size': 400, 'activation': 'sigmoid', 'scaling': 'none', 'bias': False,
           'ridge': 1e-3, 'threshold': 'zero'}
# Name, pattern, formula.
RUNS = (('formula of the paper', LATE, 'paper'), ('exact', LATE, 'exact'),
        ('all labels from the start', '6', 'exact'))


def main() -> int:
    """Print the Hamming loss of each run, one line per run."""
    parser = argparse.ArgumentParser(description='Compares formulas for late labels on Scene.')
    parser.add_argument('--folds', type=int, default=10, metavar='N')
    parser.add_argument('--figure', type=Path, metavar='FILE', help='draw the first fold, as SVG')
    args = parser.parse_args()
    folder = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets'
    try:
        data = find_dataset(folder, 'scene')
    except DataSetError as error:
        print(error, file=sys.stderr)
        return 1
    grouped = make_folds(data.Y, [LATE], args.folds)
    staying = [mixed(data, fold) for fold in grouped]
    for order, folds in (('earlier labels stay', staying), ('group after group', grouped)):
        for name, pattern, formula in RUNS:
            losses = [loss(data, fold, pattern, formula) for fold in folds]
            print(f'{order:<20} {name:<26} Hamming loss {np.mean(losses):.4f} '
                  f'+- {np.std(losses):.4f} over {len(folds)} folds', flush=True)
    if args.figure:
        args.figure.write_text(figure(data, staying[0]), encoding='utf-8')
    return 0


def mixed(data: DataSet, fold: Fold) -> Fold:
    """Return the fold with earlier labels still in the stream while later ones come."""
    rows = np.sort(fold.train)
    order = introduction_order(data.Y[rows], parse_pattern(LATE, data.Y.shape[1]), fold.number,
                               0.5)
    return replace(fold, train=rows[order])


def loss(data: DataSet, fold: Fold, pattern: str, formula: str) -> float:
    """Return the error on the test samples after the whole stream."""
    run = Stream(data, fold, pattern).run(
        {**NETWORK, 'recalibration': formula}, initial=fold.first)
    return hamming_loss(data.Y[fold.test], run.predicted)


def figure(data: DataSet, fold: Fold) -> str:
    """Draw the test error along the stream of one fold."""
    series, starts = [], []
    for name, pattern, formula in RUNS[:2]:
        run = Stream(data, fold, pattern).run(
            {**NETWORK, 'recalibration': formula}, curve=True, initial=fold.first)
        series.append(Series(name, [point[0] for point in run.curve],
                             [point[1] for point in run.curve]))
        starts = run.starts
    marks = [Mark(place, f'label {number}') for number, place in enumerate(starts, 5)]
    return line_chart(series, 'Scene, 4+1+1: error on test samples while labels come',
                      'samples learnt', 'Hamming loss', marks)


if __name__ == '__main__':
    sys.exit(main())
