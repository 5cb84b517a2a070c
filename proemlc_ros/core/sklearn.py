# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner as a scikit-learn estimator; needs the optional scikit-learn (1.6 or newer)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from proemlc_ros.core.labels import check_label
from proemlc_ros.core.model import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.errors import LabelError

_OPTIONS = ('hidden_size', 'ridge', 'activation', 'scaling', 'direct_links', 'bias', 'gamma',
            'gamma_scale', 'whiten', 'warmup', 'forgetting', 'threshold')


class ProEMLCClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """ProEMLC with scikit-learn's interface, for label indicators or for one class per sample.

    With indicators, ``predict`` returns indicators by the learnt threshold rule; with one class
    per sample, the class of the highest score. ``partial_fit`` accepts new classes, or wider
    indicators, at any call: a new label is learnt as if it had been there from the start.

    Parameters are those of ProEMLC; ``random_state`` is its seed.

    Attributes:
        classes_: the classes, sorted; the column numbers where Y holds indicators.
        model_: the ProEMLC itself.

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> ProEMLCClassifier(hidden_size=20).fit(X, X > 0.5).predict(X).astype(int).tolist()
    [[0, 1], [1, 0], [1, 1]]
    """

    def __init__(self, hidden_size: int = Options.hidden_size, ridge: float = Options.ridge,
                 activation: str = Options.activation, scaling: str = Options.scaling,
                 direct_links: bool = Options.direct_links, bias: bool = Options.bias,
                 gamma: float | None = Options.gamma, gamma_scale: float = Options.gamma_scale,
                 whiten: bool = Options.whiten, warmup: int | None = Options.warmup,
                 forgetting: float = Options.forgetting, threshold: str = Options.threshold,
                 random_state: Any = 0) -> None:
        """Keep the parameters; they are checked by fit, as scikit-learn wants it."""
        self.hidden_size = hidden_size
        self.ridge = ridge
        self.activation = activation
        self.scaling = scaling
        self.direct_links = direct_links
        self.bias = bias
        self.gamma = gamma
        self.gamma_scale = gamma_scale
        self.whiten = whiten
        self.warmup = warmup
        self.forgetting = forgetting
        self.threshold = threshold
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ProEMLCClassifier:
        """Learn all samples, after forgetting earlier ones; they also fix the hidden layer.

        Args:
            X: samples (n, width), dense or sparse.
            y: indicators (n, labels), or one class per sample (n,).
        """
        X, y = self._checked(X, y, reset=True)
        self._start(y)
        self.model_.learn_initial(X, self._names(y))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> ProEMLCClassifier:
        """Learn more samples; labels or classes may be new.

        Args:
            X: samples (n, width).
            y: indicators, at least as wide as before, or classes.
            classes: classes to be known even before a sample shows them.
        """
        first = not hasattr(self, 'model_')
        X, y = self._checked(X, y, reset=first)
        if first:
            self._start(y)
        self._grow(y, classes)
        self.model_.learn(X, self._names(y))
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return scores (n, labels); for two classes (n,), above 0 for the second."""
        scores = self._scores(X)
        if not self.multilabel_ and len(self.classes_) == 2:
            return np.asarray((scores[:, 1] - scores[:, 0]) / 2.0)
        return scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return indicators (n, labels), or one class per sample."""
        check_is_fitted(self, 'model_')
        if not self.multilabel_:
            return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])
        X = validate_data(self, X, accept_sparse='csr', reset=False)
        indicators = np.zeros((X.shape[0], len(self.classes_)), dtype=self.dtype_)
        for row, names in enumerate(self.model_.predict(X)):
            indicators[row, [int(name) for name in names]] = 1
        return indicators

    def __sklearn_tags__(self) -> Any:
        """Return what the estimator can do."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    # ----- inside -----

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Any, npt.NDArray[Any]]:
        X, y = validate_data(self, X, y, reset=reset, accept_sparse='csr', multi_output=True)
        check_classification_targets(y)
        if type_of_target(y) != 'multilabel-indicator':
            y = column_or_1d(y, warn=True)
        elif hasattr(y, 'toarray'):
            y = y.toarray()
        if not reset and (y.ndim == 2) != self.multilabel_:
            raise ValueError('y changed between classes and indicators; call fit() to start again')
        return X, y

    def _start(self, y: npt.NDArray[Any]) -> None:
        self.multilabel_ = y.ndim == 2
        self.dtype_ = y.dtype if self.multilabel_ else np.dtype(int)
        self.classes_ = np.arange(y.shape[1]) if self.multilabel_ else np.unique(y)
        seed = (int(self.random_state) if isinstance(self.random_state, (int, np.integer))
                else int(check_random_state(self.random_state).randint(2**31)))
        settings = {name: _plain(getattr(self, name)) for name in _OPTIONS}
        self.model_ = ProEMLC(**settings, seed=seed)

    def _grow(self, y: npt.NDArray[Any], classes: Any) -> None:
        if not self.multilabel_:
            given = [] if classes is None else [np.asarray(classes)]
            self.classes_ = np.unique(np.concatenate([self.classes_, y, *given]))
        elif y.shape[1] < len(self.classes_):
            raise ValueError(f'y has {y.shape[1]} columns, earlier ones had {len(self.classes_)}; '
                             'labels can be added, not taken away')
        else:
            self.classes_ = np.arange(y.shape[1])

    def _names(self, y: npt.NDArray[Any]) -> list[list[str]]:
        if self.multilabel_:
            return [[str(column) for column in np.flatnonzero(row)] for row in y]
        return [[_name(value)] for value in y]

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        check_is_fitted(self, 'model_')
        X = validate_data(self, X, accept_sparse='csr', reset=False)
        names = ([str(column) for column in self.classes_] if self.multilabel_
                 else [_name(value) for value in self.classes_])
        place = {name: column for column, name in enumerate(self.model_.labels)}
        # A class that no sample has shown scores as one that is absent everywhere.
        scores = np.full((X.shape[0], len(names)), -1.0)
        known = [column for column, name in enumerate(names) if name in place]
        scores[:, known] = self.model_.scores(X)[:, [place[names[column]] for column in known]]
        return scores


def _name(value: Any) -> str:
    """Return a label name for a class; the type keeps 1 and '1' apart."""
    name = f'{"str" if isinstance(value, str) else type(value).__name__}:{value}'
    try:
        usable = check_label(name) == name
    except LabelError:
        usable = False
    return name if usable else ascii(name)  # in quotes, so that no other class has the same name


def _plain(value: Any) -> Any:
    """Return NumPy's scalars as Python's, which the settings are checked for."""
    return value.item() if isinstance(value, np.generic) else value
