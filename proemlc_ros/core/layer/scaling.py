# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Input scaling: a rising curve for each feature, or rows of length one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from proemlc_ros.core.compiled import Array, inverse_sinh
from proemlc_ros.core.options import FITTED_SCALINGS
from proemlc_ros.core.rows import Rows, dense_rows, is_sparse, row_norms, row_places

# A feature that never moved in the first samples is left at its own scale.
_CONSTANT = 1e-10
# Samples whose variances are summed together, out of the cache.
_TOGETHER = 32
# Below so many samples the spread of a feature is moderated by that of all features together, as
# if so many samples had shown it.
_FEW, _SHARED = 48, 8.0


# Quantiles that a rank is read from, between neighbours linearly.
KNOTS = 31


class _Ranks(NamedTuple):
    """Lines of the rank curves, one for each number of knots at or below a value (32, width)."""

    starts: Array
    values: Array
    slopes: Array


@dataclass(frozen=True)
class Scaling:
    """Scales the values of samples.

    Attributes:
        kind: 'l2': x / |x|. 'rank': the share of the first samples with a lower value, read from
            knots; beyond these it goes on by their range. 'asinh': asinh((x - shift) * factor),
            which draws distant values near. Else (x - shift) * factor, which for random neurons
            is folded into their weights, where it costs nothing.
        shift: of each feature.
        factor: of each feature.
        knots: quantiles (31, width) of the first samples; None: of another kind than 'rank'.
        affine: whether shift or factor change anything.
        unit_rows: whether rows are scaled to length one.
        curved: whether a feature is scaled by more than a shift and a factor.
    """

    kind: str
    shift: Array
    factor: Array
    knots: Array | None = None
    affine: bool = field(init=False)
    unit_rows: bool = field(init=False)
    curved: bool = field(init=False)

    def __post_init__(self) -> None:
        """Notice when there is nothing to do."""
        object.__setattr__(self, 'affine', bool(self.shift.any() or (self.factor != 1.0).any()))
        object.__setattr__(self, 'unit_rows', self.kind == 'l2')
        object.__setattr__(self, 'curved', self.kind in ('asinh', 'rank'))

    @classmethod
    def fit(cls, kind: str, width: int, samples: Rows | None, dtype: str,
            provisional: bool = False) -> Scaling:
        """Fit the scaling of that kind to the first samples; provisional: more are to come."""
        shift: Array = np.zeros(width)
        factor: Array = np.ones(width)
        knots = None
        if kind in FITTED_SCALINGS:
            assert samples is not None
            centre, spread = (_range if kind == 'minmax' else _mean_and_deviation)(samples)
            few = provisional and samples.shape[0] < _FEW
            if few and kind != 'minmax':
                spread = _moderated(spread, samples)
            if kind == 'rank':
                knots = (_normal_quantiles(centre, spread) if few else _quantiles(samples)
                         ).astype(dtype)
            else:
                shift = centre
                moved = spread > _CONSTANT * np.maximum(np.abs(shift), 1.0)
                factor[moved] = 1.0 / spread[moved]
        return cls(kind, shift.astype(dtype), factor.astype(dtype), knots)

    @classmethod
    def restore(cls, kind: str, arrays: dict[str, Array]) -> Scaling:
        """Make a scaling again from what arrays() returned."""
        return cls(kind, arrays['shift'], arrays['factor'], arrays.get('knots'))

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same scaling again."""
        arrays = {'shift': self.shift, 'factor': self.factor}
        return arrays if self.knots is None else {**arrays, 'knots': self.knots}

    def apply(self, dense: Array) -> Array:
        """Return one dense sample, or rows of them, scaled; may be the argument itself."""
        if self.unit_rows:
            norms = np.sqrt(np.einsum('...j,...j->...', dense, dense))[..., np.newaxis]
            factors = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
            unit: Array = dense * factors
            return unit
        if self.kind == 'rank':
            return self._ranks_of(dense)
        if self.affine or self.curved:
            scaled: Array = dense - self.shift
            scaled *= self.factor
            return inverse_sinh(scaled) if self.curved else scaled
        return dense

    @cached_property
    def nothing(self) -> Array:
        """A sample of zeros, scaled."""
        return self.apply(np.zeros_like(self.shift))

    def changes(self, samples: Rows) -> Rows:
        """Return sparse rows of what the stored values of samples add to a scaled empty one."""
        features = samples.indices
        if self.kind == 'rank':
            values = self._ranks_of(samples.data, features) - self.nothing[features]
        elif self.curved:
            values = inverse_sinh((samples.data - self.shift[features]) * self.factor[features])
            values -= self.nothing[features]
        else:
            values = samples.data * self.factor[features]
            factors = self.row_factors(samples)
            if factors is not None:
                values *= factors[row_places(samples)]
        changes = samples.copy()
        changes.data = values
        return changes

    def rank_lines(self) -> tuple[Array, list[tuple[Array, Array, Array]]]:
        """Return the rank of the first knot, and start, end and slope of each line of the curve.

        The first line starts from minus infinity; its rank is reached at its end.
        """
        assert self.knots is not None
        lines = self._lines
        endless = np.full((1, self.knots.shape[1]), np.inf)
        ends = np.concatenate((-endless, self.knots, endless))
        return lines.values[0], list(zip(ends, ends[1:], lines.slopes))

    def _ranks_of(self, values: Array, features: Array | None = None) -> Array:
        """Return the ranks of values; features: which they are of, along the last axis."""
        assert self.knots is not None
        knots = self.knots if features is None else self.knots[:, features]
        if values.ndim == 1:
            below: Array = np.count_nonzero(knots <= values, axis=0)
        else:
            below = np.zeros(values.shape, dtype=np.intp)
            for knot in knots:
                below += values >= knot
        places = below, np.arange(len(self.shift)) if features is None else features
        lines = self._lines
        ranks: Array = values - lines.starts[places]
        ranks *= lines.slopes[places]
        ranks += lines.values[places]
        return ranks

    @cached_property
    def _lines(self) -> _Ranks:
        assert self.knots is not None
        knots = self.knots.astype(np.float64)
        # Knots in one place share the mean of their ranks.
        first = (knots[:, np.newaxis] > knots).sum(axis=1)
        last = (knots[:, np.newaxis] >= knots).sum(axis=1) - 1
        ranks = 0.5 * (first + last) / (KNOTS - 1)
        gaps = np.diff(knots, axis=0)
        slopes = np.divide(np.diff(ranks, axis=0), gaps, out=np.zeros_like(gaps), where=gaps > 0.0)
        # Beyond the first samples values go on by their range, so that a stranger is far away.
        ends = knots[-1:] - knots[:1]
        beyond = np.divide(1.0, ends, out=np.ones_like(ends), where=ends > 0.0)
        kind = self.knots.dtype
        return _Ranks(np.concatenate((knots[:1], knots)).astype(kind),
                      np.concatenate((ranks[:1], ranks)).astype(kind),
                      np.concatenate((beyond, slopes, beyond)).astype(kind))

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
    variance: Array = np.zeros(values.shape[1 - axis])
    for start in range(0, values.shape[0], _TOGETHER):  # As much as stays in the cache.
        part = slice(start, start + _TOGETHER)
        apart = values[part] - (mean if axis == 0 else mean[part])
        if axis == 0:
            variance += np.einsum('ij,ij->j', apart, apart)
        else:
            variance[part] = np.einsum('ij,ij->i', apart, apart)
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


def _quantiles(samples: Rows) -> Array:
    """Return the knots (31, width) of samples."""
    levels = np.linspace(0.0, 1.0, KNOTS)
    if not is_sparse(samples):
        knots: Array = np.quantile(samples.astype(np.float64, copy=False), levels, axis=0)
        return knots
    by_feature = samples.tocsc()
    knots = np.empty((KNOTS, samples.shape[1]))
    values: Array = np.empty(samples.shape[0])
    for feature, (start, stop) in enumerate(zip(by_feature.indptr, by_feature.indptr[1:])):
        values[:] = 0.0
        values[:stop - start] = by_feature.data[start:stop]
        knots[:, feature] = np.quantile(values, levels)
    return knots


def _normal_quantiles(mean: Array, spread: Array) -> Array:
    """Return the knots of normal features, where samples are too few to have quantiles."""
    from statistics import NormalDist  # A node starts sooner without it.

    levels = (np.arange(KNOTS) + 0.5) / KNOTS
    places = np.array([NormalDist().inv_cdf(level) for level in levels])
    return mean + places[:, np.newaxis] * spread
