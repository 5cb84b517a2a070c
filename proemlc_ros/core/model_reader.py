# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The reading half of ProEMLC: predictions and properties, while other threads may learn."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.learning.cached_sample import CachedSample
from proemlc_ros.core.learning.unlearning import left_out_scores
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import (
    Classification,
    choose,
    choose_rows,
    classify,
    novelty_of_rows,
    probabilities_of,
)
from proemlc_ros.core.rows import Rows, check_rows, check_vector
from proemlc_ros.core.samples import SampleLabels, check_samples
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.storage import container
from proemlc_ros.core.storage.signing import sign
from proemlc_ros.core.storage.state import dump
from proemlc_ros.errors import NotReadyError
from proemlc_ros.files import replace_bytes

# Rows that are predicted together.
_TOGETHER = 512


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
                outputs = self._sample(learner, X).outputs(learner.ridge)
                return outputs[np.newaxis, 1:].copy()
            rows = self._check_rows(X)
            if learner is None:
                return np.zeros((rows.shape[0], len(self._state.labels)), self.options.dtype)
            outputs = learner.ridge.outputs_of_rows(learner.layer.rows(rows))
            return np.ascontiguousarray(outputs[:, 1:])

    def predict(self, X: object) -> list[tuple[str, ...]]:
        """Return the predicted labels of each row, best first."""
        with self._lock:
            learner = self._state.learner
            if learner is not None and type(X) is np.ndarray and X.ndim == 1:
                return [choose(learner, self._sample(learner, X))]
            rows = self._check_rows(X)
            if learner is None:
                return [()] * rows.shape[0]
            return [names for start in range(0, rows.shape[0], _TOGETHER)
                    for names in choose_rows(learner, rows[start:start + _TOGETHER])]

    def probabilities(self, X: object) -> Array:
        """Return the calibrated probability of each label (n, labels)."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                return np.zeros((rows.shape[0], len(self._state.labels)))
            return probabilities_of(learner, learner.layer.rows(rows))

    def novelty(self, X: object) -> Array:
        """Return for each row how unlike everything learnt it is, from 0 to 1."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                return np.ones(rows.shape[0], self.options.dtype)
            return novelty_of_rows(learner, learner.layer.rows(rows)).astype(self.options.dtype)

    def classify(self, x: object) -> Classification:
        """Return labels, scores, probabilities and novelty of one sample (width,), in one pass."""
        with self._lock:
            state = self._state
            vector = check_vector(x, state.width, state.options.dtype)
            if state.learner is not None:
                return classify(state.learner, state.learner.cached_sample(vector))
            names = tuple(state.labels.names)
            return Classification((), np.zeros(len(names), state.options.dtype), 1.0, names, 0.0,
                                  0, np.zeros(len(names), np.float32))

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

    def _sample(self, learner: Learner, x: object) -> CachedSample:
        """Return one dense sample with what is known of it."""
        return learner.cached_sample(check_vector(x, self._state.width, learner.options.dtype))

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
        """For each label, the score above which it is predicted, or likelier than not."""
        with self._lock:
            learner = self._state.learner
            if learner is None:
                return np.zeros(len(self._state.labels))
            return learner.decision.thresholds()

    @property
    def decision(self) -> Decision:
        """How scores become probabilities and labels."""
        with self._lock:
            learner = self._state.learner
            return Decision.prior(self.options.threshold) if learner is None else learner.decision

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
        replace_bytes(path, self.to_bytes(extra, key))

    def to_bytes(self, extra: dict[str, Any] | None = None, key: bytes | None = None) -> bytes:
        """Return what save() would write."""
        with self._lock:
            header, arrays = dump(self._state)
            data = container.pack({**header, 'extra': self.extra if extra is None else extra},
                                  arrays)
        return data if key is None else sign(data, key)

    def _check(self, X: object, labels: object, absent: object,
               complete: object) -> tuple[Rows, list[SampleLabels]]:
        return check_samples(X, labels, absent, complete, self._state.width, self.options.dtype,
                             self._state.known.columns)
