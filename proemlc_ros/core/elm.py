# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The predecessors of Pro-EMLC as its special cases: batch ELM, and OS-ELM with fixed labels."""

from __future__ import annotations

from typing import Any

from proemlc_ros.core.labels import check_labels
from proemlc_ros.core.model import ProEMLC
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.errors import NotReadyError, UnknownLabelError

# Defaults of the predecessors: sigmoid neurons, no ridge, the threshold zero.
_DEFAULTS = {'hidden_size': 100, 'activation': 'sigmoid', 'scaling': 'none', 'bias': False,
             'ridge': 0.0, 'threshold': 'zero'}


class ELM:
    """Extreme learning machine, trained on all data at once: beta = pinv(H) Y (eqs 1-5).

    >>> elm = ELM(hidden_size=20).fit([[0.0], [1.0]], [['low'], ['high']])
    >>> elm.predict([[0.9]])
    [('high',)]
    """

    def __init__(self, **settings: Any) -> None:
        """Take the settings of ProEMLC; without ridge unless one is given."""
        self._settings = {**_DEFAULTS, **settings}
        self._model: ProEMLC | None = None

    def fit(self, X: object, labels: object) -> ELM:
        """Learn from these samples alone; what was learnt before is gone."""
        model = ProEMLC(**self._settings)
        model.learn_initial(X, labels)
        self._model = model
        return self

    def scores(self, X: object) -> Array:
        """Return the raw outputs (n, labels)."""
        return self._fitted().scores(X)

    def predict(self, X: object) -> list[tuple[str, ...]]:
        """Return the labels of each row."""
        return self._fitted().predict(X)

    @property
    def labels(self) -> list[str]:
        """The labels, in column order."""
        return self._fitted().labels

    def _fitted(self) -> ProEMLC:
        if self._model is None:
            raise NotReadyError('the ELM has not been trained; call fit() first')
        return self._model


class OSELM(ProEMLC):
    """Online sequential ELM (eqs 6-9): learns chunk by chunk, but knows its labels beforehand.

    >>> oselm = OSELM(['low', 'high'], hidden_size=2)
    >>> _ = oselm.learn_initial([[0.0], [0.5], [1.0]], [['low'], ['low'], ['high']])
    >>> oselm.learn([0.8], ['middle'])
    Traceback (most recent call last):
    ...
    proemlc_ros.errors.UnknownLabelError: OS-ELM knows only its first labels, not 'middle'; \
use ProEMLC to learn new ones
    """

    def __init__(self, labels: object, **settings: Any) -> None:
        """Fix the labels; the settings are those of ProEMLC, without ridge unless one is given."""
        super().__init__(labels=check_labels(labels), **{**_DEFAULTS, **settings})

    def learn(self, X: object, labels: object, absent: object = None,
              complete: object = True) -> tuple[str, ...]:
        """Learn samples; as ProEMLC, but rejects new labels.

        Raises:
            UnknownLabelError: when there is one; nothing has changed then.
        """
        self._check(X, labels, absent, complete)
        return super().learn(X, labels, absent, complete)

    def _check(self, X: object, labels: object, absent: object,
               complete: object) -> tuple[Rows, list[SampleLabels]]:
        rows, annotations = super()._check(X, labels, absent, complete)
        for annotation in annotations:
            for name in annotation.present + annotation.absent:
                if name not in self._state.labels.columns:
                    raise UnknownLabelError(f'OS-ELM knows only its first labels, not {name!r}; '
                                            'use ProEMLC to learn new ones')
        return rows, annotations
