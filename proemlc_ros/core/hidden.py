# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The hidden layer: h = g(xW + b), seeded, with optional direct links and a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from proemlc_ros.core.activations import ACTIVATIONS
from proemlc_ros.core.blas import Array, routines
from proemlc_ros.core.options import RADIAL, Options
from proemlc_ros.core.rows import Rows, is_sparse, row_places
from proemlc_ros.core.scaling import Scaling


class HiddenLayer:
    """Turns samples into hidden rows; never changes once made.

    A hidden row is [neurons, scaled input (direct links), 1 (bias)]; the last two are optional.
    Subclasses say what the neurons are.
    """

    def __init__(self, options: Options, scaling: Scaling, weights: Array, offset: Array) -> None:
        """Take (width, neurons) weights for raw input, and what is added to each neuron."""
        self.options = options
        self.scaling = scaling
        self.width, self.neurons = weights.shape
        # C order: rows of a sparse product lie together, and its transpose suits the BLAS.
        self.weights = np.ascontiguousarray(weights, dtype=options.dtype)
        extra = [np.asarray(offset, dtype=options.dtype)]
        if options.direct_links:
            extra.append(-scaling.shift * scaling.factor)
        if options.bias:
            extra.append(np.ones(1, dtype=options.dtype))
        # A hidden row before the sample's own share is added.
        self.template: Array = np.concatenate(extra).astype(options.dtype)
        self.size = self.template.shape[0]
        self._blas = routines(options.dtype)
        self._plain = self.size == self.neurons

    def row(self, vector: Array) -> Array:
        """Return the hidden row of one dense sample, as a new array."""
        hidden = self.template.copy()
        factor = 1.0
        if self.scaling.unit_rows:
            norm = float(np.sqrt(vector.dot(vector)))
            factor = 1.0 / norm if norm > 0.0 else 0.0
        neurons = hidden[:self.neurons]
        self._blas.gemv(factor, self.weights.T, vector, beta=1.0, y=neurons, overwrite_y=1)
        self._activate_row(neurons, vector)
        if self.options.direct_links:
            links = hidden[self.neurons:self.neurons + self.width]
            links += vector * self.scaling.factor * factor
        return hidden

    def rows(self, samples: Rows) -> Array:
        """Return the hidden rows (n, size) of dense or sparse samples; C order."""
        factors = self.scaling.row_factors(samples)
        neurons = self._products(samples)
        if factors is not None:
            neurons *= factors[:, np.newaxis]
        neurons += self.template[:self.neurons]
        neurons = self._activate_rows(neurons, samples)
        if self._plain:
            return neurons
        hidden = np.tile(self.template, (samples.shape[0], 1))
        hidden[:, :self.neurons] = neurons
        if self.options.direct_links:
            self._add_links(hidden[:, self.neurons:self.neurons + self.width], samples, factors)
        return hidden

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        return {'weights': self.weights, 'offset': self.template[:self.neurons],
                'shift': self.scaling.shift, 'factor': self.scaling.factor}

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as plain arrays."""
        return restore_layer, (self.options, self.arrays())

    def same_as(self, other: HiddenLayer) -> bool:
        """Whether both layers turn every sample into the same hidden row."""
        mine, theirs = self.arrays(), other.arrays()
        return (self._kind() == other._kind() and mine.keys() == theirs.keys()
                and all(np.array_equal(mine[name], theirs[name]) for name in mine))

    def _kind(self) -> tuple[Any, ...]:
        options = self.options
        return (options.activation, options.direct_links, options.bias, self.scaling.unit_rows)

    def _activate_row(self, neurons: Array, vector: Array) -> None:
        raise NotImplementedError

    def _activate_rows(self, neurons: Array, samples: Rows) -> Array:
        raise NotImplementedError

    def _products(self, samples: Rows) -> Array:
        if is_sparse(samples):
            return np.ascontiguousarray(samples @ self.weights)
        # The transposes are Fortran-ordered views, so nothing is copied.
        product: Array = self._blas.gemm(1.0, self.weights.T, samples.T).T
        return product

    def _add_links(self, links: Array, samples: Rows, factors: Array | None) -> None:
        if not is_sparse(samples):
            scaled = samples * self.scaling.factor
            links += scaled if factors is None else scaled * factors[:, np.newaxis]
            return
        values = samples.data * self.scaling.factor[samples.indices]
        row_of = row_places(samples)
        if factors is not None:
            values = values * factors[row_of]
        links[row_of, samples.indices] += values


class RandomNeurons(HiddenLayer):
    """Neurons with random weights and one activation function (step 2 of the paper)."""

    def __init__(self, options: Options, scaling: Scaling, weights: Array, offset: Array) -> None:
        """Take weights and offsets for raw input."""
        super().__init__(options, scaling, weights, offset)
        self._activate = ACTIVATIONS[options.activation]

    @classmethod
    def draw(cls, options: Options, width: int, samples: Rows | None) -> RandomNeurons:
        """Draw the weights; a smaller layer of the same seed is the start of a larger one."""
        weights_random, offset_random = (
            np.random.default_rng(part) for part in np.random.SeedSequence(options.seed).spawn(2))
        scaling = Scaling.fit(options.scaling, width, samples, options.dtype)
        weights = weights_random.standard_normal((options.hidden_size, width))
        weights *= _weight_scale(options, width)
        offset = offset_random.uniform(-1.0, 1.0, options.hidden_size)
        # ((x - shift) * factor) W + b = x (factor W) + (b - (shift * factor) W)
        offset -= weights @ (scaling.shift * scaling.factor)
        return cls(options, scaling, (weights * scaling.factor).T, offset)

    def _activate_row(self, neurons: Array, vector: Array) -> None:
        self._activate(neurons)

    def _activate_rows(self, neurons: Array, samples: Rows) -> Array:
        self._activate(neurons)
        return neurons


def _weight_scale(options: Options, width: int) -> float:
    """Return a scale that gives the neurons inputs of about one."""
    if options.weight_scale is not None:
        return options.weight_scale
    return 1.0 if options.scaling == 'l2' else float(width) ** -0.5


def make_layer(options: Options, width: int, samples: Rows | None) -> HiddenLayer:
    """Make the layer that the options ask for; samples: the first ones, where it needs them."""
    if options.activation == RADIAL:
        from proemlc_ros.core.radial import RadialNeurons
        return RadialNeurons.draw(options, width, samples)
    return RandomNeurons.draw(options, width, samples)


def restore_layer(options: Options, arrays: dict[str, Array]) -> HiddenLayer:
    """Make the layer again from its stored arrays."""
    scaling = Scaling(arrays['shift'], arrays['factor'], options.scaling == 'l2')
    if options.activation == RADIAL:
        from proemlc_ros.core.radial import RadialNeurons
        return RadialNeurons(options, scaling, arrays['weights'], arrays['offset'],
                             arrays['gamma'], arrays.get('whitener'))
    return RandomNeurons(options, scaling, arrays['weights'], arrays['offset'])
