# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A small data set, and records of runs, for the tests of the experiments."""

import csv

import numpy as np

from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.summary import METRICS


def make_data(samples=160, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((samples, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0, X[:, 1] > 0.8, X[:, 2] > 1.0])
    return DataSet('toy', X, Y, ['a', 'b', 'c', 'd'], list('wxyz'))


def write_csv(path, data):
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow([*data.feature_names, *(f'label:{name}' for name in data.label_names)])
        writer.writerows([*x, *y.astype(int)] for x, y in zip(data.X, data.Y, strict=True))


def make_record(method, variant, fold, loss, f1, pattern='', **more):
    return {**dict.fromkeys(METRICS, 0.5), 'data': 'scene', 'method': method, 'fold': fold,
            'variant': variant, 'pattern': pattern, 'hamming_loss': loss, 'f1_example': f1, **more}


def make_records():
    ours = [make_record('Pro-EMLC', 'selected settings', fold, loss, f1, '5+1',
                        pattern_spread=2e-14)
            for fold, loss, f1 in ((0, 0.06, 0.83), (1, 0.08, 0.80))]
    default = [make_record('Pro-EMLC', 'default settings', fold, loss, f1, '5+1')
               for fold, loss, f1 in ((0, 0.07, 0.81), (1, 0.09, 0.78))]
    return [*ours, *default,
            make_record('Pro-EMLC', 'paper', 0, 0.110, 0.6, '5+1'),
            make_record('Pro-EMLC', 'paper, grouped', 0, 0.180, 0.5, '5+1'),
            make_record('CC', 'stock', 1, 0.075, 0.70),
            make_record('CC', 'same rule', 1, 0.075, 0.81),
            make_record('PCT', 'stock', 0, 0.130, 0.55),
            make_record('PCT', 'same rule', 0, 0.150, 0.62)]
