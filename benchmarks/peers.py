# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Streaming rivals on Scene, one sample at a time: predict, then learn.

Every rival is set up as its own documentation shows. Times are processor times of this thread with
the BLAS on one thread; a rival that would take too long stops after its budget, and is compared
with ours on the samples it has seen.

    pip install river scikit-learn pyoselm scikit-elm 'dask[distributed]' pandas pyarrow
    python benchmarks/peers.py [--budget SECONDS] [--only NAME]
"""

from __future__ import annotations

import os

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import f1_example, hamming_loss
from proemlc_ros.evaluation.datasets import find_dataset

# The default size, and that of rivals with a hidden layer.
HIDDEN = 500
# Far smaller, and still far better than the rivals: what the bars are measured with.
OURS = 'ProEMLC, 100 neurons'
DATA = Path(os.environ.get('PROEMLC_DATA', Path(__file__).resolve().parents[2] / 'shared'))


class Ours:
    """ProEMLC, sample by sample as the node uses it."""

    new_labels = 'yes, exactly'

    def __init__(self, names: list[str], hidden_size: int) -> None:
        self.model, self.names = ProEMLC(hidden_size=hidden_size), names

    def prepare(self, X: np.ndarray, Y: np.ndarray) -> list[Any]:
        return [(x, tuple(np.array(self.names)[y])) for x, y in zip(X, Y)]

    def predict(self, sample: Any) -> Any:
        return self.model.predict(sample[0])[0]

    def learn(self, sample: Any) -> None:
        self.model.learn(*sample)

    def decode(self, said: Any) -> list[bool]:
        return [name in said for name in self.names]


class River:
    """A river pipeline: dictionaries in, dictionaries out."""

    def __init__(self, names: list[str], model: Any, new_labels: str) -> None:
        self.model, self.names, self.new_labels = model, names, new_labels

    def prepare(self, X: np.ndarray, Y: np.ndarray) -> list[Any]:
        return [(dict(enumerate(x.tolist())), dict(zip(self.names, y.tolist())))
                for x, y in zip(X, Y)]

    def predict(self, sample: Any) -> Any:
        return self.model.predict_one(sample[0])

    def learn(self, sample: Any) -> None:
        self.model.learn_one(*sample)

    def decode(self, said: Any) -> list[bool]:
        return [bool((said or {}).get(name, False)) for name in self.names]


class ScikitLearn:
    """MultiOutputClassifier(SGDClassifier) behind a running StandardScaler."""

    new_labels = 'no: classes are fixed in the first partial_fit'

    def __init__(self, names: list[str]) -> None:
        from sklearn.linear_model import SGDClassifier
        from sklearn.multioutput import MultiOutputClassifier
        from sklearn.preprocessing import StandardScaler
        self.scaler = StandardScaler()
        self.model = MultiOutputClassifier(SGDClassifier(random_state=0))
        self.classes: Any = [np.array([0, 1])] * len(names)
        self.ready = False

    def prepare(self, X: np.ndarray, Y: np.ndarray) -> list[Any]:
        return [(x[np.newaxis], y[np.newaxis].astype(int)) for x, y in zip(X, Y)]

    def predict(self, sample: Any) -> Any:
        return self.model.predict(self.scaler.transform(sample[0]))[0] if self.ready else None

    def learn(self, sample: Any) -> None:
        x, y = sample
        scaled = self.scaler.partial_fit(x).transform(x)
        self.model.partial_fit(scaled, y, classes=None if self.ready else self.classes)
        self.ready = True

    def decode(self, said: Any) -> list[bool]:
        return [False] * len(self.classes) if said is None else [bool(value) for value in said]


class Block:
    """A rival that wants a first block as long as its hidden layer; then one by one."""

    def __init__(self, names: list[str], model: Any, new_labels: str, learn: str,
                 first: int) -> None:
        self.model, self.names, self.new_labels = model, names, new_labels
        self._learn, self.first = getattr(model, learn), first
        self.kept: list[Any] | None = []

    def prepare(self, X: np.ndarray, Y: np.ndarray) -> list[Any]:
        return [(x[np.newaxis], np.where(y, 1.0, -1.0)[np.newaxis]) for x, y in zip(X, Y)]

    def predict(self, sample: Any) -> Any:
        return self.model.predict(sample[0])[0] if self.kept is None else None

    def learn(self, sample: Any) -> None:
        if self.kept is None:
            self._learn(*sample)
            return
        self.kept.append(sample)
        if len(self.kept) == self.first:
            self._learn(*(np.concatenate(part) for part in zip(*self.kept)))
            self.kept = None

    def decode(self, said: Any) -> list[bool]:
        return [False] * len(self.names) if said is None else (said > 0).tolist()


class ScikitElm(Block):
    """scikit-elm's classifier on indicator rows."""

    def prepare(self, X: np.ndarray, Y: np.ndarray) -> list[Any]:
        return [(x[np.newaxis], y[np.newaxis].astype(int)) for x, y in zip(X, Y)]


def river_models(names: list[str]) -> dict[str, Callable[[], River]]:
    """Return river's multi-label models as in the examples of its documentation."""
    from river import feature_selection, forest, linear_model, multioutput, preprocessing
    logistic = linear_model.LogisticRegression

    def scaled(model: Any, select: bool = True) -> Any:
        pipeline = preprocessing.StandardScaler() | model
        return feature_selection.VarianceThreshold(threshold=0.01) | pipeline if select else (
            pipeline)

    return {
        'river PerOutput, logistic': lambda: River(
            names, scaled(multioutput.PerOutputClassifier(logistic())),
            'yes; knows nothing of earlier samples'),
        'river the same, unselected': lambda: River(
            names, scaled(multioutput.PerOutputClassifier(logistic()), select=False),
            'yes; knows nothing of earlier samples'),
        'river Chain, logistic': lambda: River(
            names, scaled(multioutput.ClassifierChain(logistic(), order=names)),
            'no: the order is fixed'),
        'river Encoder, forest': lambda: River(
            names, multioutput.MultiClassEncoder(model=forest.ARFClassifier(seed=7)),
            'only as a new class for each combination'),
    }


def rivals(names: list[str]) -> dict[str, Callable[[], Any]]:
    """Return how to make each model; rivals that are not installed are left out, and said so."""
    found: dict[str, Callable[[], Any]] = {
        'ProEMLC (500 neurons)': lambda: Ours(names, HIDDEN),
        'ProEMLC, 200 neurons': lambda: Ours(names, 200), OURS: lambda: Ours(names, 100)}
    for library, make in (('river', lambda: river_models(names)),
                          ('sklearn', lambda: {
                              'scikit-learn MultiOutput, SGD': lambda: ScikitLearn(names)}),
                          ('pyoselm', lambda: oselm_models(names)),
                          ('skelm', lambda: elm_models(names))):
        try:
            found.update(make())
        except ImportError as error:
            print(f'{library} is left out: {error}')
    return found


def oselm_models(names: list[str]) -> dict[str, Callable[[], Block]]:
    from pyoselm import OSELMRegressor
    return {'pyoselm OSELM': lambda: Block(
        names, OSELMRegressor(n_hidden=HIDDEN, activation_func='sigmoid', use_woodbury=True),
        'no: the number of outputs is fixed', 'fit', HIDDEN)}


def elm_models(names: list[str]) -> dict[str, Callable[[], Block]]:
    from skelm import ELMClassifier
    return {'scikit-elm ELMClassifier': lambda: ScikitElm(
        names, ELMClassifier(n_neurons=HIDDEN, alpha=1.0, random_state=0),
        'only where a sample has one label', 'partial_fit', HIDDEN)}


class Result(NamedTuple):
    """What one model did on the stream."""

    seen: int
    per_second: float
    decided: np.ndarray
    able: np.ndarray  # whether it could answer at all; some need a first block


def run(model: Any, X: np.ndarray, Y: np.ndarray, budget: float) -> Result:
    """Predict and learn each sample in turn, until the budget of seconds is spent."""
    samples = model.prepare(X, Y)
    said, spent = [], 0.0
    for sample in samples:
        start = time.thread_time()
        said.append(model.predict(sample))
        model.learn(sample)
        spent += time.thread_time() - start
        if spent > budget:
            break
    return Result(len(said), len(said) / spent, np.array([model.decode(one) for one in said]),
                  np.array([one is not None for one in said]))


def figures(result: Result, Y: np.ndarray, able: np.ndarray) -> tuple[float, float]:
    """Return Hamming loss and F1 over the samples that a rival could answer."""
    truth, decided = Y[:len(able)][able], result.decided[:len(able)][able]
    return hamming_loss(truth, decided), f1_example(truth, decided)


def show(results: dict[str, Result], Y: np.ndarray, new_labels: dict[str, str]) -> int:
    """Print the table and the bars; returns how many were missed."""
    ours = results[OURS]
    print(f'{"model":<31}{"samples/s":>10}{"ours is":>9}{"Hamming":>9}{"ours":>7}'
          f'{"F1":>7}{"ours":>7}{"seen":>6}  adds a label on the fly')
    missed = 0
    for name, result in results.items():
        hamming, f1 = figures(result, Y, result.able)
        our_hamming, our_f1 = figures(ours, Y, result.able)
        faster = ours.per_second / result.per_second
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
    """Run the rivals; the exit code says whether every bar was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--budget', type=float, default=20.0, help='seconds for each model')
    parser.add_argument('--only', help='run only models whose name holds this text, and ours')
    arguments = parser.parse_args()
    warnings.filterwarnings('ignore')
    data = find_dataset(DATA / 'datasets', 'scene')
    order = np.random.default_rng(0).permutation(len(data))
    X, Y = np.ascontiguousarray(data.X[order]), data.Y[order]
    ProEMLC().learn(X[:2], [(), ()])  # imports what a first sample imports
    results, new_labels = {}, {}
    for name, make in rivals(list(data.label_names)).items():
        if arguments.only and arguments.only not in name and name != OURS:
            continue
        model = make()
        results[name] = run(model, X, Y, arguments.budget)
        new_labels[name] = model.new_labels
    missed = show(results, Y, new_labels)
    print(f'{missed} bars missed')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
