# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ProEMLC: the progressive multi-label classifier as users meet it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from proemlc_ros.core.blas import Array
from proemlc_ros.core.labels import (
    Annotation,
    LabelTable,
    read_annotation,
    read_annotations,
    read_names,
)
from proemlc_ros.core.learner import Classification
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_single, read_rows, read_vector
from proemlc_ros.core.stage import Stage
from proemlc_ros.errors import NotReadyError


class ProEMLC:
    """A multi-label classifier that learns sample by sample and grows with every new label.

    A random hidden layer feeds linear outputs, one a label, that are at any time the ridge
    solution for all samples learnt so far. A label that nobody has mentioned before gets the
    weights that it would have had if it had been known, and absent, from the first sample on.

    Methods may be called from several threads; each sees the model before or after a change, never
    in between.

    >>> model = ProEMLC(hidden_size=50, seed=1)
    >>> model.learn([[0.0, 1.0], [1.0, 0.0]], [['cup'], ['cup', 'red']])
    ('cup', 'red')
    >>> model.learn([5.0, 5.0], ['robot'])  # a label never heard before
    ('robot',)
    >>> model.labels
    ['cup', 'red', 'robot']
    >>> model.predict([[5.0, 4.9]])
    [('robot',)]
    """

    def __init__(self, hidden_size: int = 500, ridge: float = 1.0, activation: str = 'relu',
                 scaling: str = 'none', direct_links: bool = False, recalibration: str = 'exact',
                 labels: Iterable[str] = (), seed: int = 0, **more: Any) -> None:
        """Choose the settings.

        Args:
            hidden_size: number of hidden neurons; of centres for 'rbf'.
            ridge: weight of the ridge penalty; 0 needs learn_initial() first.
            activation: 'relu', 'sigmoid', 'tanh', 'sine', 'gaussian', 'softplus', 'identity', or
                'rbf' for neurons around centres drawn from the first samples.
            scaling: 'none', 'standard' or 'minmax' (fitted on the first samples, then frozen), or
                'l2' (every row to length one).
            direct_links: whether the outputs also see the scaled input itself.
            recalibration: 'exact', or 'paper' for eqs 15-19 of the paper.
            labels: names known from the start.
            seed: of the random weights.
            more: bias, forgetting, threshold, gamma, whiten, warmup, width, weight_scale, dtype;
                see Options.

        Raises:
            ParameterError: when a setting makes no sense.
            LabelError: when a name is not usable.
        """
        options = Options.from_dict({
            'hidden_size': hidden_size, 'ridge': ridge, 'activation': activation,
            'scaling': scaling, 'direct_links': direct_links, 'recalibration': recalibration,
            'seed': seed, **more})
        self._stage = Stage(options, LabelTable(read_names(labels)))
        self._lock = threading.RLock()
        # Whatever the owner wants to find again in a saved model; plain JSON values.
        self.extra: dict[str, Any] = {}

    # ----- learning -----

    def learn(self, X: object, labels: object, absent: object = None,
              complete: object = True) -> tuple[str, ...]:
        """Learn samples.

        Args:
            X: one sample (width,), or rows (n, width), NumPy or scipy.sparse.
            labels: the names present in the sample; for rows one collection a row.
            absent: the names absent from it, likewise; needed only where complete is False.
            complete: whether labels that are not listed are absent (True) or unknown (False); one
                value, or one a row.

        Returns:
            The labels that are new.

        Raises:
            InputError: when X cannot be used.
            LabelError: when the labels cannot be used.
            InitialBlockError: when ridge is 0 and there was no initial block.
        """
        with self._lock:
            stage = self._stage
            known = len(stage.labels)
            fixed = stage.fixed
            if fixed is not None and type(X) is np.ndarray and X.ndim == 1:
                # The short way for a robot's sample after sample.
                fixed.learn_one(read_vector(X, stage.width, self.options.dtype),
                                read_annotation(labels, absent, complete))
            else:
                stage.learn(*self._read(X, labels, absent, complete))
            return tuple(stage.labels.names[known:])

    def learn_initial(self, X: object, labels: object) -> tuple[str, ...]:
        """Learn an initial block of complete annotations, before anything else (eqs 10-12).

        It fixes a hidden layer that depends on the first samples, and with ridge = 0 it gives the
        pseudo-inverse solution (eq. 5).
        """
        with self._lock:
            known = len(self._stage.labels)
            self._stage.learn_initial(*self._read(X, labels, None, True))
            return tuple(self._stage.labels.names[known:])

    def unlearn(self, X: object, labels: object, absent: object = None,
                complete: object = True) -> None:
        """Take learnt samples back, as if they had never been learnt; the last row first.

        Exact in any order for complete annotations; for others, and with forgetting, when the last
        learnt goes first. Labels stay, even those that no sample shows any more: remove_label().

        Raises:
            UnlearnError: when a sample was never learnt so; the model is as before.
        """
        with self._lock:
            self._stage.unlearn(*self._read(X, labels, absent, complete))

    def fix_layer(self) -> None:
        """Fix a hidden layer that waits for more first samples, with those that have come."""
        with self._lock:
            self._stage.fix()

    # ----- labels -----

    def rename_label(self, name: str, new_name: str) -> None:
        """Give a label another name; what was learnt of it stays.

        Raises:
            UnknownLabelError: when there is no such label.
            LabelExistsError: when another label has the new name.
        """
        with self._lock:
            self._stage.labels.column(name)
            checked, = read_names([new_name], 'new_name')
            self._stage.rename(name, checked)

    def remove_label(self, name: str) -> None:
        """Forget a label; the others stay as they are.

        Raises:
            UnknownLabelError: when there is no such label.
        """
        with self._lock:
            self._stage.remove(name)

    # ----- reading -----

    def scores(self, X: object) -> Array:
        """Return the raw outputs (n, labels): about 1 where a label is present, -1 where not."""
        with self._lock:
            rows = self._read_rows(X)
            learner = self._stage.learner
            if learner is None:
                return np.zeros((rows.shape[0], len(self._stage.labels)), self.options.dtype)
            return learner.scores(rows)

    def predict(self, X: object) -> list[tuple[str, ...]]:
        """Return the predicted labels of each row, best score first."""
        with self._lock:
            rows = self._read_rows(X)
            learner = self._stage.learner
            return [()] * rows.shape[0] if learner is None else learner.predict(rows)

    def novelty(self, X: object) -> Array:
        """Return for each row how unlike everything learnt it is, from 0 to 1."""
        with self._lock:
            rows = self._read_rows(X)
            learner = self._stage.learner
            if learner is None:
                return np.ones(rows.shape[0], self.options.dtype)
            return learner.novelty(rows)

    def classify(self, x: object) -> Classification:
        """Return labels, scores and novelty of one sample (width,), in one pass."""
        with self._lock:
            vector = read_vector(x, self._stage.width, self.options.dtype)
            learner = self._stage.learner
            if learner is None:
                names = tuple(self._stage.labels.names)
                return Classification((), np.zeros(len(names), self.options.dtype), 1.0, names)
            return learner.classify(vector)

    def hidden(self, X: object) -> Array:
        """Return the hidden rows (n, neurons); the layer exists once something was learnt."""
        with self._lock:
            rows = self._read_rows(X)
            learner = self._stage.learner
            if learner is None:
                raise NotReadyError('the model has no hidden layer before its first sample; '
                                    'learn something first')
            return learner.layer.rows(rows)

    def _read_rows(self, X: object) -> Rows:
        return read_rows(X, self._stage.width, self.options.dtype)

    def _read(self, X: object, labels: object, absent: object,
              complete: object) -> tuple[Rows, list[Annotation]]:
        rows = self._read_rows(X)
        if is_single(X):
            return rows, [read_annotation(labels, absent, complete)]
        return rows, read_annotations(rows.shape[0], labels, absent, complete)

    # ----- what it is -----

    @property
    def options(self) -> Options:
        """The settings."""
        return self._stage.options

    @property
    def labels(self) -> list[str]:
        """The known labels, in column order."""
        with self._lock:
            return list(self._stage.labels.names)

    @property
    def counts(self) -> list[int]:
        """For each label, how many learnt samples showed it."""
        with self._lock:
            return list(self._stage.labels.counts)

    @property
    def samples(self) -> int:
        """How many samples have been learnt, with any label or none."""
        with self._lock:
            return 0 if self._stage.learner is None else self._stage.learner.samples

    @property
    def width(self) -> int | None:
        """The length of a feature vector; None: not known yet."""
        return self._stage.width
