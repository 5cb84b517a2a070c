# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Radial neurons by the sum of absolute differences, with a compiled kernel where there is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from proemlc_ros.core.layer.radial import RadialNeurons
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.solving.blas import Array


@cache
def absolute_differences() -> Callable[[Array, Array, Array], None]:
    """Return the function that puts sums of absolute differences of rows to centres into out.

    The compiled one, which is several times as fast, or the plain one where it was not built.
    """
    try:
        from proemlc_ros.core.layer._distances import absolute_differences as compiled
    except ImportError:
        return plain_differences
    return compiled


def plain_differences(rows: Array, centres: Array, out: Array) -> None:
    """Put the sums of absolute differences of rows to centres into out, by SciPy."""
    out[:] = _cdist()(rows, centres)


@cache
def _cdist() -> Callable[[Array, Array], Array]:
    """Return SciPy's function for it; imported here, as it takes its time."""
    from scipy.spatial import distance
    try:
        # What cdist calls in the end; its checks take as long as 100 centres do.
        from scipy.spatial._distance_pybind import cdist_cityblock
    except ImportError:
        return lambda rows, centres: distance.cdist(rows, centres, 'cityblock')
    return lambda rows, centres: cdist_cityblock(rows, centres)


class LaplacianNeurons(RadialNeurons):
    """Activation 'laplacian': the sum of absolute differences."""

    def __init__(self, options: Options, scaling: Scaling, centres: Array, gamma: float,
                 whitener: Array | None = None) -> None:
        """Take scaled centres (neurons, width), and L^-1."""
        super().__init__(options, scaling, centres, gamma, whitener)
        # In double precision always: the time goes into reading, not into the sums.
        self._places = self.centres.astype(np.float64, copy=False)
        self._columns: tuple[Array, Array, Array] | None = None
        self._changes: Array | None = None

    def distances(self, scaled: Array) -> Array:
        """Return the distances (n, neurons) of scaled dense rows to the centres."""
        distances: Array = np.empty((len(scaled), self.neurons))
        absolute_differences()(np.ascontiguousarray(scaled, dtype=np.float64), self._places,
                               distances)
        return distances.astype(self.options.dtype, copy=False)

    def _fill_one(self, neurons: Array, vector: Array) -> None:
        self._fill(neurons[np.newaxis], vector[np.newaxis])

    def _fill(self, neurons: Array, samples: Rows) -> None:
        if is_sparse(samples) or self.whitener is not None or neurons.dtype != np.float64:
            super()._fill(neurons, samples)
            return
        scaled = np.ascontiguousarray(self.scaling.apply(samples), dtype=np.float64)
        absolute_differences()(scaled, self._places, neurons)
        neurons *= -self.gamma
        np.exp(neurons, out=neurons)

    def sparse_distances(self, samples: Rows) -> Array:
        """Return the distances (n, neurons) of raw sparse rows to the centres.

        That of an empty row, and then what each stored value changes.
        """
        if self._columns is None:
            nothing = -self.scaling.shift * self.scaling.factor
            by_feature = np.ascontiguousarray(self.centres.T)
            self._columns = (by_feature, nothing,
                             np.abs(by_feature - nothing[:, np.newaxis]).sum(axis=0))
        columns, empty, base = self._columns
        factors = self.scaling.row_factors(samples)
        if factors is None and (samples.data == 1.0).all():
            return self._indicator_distances(samples)
        distances: Array = np.tile(base, (samples.shape[0], 1))
        for place in range(samples.shape[0]):
            stored = slice(samples.indptr[place], samples.indptr[place + 1])
            features = samples.indices[stored]
            values: Array = samples.data[stored] * self.scaling.factor[features]
            values = values + empty[features] if factors is None else values * factors[place]
            near = columns[features]
            distances[place] += (np.abs(near - values[:, np.newaxis])
                                 - np.abs(near - empty[features, np.newaxis])).sum(axis=0)
        return distances

    def _indicator_distances(self, samples: Rows) -> Array:
        """Do the same for rows of zeros and ones, where a one changes the same in every row."""
        assert self._columns is not None
        columns, empty, base = self._columns
        if self._changes is None:
            at_one = (empty + self.scaling.factor)[:, np.newaxis]
            self._changes = np.abs(columns - at_one) - np.abs(columns - empty[:, np.newaxis])
        distances: Array = samples @ self._changes
        distances += base
        # Rounding may leave a distance of -1e-16.
        return np.maximum(distances, 0.0, out=distances)
