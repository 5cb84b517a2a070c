# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Input scaling: an affine map of each feature, or rows of length one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from proemlc_ros.core.rows import Rows, dense_rows, is_sparse, row_norms
from proemlc_ros.core.solving.blas import Array

# A feature that never moved in the first samples is left at its own scale.
_CONSTANT = 1e-10
# Below so many samples the spread of a feature is moderated by that of all features together, as
# if so many samples had shown it.
_FEW, _SHARED = 64, 8.0


@dataclass(frozen=True)
class Scaling:
    """Scales x to (x - shift) * factor, or to x / |x| where unit_rows is set.

    For random neurons the affine map is folded into their weights, where it costs nothing.
    """

    shift: Array
    factor: Array
    unit_rows: bool = False
    affine: bool = field(init=False)

    def __post_init__(self) -> None:
        """Notice when there is nothing to do."""
        object.__setattr__(self, 'affine', bool(self.shift.any() or (self.factor != 1.0).any()))

    @classmethod
    def fit(cls, kind: str, width: int, samples: Rows | None, dtype: str,
            provisional: bool = False) -> Scaling:
        """Fit the scaling of that kind to the first samples; provisional: more are to come."""
        shift: Array = np.zeros(width)
        factor: Array = np.ones(width)
        if kind in ('standard', 'minmax'):
            assert samples is not None
            shift, spread = (_mean_and_deviation if kind == 'standard' else _range)(samples)
            if provisional and kind == 'standard' and samples.shape[0] < _FEW:
                spread = _moderated(spread, samples)
            moved = spread > _CONSTANT * np.maximum(np.abs(shift), 1.0)
            factor[moved] = 1.0 / spread[moved]
        return cls(shift.astype(dtype), factor.astype(dtype), kind == 'l2')

    def apply(self, dense: Array) -> Array:
        """Return one dense sample, or rows of them, scaled; may be the argument itself."""
        if self.unit_rows:
            norms = np.sqrt(np.einsum('...j,...j->...', dense, dense))[..., np.newaxis]
            factors = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
            unit: Array = dense * factors
            return unit
        if self.affine:
            return (dense - self.shift) * self.factor
        return dense

    def row_factor(self, vector: Array) -> float:
        """Return what one dense sample is multiplied by."""
        if not self.unit_rows:
            return 1.0
        norm = math.sqrt(vector.dot(vector))
        return 1.0 / norm if norm > 0.0 else 0.0

    def row_factors(self, rows: Rows) -> Array | None:
        """Return what each row is multiplied by; None: by one."""
        if not self.unit_rows:
            return None
        norms = row_norms(rows)
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)


def _mean_and_deviation(samples: Rows) -> tuple[Array, Array]:
    if is_sparse(samples):
        centre = np.asarray(samples.mean(axis=0), dtype=np.float64).ravel()
        count = samples.shape[0]
        squares = (samples.data - centre[samples.indices]) ** 2
        moved = np.bincount(samples.indices, squares, len(centre))
        absent = count - np.bincount(samples.indices, minlength=len(centre))
        return centre, np.sqrt((moved + absent * centre * centre) / count)
    mean, spread = _mean_and_variance(samples.astype(np.float64, copy=False), 0)
    if samples.dtype != np.float64:
        mean = samples.mean(axis=0).astype(np.float64)
    return mean.ravel(), np.sqrt(spread, out=spread)


def _mean_and_variance(values: Array, axis: int) -> tuple[Array, Array]:
    """Return both along an axis; of mean() and var() a few samples see the overhead only."""
    count = values.shape[axis]
    mean: Array = np.add.reduce(values, axis=axis, keepdims=True)
    mean /= count
    apart = values - mean
    np.multiply(apart, apart, out=apart)
    variance: Array = np.add.reduce(apart, axis=axis)
    variance /= count
    return mean, variance


def _moderated(spread: Array, samples: Rows) -> Array:
    """Return the deviations of a few samples, shrunk towards what the features have in common.

    One sample has no spread of its own; there the values of its features have to serve.
    """
    count = samples.shape[0]
    _, between = _mean_and_variance(dense_rows(samples).astype(np.float64, copy=False), 1)
    squares = spread * spread
    common = ((count - 1.0) * float(np.add.reduce(squares)) / len(squares)
              + float(np.add.reduce(between)) / count) / count
    squares *= count
    squares += _SHARED * common
    squares /= count + _SHARED
    return np.sqrt(squares, out=squares)


def _range(samples: Rows) -> tuple[Array, Array]:
    low, high = samples.min(axis=0), samples.max(axis=0)
    if is_sparse(samples):
        low, high = dense_rows(low.tocsr()), dense_rows(high.tocsr())
    low = np.asarray(low, dtype=np.float64).ravel()
    return low, np.asarray(high, dtype=np.float64).ravel() - low
