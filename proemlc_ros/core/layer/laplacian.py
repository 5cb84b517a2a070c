# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Radial neurons by the sum of absolute differences, with a compiled kernel where there is one."""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.layer.differences import (
    absolute_differences,
    compiled,
    mutual_differences,
    shifted_differences,
)
from proemlc_ros.core.layer.radial import AT_ONCE, RadialNeurons
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.steps import Steps


class LaplacianNeurons(RadialNeurons):
    """Activation 'laplacian': the sum of absolute differences."""

    def __init__(self, options: Options, scaling: Scaling, centres: Array, gamma: float,
                 whitener: Array | None = None) -> None:
        """Take scaled centres (neurons, width), and L^-1."""
        super().__init__(options, scaling, centres, gamma, whitener)
        # In double precision always: the time goes into reading, not into the sums.
        self._places = self.centres.astype(np.float64, copy=False)
        # Whether the compiled function scales one sample as well.
        self._at_once = (compiled is not None and self.centres.dtype == np.float64
                         and whitener is None and not scaling.unit_rows)
        self._columns: tuple[Array, Array, Array] | None = None
        self._changes: Array | None = None

    def distances(self, scaled: Array) -> Array:
        """Return the distances (n, neurons) of scaled dense rows to the centres."""
        distances: Array = np.empty((len(scaled), self.neurons))
        absolute_differences(np.ascontiguousarray(scaled, dtype=np.float64), self._places,
                             distances)
        return distances.astype(self.options.dtype, copy=False)

    def _mutual_distances(self) -> Steps[Array]:
        distances: Array = np.empty((self.neurons, self.neurons))
        yield
        for start in range(0, self.neurons, AT_ONCE):
            mutual_differences(self._places, distances, start,
                               min(start + AT_ONCE, self.neurons))
            yield
        return distances.astype(self.options.dtype, copy=False)

    def _shifts(self, samples: Array, out: Array) -> None:
        shifted_differences(samples.astype(np.float64, copy=False),
                            self.scaling.factor.astype(np.float64, copy=False), out)

    def _fill_one(self, neurons: Array, vector: Array) -> None:
        if not self._at_once or compiled is None or self.whitener is not None:
            self._fill(neurons[np.newaxis], vector[np.newaxis])
            return
        compiled.negative_answers(vector, self.scaling.shift, self.scaling.factor, self._places,
                                  self.gamma, neurons)
        np.exp(neurons, out=neurons)

    def _fill(self, neurons: Array, samples: Rows) -> None:
        if is_sparse(samples) or self.whitener is not None or neurons.dtype != np.float64:
            super()._fill(neurons, samples)
            return
        scaled = np.ascontiguousarray(self.scaling.apply(samples), dtype=np.float64)
        absolute_differences(scaled, self._places, neurons)
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
