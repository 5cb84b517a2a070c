# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What can be asked of a model without changing it."""

from __future__ import annotations

import threading

import numpy as np

from proemlc_ros.core import prediction
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import Classification
from proemlc_ros.core.rows import Rows, read_rows, read_vector
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.errors import NotReadyError


class ModelReader:
    """The half of ProEMLC that only reads; every method is safe while another thread learns."""

    def __init__(self, stage: ModelState) -> None:
        """Read from a stage."""
        self._stage = stage
        self._lock = threading.RLock()

    # ----- reading -----

    def scores(self, X: object) -> Array:
        """Return the raw outputs (n, labels): about 1 where a label is present, -1 where not."""
        with self._lock:
            learner = self._stage.learner
            if learner is not None and type(X) is np.ndarray and X.ndim == 1:
                return prediction.scores_of(learner, self._read_vector(X))
            rows = self._read_rows(X)
            if learner is None:
                return np.zeros((rows.shape[0], len(self._stage.labels)), self.options.dtype)
            return prediction.scores(learner, rows)

    def predict(self, X: object) -> list[tuple[str, ...]]:
        """Return the predicted labels of each row, best score first."""
        with self._lock:
            learner = self._stage.learner
            if learner is not None and type(X) is np.ndarray and X.ndim == 1:
                return [prediction.labels_of(learner, self._read_vector(X))]
            rows = self._read_rows(X)
            return [()] * rows.shape[0] if learner is None else prediction.predict(learner, rows)

    def novelty(self, X: object) -> Array:
        """Return for each row how unlike everything learnt it is, from 0 to 1."""
        with self._lock:
            rows = self._read_rows(X)
            learner = self._stage.learner
            if learner is None:
                return np.ones(rows.shape[0], self.options.dtype)
            return prediction.novelty(learner, rows)

    def classify(self, x: object) -> Classification:
        """Return labels, scores and novelty of one sample (width,), in one pass."""
        with self._lock:
            vector = self._read_vector(x)
            learner = self._stage.learner
            if learner is None:
                names = tuple(self._stage.labels.names)
                return Classification((), np.zeros(len(names), self.options.dtype), 1.0, names,
                                      0.0, 0)
            return prediction.classify(learner, vector)

    def hidden(self, X: object) -> Array:
        """Return the hidden rows (n, neurons); the layer exists once something was learnt."""
        with self._lock:
            rows = self._read_rows(X)
            learner = self._stage.learner
            if learner is None:
                raise NotReadyError('the model has no hidden layer before its first sample; '
                                    'learn something first')
            return learner.layer.rows(rows)

    def _read_vector(self, x: object) -> Array:
        return read_vector(x, self._stage.width, self.options.dtype)

    def _read_rows(self, X: object) -> Rows:
        return read_rows(X, self._stage.width, self.options.dtype)

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

    @property
    def thresholds(self) -> Array:
        """For each label, the score above which it is predicted."""
        with self._lock:
            learner = self._stage.learner
            value = 0.0 if learner is None else learner.thresholds.choice.threshold
            return np.full(len(self._stage.labels), value)

    @property
    def warming_up(self) -> bool:
        """Whether the hidden layer is provisional and waits for more first samples."""
        return self._stage.warmup is not None

    @property
    def memory_bytes(self) -> int:
        """How much memory the arrays of the model take."""
        with self._lock:
            return self._stage.memory_bytes
