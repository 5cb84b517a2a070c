# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the learner's speed is held against: the bare products, and the paper's equations."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy.linalg import get_blas_funcs

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.learning import learn_rows
from proemlc_ros.core.ridge import RecursiveRidge

WIDTH = 294  # as Scene


class Subject:
    """A model of one size, and the same arrays for bare products."""

    def __init__(self, hidden: int, labels: int, dtype: str = 'float64') -> None:
        random = np.random.default_rng(0)
        self.names = [f'label {number}' for number in range(labels)]
        self.model = ProEMLC(hidden_size=hidden, activation='relu', scaling='none', bias=False,
                             ridge=1.0, labels=self.names, dtype=dtype)
        self.X = random.random((256, WIDTH)).astype(dtype)
        self.annotations = [tuple(random.choice(self.names, 2, replace=False).tolist())
                            for _ in self.X]
        self.model.learn(self.X, self.annotations)
        self.ridge = RecursiveRidge(hidden, 1.0, dtype)
        self.ridge.set_beta(np.zeros((hidden, labels + 1)))
        self.turn = itertools.cycle(range(256))
        self.h = self.model.hidden(self.X)[0]
        self.residual = random.random(labels + 1).astype(dtype)
        self.M = np.asfortranarray(np.eye(hidden, dtype=dtype))
        self.beta = np.zeros((hidden, labels + 1), dtype=dtype, order='F')
        self.W = np.asfortranarray(random.random((hidden, WIDTH)).astype(dtype))
        self.symv, self.syr, self.gemv, self.ger = get_blas_funcs(
            ('symv', 'syr', 'gemv', 'ger'), dtype=self.M.dtype)

    def new_learner(self) -> Learner:
        """Return a learner of this size that has learnt the samples."""
        options = self.model.options
        learner = Learner(options, make_layer(options, WIDTH, None), self.names)
        learn_rows(learner, self.X, [SampleLabels(labels) for labels in self.annotations])
        return learner

    def learn(self) -> None:
        place = next(self.turn)
        self.model.learn(self.X[place], self.annotations[place])

    def learn_chunk(self) -> None:
        self.model.learn(self.X[:64], self.annotations[:64])

    def recursion(self) -> None:
        """Eqs 8-9 alone, from a hidden row to new weights."""
        gain, leverage = self.ridge.gain(self.h)
        self.ridge.update(gain, leverage, self.residual - self.ridge.outputs(self.h))

    def four_bare_calls(self) -> None:
        product = self.symv(1.0, self.M, self.h, lower=1)
        self.syr(-1e-12, product, lower=1, a=self.M, overwrite_a=1)
        self.gemv(1.0, self.beta, self.h, trans=1)
        self.ger(1e-12, product, self.residual, a=self.beta, overwrite_a=1)

    def predict(self) -> None:
        self.model.predict(self.X[next(self.turn)])

    def bare_products(self) -> None:
        hidden = self.gemv(1.0, self.W, self.X[next(self.turn)])
        self.gemv(1.0, self.beta, hidden, trans=1)

    def bare_products_and_gain(self) -> None:
        """What novelty needs on top: M h, for the leverage."""
        hidden = self.gemv(1.0, self.W, self.X[next(self.turn)])
        self.gemv(1.0, self.beta, hidden, trans=1)
        self.symv(1.0, self.M, hidden, lower=1)

    def classify(self) -> None:
        self.model.classify(self.X[next(self.turn)])


def equations_in_numpy(subject: Subject) -> Callable[[], None]:
    """Eqs 20-21 as printed, for one sample."""
    M, beta = np.array(subject.M), np.array(subject.beta)
    h, Y = subject.h[np.newaxis], subject.residual[np.newaxis]

    def update() -> None:
        inner = np.linalg.inv(np.eye(1) + h @ M @ h.T)
        M_next = M - M @ h.T @ inner @ h @ M
        beta + M_next @ h.T @ (Y - h @ beta)

    return update


def outer_product_form(subject: Subject) -> Callable[[], None]:
    """Eqs 8-9 as most would write them in NumPy."""
    M, beta, h, y = np.array(subject.M), np.array(subject.beta), subject.h, subject.residual

    def update() -> None:
        Mh = M @ h
        M_next = M - np.outer(Mh, Mh) / (1.0 + h @ Mh)
        beta + np.outer(M_next @ h, y - h @ beta)

    return update
