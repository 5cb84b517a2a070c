# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""
The node with default parameters and renewal on folds of public data, beside selected settings.

Run:  ./proemlc run python benchmarks/renewed_node.py [--folds N] [--sets scene,medical,corel5k]

Every training sample is an annotation that a durable model learns with its journal, as in the
node. Whenever the node's policy says so (30 samples, each doubling, outgrown labels), the task of
the renewal process is done and its model swapped in. Beside it: default settings without renewal,
and the settings that model selection finds with the whole training fold at hand. The folds are
those of `proemlc paper`. Reads the data sets from $PROEMLC_DATA/datasets (default
../shared/datasets).
"""

from __future__ import annotations

import os

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.renewal_task import RenewalTask, renew
from proemlc_ros.classifier.renewals import (
    LayerLabels,
    RenewalPolicy,
    RenewedModel,
    is_for_labels,
)
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.core.selection.search import select_model
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.experiments.paper import PATTERNS, Fold, make_folds
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation


def node_model(data: DataSet, fold: Fold, folder: Path) -> tuple[ProEMLC, int]:
    """Return what a node has learnt after the fold, and how often it was renewed."""
    directory = ModelDirectory(folder)
    durable = DurableModel(VersionedModel(ProEMLC()), ProEMLC, directory,
                           Journal(directory.journal))
    policy, labels, renewals = RenewalPolicy(), LayerLabels(durable), 0
    for start in range(0, len(fold.train), 10):
        block = fold.train[start:start + 10]
        durable.learn([Annotation(int(row) + 1, tuple(data.labels(row)), features=dense(data, row))
                       for row in block])
        model, growth = durable.model, labels.growth()
        if policy.is_due(model.learner.samples, [*model.novelties],
                         len(model.learner.labels), growth):
            policy.last = model.learner.samples
            renewals += renew_now(durable, folder, is_for_labels(growth, policy.last))
    directory.close()
    return durable.model.learner, renewals


def renew_now(durable: DurableModel, folder: Path, for_labels: bool) -> bool:
    """Do what the process of a renewal and the learning thread do; return whether it swapped."""
    running, output = folder / '.running.tmp', folder / '.renewed.tmp'
    durable.model.learner.save(running, {})
    task = RenewalTask(str(durable.directory.journal), str(running), str(output),
                       durable.position, for_labels=for_labels)
    result = renew(task, lambda: Journal(durable.directory.journal, read_only=True).entries())
    if result.better:
        RenewedModel(durable, output, task.position).swap()
    return result.better


def dense(data: DataSet, row: int) -> np.ndarray:
    """Return one sample as the node gets it."""
    values = data.X[row]
    return np.asarray(values.toarray() if hasattr(values, 'toarray') else values,
                      dtype=np.float32).ravel()


def selected_model(data: DataSet, fold: Fold) -> ProEMLC:
    """Return the model with settings selected on the whole training fold."""
    X, names = data.X[fold.train], [data.labels(row) for row in fold.train]
    model = ProEMLC(**select_model(X, data.Y[fold.train], first=fold.first).keywords())
    model.learn_initial(X[:fold.first], names[:fold.first])
    if fold.first < len(names):
        model.learn(X[fold.first:], names[fold.first:])
    return model


def default_model(data: DataSet, fold: Fold) -> ProEMLC:
    """Return the model with default settings, without renewal."""
    model = ProEMLC()
    model.learn(data.X[fold.train], [data.labels(row) for row in fold.train])
    return model


def errors(model: ProEMLC, data: DataSet, fold: Fold) -> tuple[float, float, float]:
    """Return Hamming loss, F1, and the loss where the likelier than not are named, of the test."""
    predicted = np.zeros((len(fold.test), data.Y.shape[1]), dtype=bool)
    columns = {name: column for column, name in enumerate(data.label_names)}
    for row, names in enumerate(model.predict(data.X[fold.test])):
        predicted[row, [columns[name] for name in names]] = True
    truth = data.Y[fold.test]
    likely = np.zeros_like(predicted)
    likely[:, [columns[name] for name in model.labels]] = model.probabilities(
        data.X[fold.test]) > 0.5
    return (hamming_loss(truth, predicted), f1_example(truth, predicted),
            hamming_loss(truth, likely))


def main() -> int:
    """Print one line per data set and model."""
    parser = argparse.ArgumentParser(description='Compares the renewed node with selection.')
    parser.add_argument('--folds', type=int, default=3, metavar='N', help='folds used, of ten')
    parser.add_argument('--sets', default='scene,medical,corel5k', metavar='NAME,NAME')
    args = parser.parse_args()
    folder = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets'
    print('| data | run | Hamming loss | example-based F1 | loss by p > 0.5 |\n'
          '|---|---|---|---|---|', flush=True)
    for name in args.sets.split(','):
        data = find_dataset(folder, name)
        found: dict[str, list[tuple[float, float, float]]] = {}
        for fold in make_folds(data.Y, PATTERNS[name], 10)[:args.folds]:
            with tempfile.TemporaryDirectory() as scratch:
                node, renewals = node_model(data, fold, Path(scratch, 'model'))
            for run, model in (('default settings', default_model(data, fold)),
                               ('node, defaults, renewed', node),
                               ('selected settings', selected_model(data, fold))):
                found.setdefault(run, []).append(errors(model, data, fold))
            print(f'{name}, fold {fold.number}: {renewals} renewals', file=sys.stderr, flush=True)
        for run, values in found.items():
            (loss, f1, likely), spread = np.mean(values, axis=0), np.std(values, axis=0)
            print(f'| {name} | {run} | {loss:.4f} ± {spread[0]:.4f} | {f1:.4f} ± {spread[1]:.4f} '
                  f'| {likely:.4f} ± {spread[2]:.4f} |', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
