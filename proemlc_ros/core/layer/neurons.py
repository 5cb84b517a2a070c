# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Neurons with random weights, h = g(xW + b) (step 2 of the paper), and their functions g."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.solving.blas import Array


class RandomNeurons(HiddenLayer):
    """Random weights and one activation function; a seed gives the same neurons everywhere."""

    def __init__(self, options: Options, scaling: Scaling, weights: Array, offset: Array) -> None:
        """Take (width, neurons) weights for raw input, and what is added to each neuron."""
        super().__init__(options, scaling, *weights.shape)
        # Fortran order: the weights of a neuron lie together, which is fastest for one sample.
        self.weights = np.asfortranarray(weights, dtype=options.dtype)
        self._by_feature: Array | None = None
        self.offset = np.asarray(offset, dtype=options.dtype)
        self._activate = FUNCTIONS[options.activation]

    @classmethod
    def draw(cls, options: Options, width: int, samples: Rows | None) -> RandomNeurons:
        """Draw the weights; a smaller layer of the same seed is the start of a larger one."""
        provisional = samples is not None and samples.shape[0] < options.warmup_samples
        scaling = Scaling.fit(options.scaling, width, samples, options.dtype, provisional)
        weights, offset = _random_numbers(options.seed, options.hidden_size, width,
                                          _weight_scale(options, width))
        if not provisional:
            _random_numbers.cache_clear()
        if scaling.affine:
            # ((x - shift) * factor) W + b = x (factor W) + (b - (shift * factor) W)
            offset = offset - weights @ (scaling.shift * scaling.factor)
            weights = weights * scaling.factor
        return cls(options, scaling, weights.T, offset)

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        return {**super().arrays(), 'weights': self.weights, 'offset': self.offset}

    def _row(self, vector: Array) -> Array:
        neurons = self.offset.copy()
        self.blas.gemv(self.scaling.row_factor(vector), self.weights, vector, beta=1.0,
                       y=neurons, trans=1, overwrite_y=1)
        self._activate(neurons)
        return neurons

    def _rows(self, samples: Rows) -> Array:
        if is_sparse(samples):
            if self._by_feature is None:
                self._by_feature = np.ascontiguousarray(self.weights)
            neurons = np.ascontiguousarray(samples @ self._by_feature)
        else:
            # The transpose is a Fortran-ordered view, so nothing is copied.
            neurons = self.blas.gemm(1.0, self.weights, samples.T, trans_a=1).T
        factors = self.scaling.row_factors(samples)
        if factors is not None:
            neurons *= factors[:, np.newaxis]
        neurons += self.offset
        self._activate(neurons)
        return neurons


@lru_cache(maxsize=1)
def _random_numbers(seed: int, neurons: int, width: int, scale: float) -> tuple[Array, Array]:
    """Return normal weights (neurons, width), scaled, and uniform offsets; not to be changed.

    Cached, since a provisional layer is drawn again and again.
    """
    weights_random, offset_random = (
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2))
    weights = weights_random.standard_normal((neurons, width))
    weights *= scale
    return weights, offset_random.uniform(-1.0, 1.0, neurons)


def _weight_scale(options: Options, width: int) -> float:
    """Return a scale that gives the neurons inputs of about one."""
    if options.weight_scale is not None:
        return options.weight_scale
    return 1.0 if options.scaling == 'l2' else float(width) ** -0.5


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


# Activation functions by name; each works in place.
FUNCTIONS: dict[str, Callable[[Array], None]] = {
    'sigmoid': _sigmoid,
    'relu': _relu,
    'tanh': _tanh,
    'sine': _sine,
    'gaussian': _gaussian,
    'softplus': _softplus,
    'identity': _identity,
}
