# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The hidden layer: what all kinds of neurons have in common."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_sparse, row_places
from proemlc_ros.core.solving.blas import Array, routines

# Samples whose neurons are worked out together and then put in place, out of the cache.
_TOGETHER = 128


class HiddenRows(NamedTuple):
    """Hidden rows that were worked out elsewhere, and the layer that they are of."""

    layer: HiddenLayer
    rows: Array


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

    def own_neuron(self, hidden: Array) -> int:
        """Return the neuron that is centred on the sample of a hidden row; -1: none is."""
        return -1

    def own_neurons(self, hidden: Array) -> list[int]:
        """Return own_neuron() of each hidden row."""
        return [-1] * len(hidden)

    def drawn_rows(self, part: slice) -> Array | None:
        """Return hidden rows of the samples that the layer was drawn from; None: not known."""
        return None

    def forget_drawn(self) -> None:
        """Forget what is known of the samples that the layer was drawn from."""

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
        return {'shift': self.scaling.shift, 'factor': self.scaling.factor}

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
        return (options.activation, options.direct_links, options.bias, self.scaling.unit_rows)

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
        links[:] = -self.scaling.shift * self.scaling.factor
        places = row_places(samples)
        values = samples.data * self.scaling.factor[samples.indices]
        factors = self.scaling.row_factors(samples)
        links[places, samples.indices] += values if factors is None else values * factors[places]
