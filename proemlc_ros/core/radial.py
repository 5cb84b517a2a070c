# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Radial neurons: exp(-gamma |x - c|^2) around centres drawn from the first samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular  # type: ignore[import-untyped]

from proemlc_ros.core.blas import Array
from proemlc_ros.core.hidden import HiddenLayer
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_sparse, row_places
from proemlc_ros.core.scaling import Scaling

# Added to the diagonal of the centres' kernel matrix, so that equal centres do no harm.
_JITTER = 1e-8


class RadialNeurons(HiddenLayer):
    """Neurons that answer to the neighbourhood of a sample seen earlier.

    |z - c|^2 = |z|^2 - 2 zc + |c|^2 for the scaled sample z, with everything but |z|^2 folded into
    weights and offset. Whitened, the hidden row is L^-1 k with K = L L^T the centres' own kernel
    matrix, so that the ridge solution is kernel ridge regression in the span of the centres.
    """

    def __init__(self, options: Options, scaling: Scaling, weights: Array, offset: Array,
                 gamma: Array, whitener: Array | None) -> None:
        """Take weights and offsets for -gamma (|c|^2 - 2 zc), and L^-1."""
        super().__init__(options, scaling, weights, offset)
        self.gamma = np.asarray(gamma, dtype=options.dtype)
        self._gamma = float(self.gamma)
        self.whitener = (None if whitener is None
                         else np.ascontiguousarray(whitener, dtype=options.dtype))

    @classmethod
    def draw(cls, options: Options, width: int, samples: Rows | None) -> RadialNeurons:
        """Draw centres from the samples; as many as there are when they are too few."""
        assert samples is not None
        scaling = Scaling.fit(options.scaling, width, samples, options.dtype)
        random = np.random.default_rng(np.random.SeedSequence(options.seed))
        chosen = random.permutation(samples.shape[0])[:options.hidden_size]
        centres = _scaled(samples[chosen], scaling)
        gamma = options.gamma if options.gamma is not None else 1.0 / width
        weights = 2.0 * gamma * centres * scaling.factor
        offset = (-gamma * np.einsum('ij,ij->i', centres, centres)
                  - 2.0 * gamma * (centres @ (scaling.shift * scaling.factor)))
        layer = cls(options, scaling, weights.T, offset, np.asarray(gamma), None)
        if options.whiten:
            layer.whitener = layer._whitener_of(samples[chosen])
        return layer

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        arrays = {**super().arrays(), 'gamma': self.gamma}
        if self.whitener is not None:
            arrays['whitener'] = self.whitener
        return arrays

    def _whitener_of(self, centres: Rows) -> Array:
        kernel = self.rows(centres)[:, :self.neurons].astype(np.float64)
        kernel = 0.5 * (kernel + kernel.T) + _JITTER * np.eye(self.neurons)
        inverse = solve_triangular(cholesky(kernel, lower=True), np.eye(self.neurons), lower=True)
        return np.ascontiguousarray(inverse, dtype=self.options.dtype)

    def _activate_row(self, neurons: Array, vector: Array) -> None:
        if self.scaling.unit_rows:
            square = 1.0 if vector.any() else 0.0
        else:
            scaled = (vector - self.scaling.shift) * self.scaling.factor
            square = float(scaled.dot(scaled))
        neurons -= self._gamma * square
        # Rounding may leave a distance of -1e-16; no kernel value exceeds one.
        np.minimum(neurons, 0.0, out=neurons)
        np.exp(neurons, out=neurons)
        if self.whitener is not None:
            neurons[:] = self._blas.gemv(1.0, self.whitener.T, neurons, trans=1)

    def _activate_rows(self, neurons: Array, samples: Rows) -> Array:
        neurons -= self._gamma * _squares(samples, self.scaling)[:, np.newaxis]
        np.minimum(neurons, 0.0, out=neurons)
        np.exp(neurons, out=neurons)
        if self.whitener is None:
            return neurons
        whitened: Array = self._blas.gemm(1.0, self.whitener.T, neurons.T, trans_a=1).T
        return whitened

    def _kind(self) -> tuple[Any, ...]:
        return (*super()._kind(), self.whitener is None)


def _scaled(samples: Rows, scaling: Scaling) -> Array:
    """Return samples as scaled, dense rows; they become weights, which are dense anyway."""
    if is_sparse(samples):
        dense = np.zeros(samples.shape)
        row_of = row_places(samples)
        dense[row_of, samples.indices] = samples.data
    else:
        dense = samples.astype(np.float64)
    dense = (dense - scaling.shift) * scaling.factor
    factors = scaling.row_factors(samples)
    return dense if factors is None else dense * factors[:, np.newaxis]


def _squares(samples: Rows, scaling: Scaling) -> Array:
    """Return the squared length of each scaled row."""
    if scaling.unit_rows:
        factors = scaling.row_factors(samples)
        assert factors is not None
        return (factors > 0.0).astype(factors.dtype)
    if not is_sparse(samples):
        scaled = (samples - scaling.shift) * scaling.factor
        squares: Array = np.einsum('ij,ij->i', scaled, scaled)
        return squares
    weight = scaling.factor ** 2
    squares = np.asarray(samples.multiply(samples) @ weight).ravel()
    squares -= 2.0 * np.asarray(samples @ (weight * scaling.shift)).ravel()
    return squares + float(weight @ scaling.shift ** 2)
