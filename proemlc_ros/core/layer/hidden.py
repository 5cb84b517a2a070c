# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The hidden layer: what all kinds of neurons have in common, and those with random weights.

Random neurons are h = g(xW + b), step 2 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array, routines
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.options import ACTIVATIONS, Options
from proemlc_ros.core.rows import Rows, is_sparse, row_places

# Samples whose neurons are worked out together and then put in place, out of the cache.
_TOGETHER = 128


def centre_order(seed: int, samples: int) -> npt.NDArray[np.int64]:
    """Return in which order samples become centres; model selection needs it, too."""
    order: npt.NDArray[np.int64] = np.random.default_rng(
        np.random.SeedSequence(seed)).permutation(samples)
    return order


class HiddenLayer:
    """Turns samples into hidden rows; never changes once made.

    A hidden row is [neurons, scaled input (direct links), 1 (bias)]; the last two are optional.
    Subclasses say what the neurons are.
    """

    # Whether neurons answer to the neighbourhood of a centre, and are silent elsewhere.
    radial: ClassVar[bool] = False

    def __init__(self, options: Options, scaling: Scaling, width: int, neurons: int) -> None:
        """Make a layer of that many neurons for samples of that width."""
        self.options = options
        self.scaling = scaling
        self.width = width
        self.neurons = neurons
        self.size = neurons + options.direct_links * width + options.bias
        self.blas = routines(options.dtype)
        # Samples of which some became centres, when it was made; 0: not known.
        self.reach = 0
        # A hidden row before the sample's share is filled in; what remains is the bias.
        self._ones: Array = np.ones(self.size, dtype=options.dtype)

    def row(self, vector: Array) -> Array:
        """Return the hidden row of one dense sample, as a new array."""
        if self.size == self.neurons:
            return self._row(vector)
        hidden = self._ones.copy()
        self._fill_one(hidden[:self.neurons], vector)
        if self.options.direct_links:
            hidden[self.neurons:self.neurons + self.width] = self.scaling.apply(vector)
        return hidden

    def rows(self, samples: Rows, out: Array | None = None) -> Array:
        """Return the hidden rows (n, size) of dense or sparse samples; C order.

        out: where to put them; None: a new array.
        """
        if out is None:
            if self.size == self.neurons:
                return self._rows(samples)
            out = np.empty((samples.shape[0], self.size), dtype=self.options.dtype)
        out[:, self.neurons:] = 1.0
        for start in range(0, samples.shape[0], _TOGETHER):
            part = slice(start, start + _TOGETHER)
            self._fill(out[part, :self.neurons], samples[part])
        if self.options.direct_links:
            self._link(out[:, self.neurons:self.neurons + self.width], samples)
        return out

    def links(self, samples: Rows) -> Array:
        """Return the samples (n, width) as direct links have them: scaled, and dense."""
        links: Array = np.empty(samples.shape, dtype=self.options.dtype)
        self._link(links, samples)
        return links

    def own_neuron(self, hidden: Array) -> int:
        """Return the neuron that is centred on the sample of a hidden row; -1: none is."""
        return -1

    def own_neurons(self, hidden: Array) -> list[int]:
        """Return own_neuron() of each hidden row."""
        return [-1] * len(hidden)

    def mass(self, hidden: Array) -> float:
        """Return |neurons|^2 of a hidden row, where that tells how near it is to the centres."""
        if not self.radial:
            return 0.0
        neurons = hidden[:self.neurons]
        return float(neurons.dot(neurons))

    def masses(self, hidden: Array) -> Array:
        """Return the mass of each hidden row."""
        if not self.radial:
            return np.zeros(len(hidden))
        neurons = hidden[:, :self.neurons]
        masses: Array = np.einsum('ij,ij->i', neurons, neurons)
        return masses

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        return self.scaling.arrays()

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as plain arrays."""
        from proemlc_ros.core.layer import restore_layer
        return restore_layer, (self.options, self.arrays())

    def same_as(self, other: HiddenLayer) -> bool:
        """Whether both layers turn every sample into the same hidden row."""
        mine, theirs = self.arrays(), other.arrays()
        return (self._kind() == other._kind() and mine.keys() == theirs.keys()
                and all(np.array_equal(mine[name], theirs[name]) for name in mine))

    def _kind(self) -> tuple[Any, ...]:
        options = self.options
        # What is scaled by shift and factor is known by these, whatever they come from.
        scaling = self.scaling.kind in ('l2', 'asinh') and self.scaling.kind
        return (options.activation, options.direct_links, options.bias, scaling)

    def _row(self, vector: Array) -> Array:
        """Return the neurons of one dense sample, as a new array."""
        raise NotImplementedError

    def _rows(self, samples: Rows) -> Array:
        """Return the neurons (n, neurons) of dense or sparse samples, as a new array."""
        raise NotImplementedError

    def _fill_one(self, neurons: Array, vector: Array) -> None:
        """Put the neurons of one dense sample into an array."""
        neurons[:] = self._row(vector)

    def _fill(self, neurons: Array, samples: Rows) -> None:
        """Put the neurons of samples into rows (n, neurons), which may lie apart."""
        neurons[:] = self._rows(samples)

    def _link(self, links: Array, samples: Rows) -> None:
        """Fill in the scaled samples."""
        if not is_sparse(samples):
            links[:] = self.scaling.apply(samples)
            return
        links[:] = self.scaling.nothing
        links[row_places(samples), samples.indices] += self.scaling.changes(samples).data


class RandomNeurons(HiddenLayer):
    """Random weights and one activation function; a seed gives the same neurons everywhere."""

    def __init__(self, options: Options, scaling: Scaling, weights: Array, offset: Array) -> None:
        """Take (width, neurons) weights, and what is added to each neuron.

        The weights are for raw input, unless its scaling is curved or of whole rows.
        """
        super().__init__(options, scaling, *weights.shape)
        # Fortran order: the weights of a neuron lie together, which is fastest for one sample.
        self.weights = np.asfortranarray(weights, dtype=options.dtype)
        self._by_feature: Array | None = None
        self.offset = np.asarray(offset, dtype=options.dtype)
        self._activate = FUNCTIONS[options.activation]

    @classmethod
    def draw(cls, options: Options, width: int, samples: Rows | None,
             fitted: int | None = None) -> RandomNeurons:
        """Draw the weights; a smaller layer of the same seed is the start of a larger one.

        fitted: to how many of the first samples the scaling is fitted; None: to all.
        """
        some = None if samples is None else samples[:fitted]
        provisional = some is not None and some.shape[0] < options.warmup_samples
        scaling = Scaling.fit(options.scaling, width, some, options.dtype, provisional)
        weights, offset = _random_numbers(options.seed, options.hidden_size, width,
                                          _weight_scale(options, width))
        if not provisional:
            _random_numbers.cache_clear()
        if scaling.affine and not scaling.curved:
            # ((x - shift) * factor) W + b = x (factor W) + (b - (shift * factor) W)
            offset = offset - weights @ (scaling.shift * scaling.factor)
            weights = weights * scaling.factor
        return cls(options, scaling, weights.T, offset)

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        return {**super().arrays(), 'weights': self.weights, 'offset': self.offset}

    def _row(self, vector: Array) -> Array:
        if self.scaling.curved:
            vector = self.scaling.apply(vector)
        neurons = self.offset.copy()
        self.blas.gemv(self.scaling.row_factor(vector), self.weights, vector, beta=1.0,
                       y=neurons, trans=1, overwrite_y=1)
        self._activate(neurons)
        return neurons

    def _rows(self, samples: Rows) -> Array:
        if is_sparse(samples):
            if self._by_feature is None:
                self._by_feature = np.ascontiguousarray(self.weights)
            curved = self.scaling.curved
            changes = self.scaling.changes(samples) if curved else samples
            neurons = np.ascontiguousarray(changes @ self._by_feature)
            if curved:
                neurons += self.scaling.nothing @ self.weights
        else:
            if self.scaling.curved:
                samples = self.scaling.apply(samples)
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
FUNCTIONS: dict[str, Callable[[Array], None]] = dict(zip(ACTIVATIONS, (
    _sigmoid, _relu, _tanh, _sine, _gaussian, _softplus, _identity), strict=True))
