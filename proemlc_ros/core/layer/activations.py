# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions of random neurons; each works in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proemlc_ros.core.solving.blas import Array

Activation = Callable[[Array], None]


def _sigmoid(values: Array) -> None:
    # 1 / (1 + exp(-x)) without overflow
    values *= 0.5
    np.tanh(values, out=values)
    values *= 0.5
    values += 0.5


def _relu(values: Array) -> None:
    np.maximum(values, 0.0, out=values)


def _tanh(values: Array) -> None:
    np.tanh(values, out=values)


def _sine(values: Array) -> None:
    np.sin(values, out=values)


def _gaussian(values: Array) -> None:
    np.square(values, out=values)
    np.negative(values, out=values)
    np.exp(values, out=values)


def _softplus(values: Array) -> None:
    np.logaddexp(values, 0.0, out=values)


def _identity(values: Array) -> None:
    """Leave the values as they are."""


ACTIVATIONS: dict[str, Activation] = {
    'sigmoid': _sigmoid,
    'relu': _relu,
    'tanh': _tanh,
    'sine': _sine,
    'gaussian': _gaussian,
    'softplus': _softplus,
    'identity': _identity,
}
