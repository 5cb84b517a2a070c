# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The reading half of ProEMLC: predictions and properties, while other threads may learn."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import Classification, choose, novelty_of
from proemlc_ros.core.rows import Rows, check_rows, check_vector
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.storage import container
from proemlc_ros.core.storage.signing import sign
from proemlc_ros.core.storage.state import dump
from proemlc_ros.core.unlearning import left_out_scores
from proemlc_ros.errors import NotReadyError


class ModelReader:
    """The half of ProEMLC that changes nothing; every method is safe while another thread learns.

    Args:
        state: of the model.
        extra: what the caller wants to keep with a saved model; plain JSON values.
    """

    def __init__(self, state: ModelState, extra: dict[str, Any]) -> None:
        self._state = state
        self.extra = extra
        self._lock = threading.RLock()

    # ----- predictions -----

    def scores(self, X: object) -> Array:
        """Return the raw outputs (n, labels): about 1 where a label is present, -1 where not."""
        with self._lock:
            learner = self._state.learner
            if learner is not None and type(X) is np.ndarray and X.ndim == 1:
                return self._outputs_of_one(learner, X)[np.newaxis, 1:].copy()
            rows = self._check_rows(X)
            if learner is None:
                return np.zeros((rows.shape[0], len(self._state.labels)), self.options.dtype)
            outputs = learner.ridge.outputs_of_rows(learner.layer.rows(rows))
            return np.ascontiguousarray(outputs[:, 1:])

    def predict(self, X: object) -> list[tuple[str, ...]]:
        """Return the predicted labels of each row, best score first."""
        with self._lock:
            learner = self._state.learner
            if learner is not None and type(X) is np.ndarray and X.ndim == 1:
                outputs = self._outputs_of_one(learner, X)
                return [choose(learner, outputs[1:] + learner.labels.handicap)]
            scores = self.scores(X)
            if learner is None:
                return [()] * len(scores)
            return [choose(learner, row) for row in scores + learner.labels.handicap]

    def novelty(self, X: object) -> Array:
        """Return for each row how unlike everything learnt it is, from 0 to 1."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                return np.ones(rows.shape[0], self.options.dtype)
            hidden = learner.layer.rows(rows)
            leverages = np.einsum('ij,ji->i', hidden, learner.ridge.gains(hidden))
            return np.array([novelty_of(learner, row, float(leverage))
                             for row, leverage in zip(hidden, leverages)], self.options.dtype)

    def classify(self, x: object) -> Classification:
        """Return labels, scores and novelty of one sample (width,), in one pass."""
        with self._lock:
            state = self._state
            vector = check_vector(x, state.width, state.options.dtype)
            learner = state.learner
            if learner is None:
                names = tuple(state.labels.names)
                return Classification((), np.zeros(len(names), state.options.dtype), 1.0, names,
                                      0.0, 0)
            sample = learner.cached_sample(vector)
            scores = sample.outputs(learner.ridge)[1:]
            _, leverage = sample.gain(learner.ridge)
            return Classification(choose(learner, scores + learner.labels.handicap),
                                  scores.copy(), novelty_of(learner, sample.hidden, leverage),
                                  tuple(learner.labels.names), *learner.thresholds.choice)

    def left_out_scores(self, X: object, labels: list[SampleLabels]) -> Array:
        """Return the scores (n, labels) of learnt samples, each as if it had not been learnt.

        Args:
            X: rows as they were learnt.
            labels: what they were learnt with; all names must be known.
        """
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                return np.zeros((rows.shape[0], len(self._state.labels)), self.options.dtype)
            return left_out_scores(learner, rows, labels)

    def hidden(self, X: object) -> Array:
        """Return the hidden rows (n, neurons); the layer exists once something was learnt."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                raise NotReadyError('the model has no hidden layer before its first sample; '
                                    'learn something first')
            return learner.layer.rows(rows)

    def _outputs_of_one(self, learner: Learner, x: object) -> Array:
        """Return the outputs of one dense sample, unnamed label first."""
        vector = check_vector(x, self._state.width, learner.options.dtype)
        return learner.cached_sample(vector).outputs(learner.ridge)

    def _check_rows(self, X: object) -> Rows:
        return check_rows(X, self._state.width, self.options.dtype)

    # ----- properties -----

    @property
    def options(self) -> Options:
        """The settings."""
        return self._state.options

    @property
    def labels(self) -> list[str]:
        """The known labels, in column order."""
        with self._lock:
            return list(self._state.labels.names)

    @property
    def counts(self) -> list[int]:
        """For each label, how many learnt samples showed it."""
        with self._lock:
            return list(self._state.labels.counts)

    @property
    def samples(self) -> int:
        """How many samples have been learnt, with any label or none."""
        with self._lock:
            return 0 if self._state.learner is None else self._state.learner.samples

    @property
    def width(self) -> int | None:
        """The length of a feature vector; None: not known yet."""
        return self._state.width

    @property
    def weights(self) -> Array:
        """A copy of the output weights (hidden row, labels), in column order."""
        with self._lock:
            learner = self._state.learner
            if learner is None:
                return np.zeros((0, len(self._state.labels)), self.options.dtype)
            return learner.ridge.beta[:, 1:].copy()

    @property
    def layer(self) -> HiddenLayer | None:
        """The hidden layer, provisional while warming up; None before the first sample."""
        with self._lock:
            return None if self._state.learner is None else self._state.learner.layer

    @property
    def thresholds(self) -> Array:
        """For each label, the score above which it is predicted."""
        with self._lock:
            learner = self._state.learner
            value = 0.0 if learner is None else learner.thresholds.choice.threshold
            return np.full(len(self._state.labels), value)

    @property
    def warming_up(self) -> bool:
        """Whether the hidden layer is provisional and waits for more first samples."""
        return self._state.warmup is not None

    @property
    def memory_bytes(self) -> int:
        """How much memory the arrays of the model take."""
        with self._lock:
            return self._state.memory_bytes

    @property
    def matrices(self) -> int:
        """How many matrices it needs: 1, and more where partial annotations inform labels."""
        with self._lock:
            learner = self._state.learner
            return 1 if learner is None or learner.groups is None else 1 + len(learner.groups)

    @property
    def approximate_labels(self) -> tuple[str, ...]:
        """Labels learnt approximately: partial annotations need more than partial_memory."""
        with self._lock:
            learner = self._state.learner
            if learner is None or learner.groups is None:
                return ()
            names = learner.labels.names
            return tuple(names[column - 1]
                         for column in learner.groups.approximate(len(names) + 1))

    # ----- storage -----

    def save(self, path: str | os.PathLike[str], extra: dict[str, Any] | None = None,
             key: bytes | None = None) -> None:
        """Write the model to a file, atomically and durably.

        Args:
            path: of the file; an existing one is replaced.
            extra: plain JSON values to keep with the model; None: those of the attribute.
            key: to sign the file with; None: it is not signed.

        Raises:
            OSError: when the file cannot be written; an older one is untouched.
        """
        container.write_file(path, self.to_bytes(extra, key))

    def to_bytes(self, extra: dict[str, Any] | None = None, key: bytes | None = None) -> bytes:
        """Return what save() would write."""
        with self._lock:
            header, arrays = dump(self._state)
            data = container.pack({**header, 'extra': self.extra if extra is None else extra},
                                  arrays)
        return data if key is None else sign(data, key)
