# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ProEMLC: the progressive multi-label classifier as users meet it."""

from __future__ import annotations

import threading
from typing import Any, Iterable, NamedTuple

import numpy as np

from proemlc_ros.core.blas import Array
from proemlc_ros.core.hidden import make_layer
from proemlc_ros.core.labels import (Annotation, LabelTable, check_name, read_annotation,
                                     read_annotations, read_names)
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_single, read_rows, read_vector
from proemlc_ros.core.warmup import WarmUp
from proemlc_ros.errors import InitialBlockError, LabelError, NeverLearntError


class Classification(NamedTuple):
    """What a model says about one sample."""

    labels: tuple[str, ...]  # predicted, best score first
    scores: Array  # one for each known label
    novelty: float  # 0: well known, 1: nothing like it was learnt
    names: tuple[str, ...]  # of all known labels, in the order of scores


class ProEMLC:
    """A multi-label classifier that learns sample by sample and grows with every new label.

    A random hidden layer feeds linear outputs, one a label, that are at any time the ridge
    solution for all samples learnt so far. A label that nobody has mentioned before gets the
    weights that it would have had if it had been known, and absent, from the first sample on.

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
        self.options = Options.from_dict({
            'hidden_size': hidden_size, 'ridge': ridge, 'activation': activation,
            'scaling': scaling, 'direct_links': direct_links, 'recalibration': recalibration,
            'seed': seed, **more})
        self._initial_labels = LabelTable(read_names(labels))
        self._lock = threading.RLock()
        self._width = self.options.width
        self._learner: Learner | None = None
        self._warmup: WarmUp | None = (
            WarmUp(self.options.warmup_samples) if self.options.needs_samples else None)

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
        """
        with self._lock:
            if self._warmup is None and self._learner is not None and type(X) is np.ndarray and (
                    X.ndim == 1):
                return self._learn_one(X, labels, absent, complete)
            rows, annotations = self._read(X, labels, absent, complete)
            self._check_started()
            return self._learn_rows(rows, annotations)

    def learn_initial(self, X: object, labels: object) -> tuple[str, ...]:
        """Learn an initial block of complete annotations, before anything else (eqs 10-12).

        It fixes a hidden layer that depends on the first samples, and with ridge = 0 it gives the
        pseudo-inverse solution (eq. 5).
        """
        with self._lock:
            rows, annotations = self._read(X, labels, None, True)
            if self.samples:
                raise InitialBlockError(f'{self.samples} samples have been learnt already; '
                                        'the initial block comes first, on a new model')
            learner = self._new_learner(rows)
            if self.options.ridge > 0.0:
                learner.learn_rows(rows, annotations)
            else:
                learner.learn_initial(rows, annotations)
            self._width, self._learner, self._warmup = rows.shape[1], learner, None
            return tuple(learner.labels.names[len(self._initial_labels):])

    def _learn_one(self, vector: object, labels: object, absent: object,
                   complete: object) -> tuple[str, ...]:
        learner = self._learner
        assert learner is not None
        checked = read_vector(vector, self._width, self.options.dtype)
        said = read_annotation(labels, absent, complete)
        known = len(learner.labels)
        learner.learn_one(checked, said)
        return tuple(learner.labels.names[known:])

    def _learn_rows(self, rows: Rows, annotations: list[Annotation]) -> tuple[str, ...]:
        known = len(self.labels)
        if self._warmup is not None:
            self._warm_up(rows, annotations)
        else:
            if self._learner is None:
                fresh = self._new_learner(None, rows.shape[1])
                fresh.learn_rows(rows, annotations)
                self._width, self._learner = rows.shape[1], fresh
            else:
                self._learner.learn_rows(rows, annotations)
        return tuple(self.labels[known:])

    def _warm_up(self, rows: Rows, annotations: list[Annotation]) -> None:
        assert self._warmup is not None
        warmup = self._warmup.copy()
        before = warmup.layer_samples if len(warmup) else 0
        warmup.keep(rows, annotations)
        if warmup.layer_samples == before and self._learner is not None:
            self._learner.learn_rows(rows, annotations)
            self._warmup = warmup
            return
        self._relearn(warmup)

    def _relearn(self, warmup: WarmUp) -> None:
        if not len(warmup):
            self._warmup, self._learner = warmup, None
            return
        rows = warmup.rows()
        learner = self._new_learner(rows[:warmup.layer_samples])
        learner.learn_rows(rows, warmup.annotations)
        self._width, self._learner = rows.shape[1], learner
        self._warmup = None if warmup.over else warmup

    def _new_learner(self, samples: Rows | None, width: int | None = None) -> Learner:
        layer = make_layer(self.options, width or samples.shape[1], samples)
        return Learner(self.options, layer, self._initial_labels)

    def _check_started(self) -> None:
        if self.options.ridge == 0.0 and self._learner is None:
            raise InitialBlockError('with ridge=0 the model needs an initial block; '
                                    'call learn_initial() first, or choose a ridge above 0')

    # ----- unlearning -----

    def unlearn(self, X: object, labels: object, absent: object = None,
                complete: object = True) -> None:
        """Take learnt samples back, as if they had never been learnt; the last row first.

        Exact in any order for complete annotations; for others when the last learnt goes first.
        Labels stay, even those that no sample shows any more; see remove_label().

        Raises:
            UnlearnError: when a sample was never learnt so; the model is as before.
        """
        with self._lock:
            rows, annotations = self._read(X, labels, absent, complete)
            if self._learner is None:
                raise NeverLearntError('nothing has been learnt, so nothing can be unlearnt')
            if self._warmup is None:
                self._learner.unlearn_rows(rows, annotations)
                return
            warmup = self._warmup
            for place in range(rows.shape[0] - 1, -1, -1):
                found = warmup.find(rows[place:place + 1], annotations[place])
                if found is None:
                    raise NeverLearntError(f'sample {place} was never learnt with these labels')
                warmup = warmup.without(found)
            self._relearn(warmup)

    # ----- labels -----

    @property
    def labels(self) -> list[str]:
        """The known labels, in column order."""
        with self._lock:
            return list(self._table.names)

    @property
    def counts(self) -> list[int]:
        """For each label, how many learnt samples showed it."""
        with self._lock:
            return list(self._table.counts)

    @property
    def _table(self) -> LabelTable:
        return self._initial_labels if self._learner is None else self._learner.labels

    # ----- reading -----

    @property
    def samples(self) -> int:
        """How many samples have been learnt, with any label or none."""
        return 0 if self._learner is None else self._learner.samples

    @property
    def width(self) -> int | None:
        """The length of a feature vector; None: not known yet."""
        return self._width

    def scores(self, X: object) -> Array:
        """Return the raw outputs (n, labels): about 1 where a label is present, -1 where not."""
        with self._lock:
            rows = read_rows(X, self._width, self.options.dtype)
            if self._learner is None:
                return np.zeros((rows.shape[0], len(self._table)), dtype=self.options.dtype)
            return np.ascontiguousarray(self._learner.scores(rows))

    def predict(self, X: object) -> list[tuple[str, ...]]:
        """Return the predicted labels of each row, best score first."""
        with self._lock:
            scores = self.scores(X)
            if self._learner is None:
                return [()] * len(scores)
            chosen = self._learner.thresholds.decide(scores)
            names = self._table.names
            return [tuple(names[column] for column in np.argsort(-row, kind='stable')
                          if picked[column]) for row, picked in zip(scores, chosen)]

    def novelty(self, X: object) -> Array:
        """Return for each row how unlike everything learnt it is, from 0 to 1."""
        with self._lock:
            rows = read_rows(X, self._width, self.options.dtype)
            if self._learner is None:
                return np.ones(rows.shape[0], dtype=self.options.dtype)
            hidden = self._learner.layer.rows(rows)
            leverages = np.einsum('ij,ji->i', hidden, self._learner.ridge.gains(hidden))
            return self._learner.novelty(hidden, leverages)

    # ----- helpers -----

    def _read(self, X: object, labels: object, absent: object,
              complete: object) -> tuple[Rows, list[Annotation]]:
        rows = read_rows(X, self._width, self.options.dtype)
        if is_single(X):
            return rows, [read_annotation(labels, absent, complete)]
        return rows, read_annotations(rows.shape[0], labels, absent, complete)
