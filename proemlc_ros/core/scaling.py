# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Input scaling: an affine map of each feature, or rows of length one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proemlc_ros.core.blas import Array
from proemlc_ros.core.rows import Rows, is_sparse, row_norms

# A feature that never moved in the first samples is left at its own scale.
_CONSTANT = 1e-10


@dataclass(frozen=True)
class Scaling:
    """Scales x to (x - shift) * factor, or to x / |x| where unit_rows is set.

    The affine map is folded into the weights of the hidden layer, so that it costs nothing and keeps
    sparse rows sparse.
    """

    shift: Array
    factor: Array
    unit_rows: bool = False

    @classmethod
    def fit(cls, kind: str, width: int, samples: Rows | None, dtype: str) -> Scaling:
        """Fit the scaling of that kind to the first samples."""
        shift: Array = np.zeros(width)
        factor: Array = np.ones(width)
        if kind in ('standard', 'minmax'):
            assert samples is not None
            shift, spread = (_mean_and_deviation if kind == 'standard' else _range)(samples)
            moved = spread > _CONSTANT * np.maximum(np.abs(shift), 1.0)
            factor[moved] = 1.0 / spread[moved]
        return cls(shift.astype(dtype), factor.astype(dtype), kind == 'l2')

    def row_factors(self, rows: Rows) -> Array | None:
        """Return what each row is multiplied by; None: by one."""
        if not self.unit_rows:
            return None
        norms = row_norms(rows)
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)


def _mean_and_deviation(samples: Rows) -> tuple[Array, Array]:
    mean = np.asarray(samples.mean(axis=0), dtype=np.float64).ravel()
    if is_sparse(samples):
        squares = np.asarray(samples.multiply(samples).mean(axis=0), dtype=np.float64).ravel()
        return mean, np.sqrt(np.maximum(squares - mean * mean, 0.0))
    return mean, np.asarray(samples.std(axis=0, dtype=np.float64))


def _range(samples: Rows) -> tuple[Array, Array]:
    low, high = samples.min(axis=0), samples.max(axis=0)
    if is_sparse(samples):
        # A single row of the result: as wide as the input, which is what weights are anyway.
        low, high = (_dense_row(row) for row in (low, high))
    low = np.asarray(low, dtype=np.float64).ravel()
    return low, np.asarray(high, dtype=np.float64).ravel() - low


def _dense_row(row: Rows) -> Array:
    dense = np.zeros(row.shape[-1])
    entries = row.tocoo()
    dense[entries.coords[-1] if hasattr(entries, 'coords') else entries.col] = entries.data
    return dense
