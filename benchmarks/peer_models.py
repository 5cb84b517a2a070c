# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The streaming baselines and ours behind one interface: prepare, predict, learn, decode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC

# The default size, and that of baselines with a hidden layer.
HIDDEN = 500
# What users run; the bars are for it.
OURS = 'ProEMLC, default (500 neurons)'


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

    def decode(self, predicted: Any) -> list[bool]:
        return [name in predicted for name in self.names]


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

    def decode(self, predicted: Any) -> list[bool]:
        return [bool((predicted or {}).get(name, False)) for name in self.names]


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

    def decode(self, predicted: Any) -> list[bool]:
        if predicted is None:
            return [False] * len(self.classes)
        return [bool(value) for value in predicted]


class VowpalWabbit:
    """Vowpal Wabbit's linear model, one against all, fed with lines of its text format."""

    new_labels = 'no: their number is fixed'

    def __init__(self, names: list[str]) -> None:
        from vowpalwabbit import Workspace
        self.model, self.labels = Workspace(f'--multilabel_oaa {len(names)} --quiet'), len(names)

    def prepare(self, X: np.ndarray, Y: np.ndarray) -> list[Any]:
        features = [' '.join(f'{place}:{value:.7g}' for place, value in enumerate(x.tolist()))
                    for x in X]
        return [(f'| {text}', f'{",".join(map(str, np.flatnonzero(y).tolist()))} | {text}')
                for text, y in zip(features, Y)]

    def predict(self, sample: Any) -> Any:
        return self.model.predict(sample[0])

    def learn(self, sample: Any) -> None:
        self.model.learn(sample[1])

    def decode(self, predicted: Any) -> list[bool]:
        return [label in predicted for label in range(self.labels)]


class Block:
    """A baseline that needs a first block as long as its hidden layer; then one by one."""

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

    def decode(self, predicted: Any) -> list[bool]:
        return [False] * len(self.names) if predicted is None else (predicted > 0).tolist()


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


def peers(names: list[str]) -> dict[str, Callable[[], Any]]:
    """Return how to make each model; a printed line names those that are not installed."""
    found: dict[str, Callable[[], Any]] = {
        OURS: lambda: Ours(names, HIDDEN),
        'ProEMLC, 200 neurons': lambda: Ours(names, 200),
        'ProEMLC, 100 neurons': lambda: Ours(names, 100)}
    for library, make in (('river', lambda: river_models(names)),
                          ('sklearn', lambda: {
                              'scikit-learn MultiOutput, SGD': lambda: ScikitLearn(names)}),
                          ('vowpalwabbit', lambda: wabbit_models(names)),
                          ('pyoselm', lambda: oselm_models(names)),
                          ('skelm', lambda: elm_models(names))):
        try:
            found.update(make())
        except ImportError as error:
            print(f'{library} is left out: {error}')
    return found


def wabbit_models(names: list[str]) -> dict[str, Callable[[], VowpalWabbit]]:
    import vowpalwabbit  # noqa: F401
    return {'Vowpal Wabbit multilabel_oaa': lambda: VowpalWabbit(names)}


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
