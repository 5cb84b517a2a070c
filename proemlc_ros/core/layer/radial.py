# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Neurons around centres drawn from the first samples: exp(-gamma distance)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.layer.spreading import Places
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, dense_rows, is_sparse
from proemlc_ros.core.solving.blas import Array, cholesky, lapack, solve_lower
from proemlc_ros.core.steps import Steps, result_of

# Added to the diagonal of the centres' kernel matrix, so that equal centres do no harm.
_JITTER = 1e-8
# What rounding may take from the answer of a neuron to the sample that is its centre.
_SAME_PLACE = 1e-6
# Distances that rounding may leave between them.
_SAME_DISTANCE = 1e-9
# Samples whose distances to each other give the usual distance.
_MEDIAN_OF = 300
# Samples whose distances are worked out in one step.
AT_ONCE = 64
# Below so many samples their distances are joined by that many distances to the same values in
# another order, from the nearest of some shifts, times a factor.
_FEW, _PRIOR_PAIRS, _NEARER, _SHIFTS = 64, 3.0, 2.0, 24


def centre_order(seed: int, samples: int) -> npt.NDArray[np.int64]:
    """Return in which order samples become centres; model selection needs it, too."""
    order: npt.NDArray[np.int64] = np.random.default_rng(
        np.random.SeedSequence(seed)).permutation(samples)
    return order


def _average(distances: Array) -> float:
    """Return the median of distances, their mean where most are zero, and 0 where all are."""
    return (float(_medians(distances)) or float(distances.mean())) if len(distances) else 0.0


def _medians(values: Array) -> Array:
    """Return the median along the last axis; np.median takes as long as 1000 values to begin."""
    low, high = (values.shape[-1] - 1) // 2, values.shape[-1] // 2
    ordered = values.copy()
    ordered.partition((low, high))
    return np.asarray(0.5 * (ordered[..., low] + ordered[..., high]))


class RadialNeurons(HiddenLayer):
    """Neurons that answer to the neighbourhood of a sample seen earlier.

    Whitened, the hidden row is L^-1 k with K = L L^T the centres' own kernel matrix, so that the
    ridge solution is kernel ridge regression in the span of the centres.
    """

    radial: ClassVar[bool] = True
    # Of the differences whose sum is the distance.
    power: ClassVar[int] = 1

    def __init__(self, options: Options, scaling: Scaling, centres: Array, gamma: float,
                 whitener: Array | None = None) -> None:
        """Take scaled centres (neurons, width), and L^-1."""
        super().__init__(options, scaling, centres.shape[1], centres.shape[0])
        self.centres = np.ascontiguousarray(centres, dtype=options.dtype)
        self.gamma = float(gamma)
        self.whitener = (None if whitener is None
                         else np.ascontiguousarray(whitener, dtype=options.dtype))
        # Distances between centres, and the centre that each sample became, until the samples
        # have been learnt.
        self._drawn: tuple[Array, Places] | None = None

    @classmethod
    def draw(cls, options: Options, width: int, samples: Rows | None,
             order: Places | None = None) -> RadialNeurons:
        """Draw centres from the samples; as many as there are when they are too few.

        order: places of the samples that become centres; None: at random.
        """
        assert samples is not None
        layer = result_of(cls.drawing(options, width, samples, order))
        layer.forget_drawn()
        return layer

    @classmethod
    def drawing(cls, options: Options, width: int, samples: Rows,
                order: Places | None = None) -> Steps[RadialNeurons]:
        """Do the same in steps."""
        provisional = samples.shape[0] < options.warmup_samples
        scaling = Scaling.fit(options.scaling, width, samples, options.dtype, provisional)
        by_chance = centre_order(options.seed, samples.shape[0])
        order = by_chance if order is None else order
        centres = scaling.apply(dense_rows(samples[order[:options.hidden_size]]))
        layer = cls(options, scaling, centres, 1.0 if options.gamma is None else options.gamma)
        between: Array | None = None
        if order is by_chance and len(order) <= options.hidden_size and not is_sparse(samples):
            # Every sample is a centre: what lies between the centres tells all.
            between = yield from layer._mutual_distances()
        if options.gamma is None:
            yield
            some = samples[by_chance[:_MEDIAN_OF]]
            near = (yield from cls._distances_between(options, scaling, some)
                    ) if between is None else between[:_MEDIAN_OF, :_MEDIAN_OF]
            layer.gamma = float(options.gamma_scale / layer._usual_distance(
                near, some, provisional))
        if options.whiten:
            layer.whitener = layer._make_whitener(samples[order[:options.hidden_size]])
        elif between is not None and not options.direct_links:
            layer._drawn = between, np.argsort(order)
        return layer

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        arrays = {**super().arrays(), 'centres': self.centres, 'gamma': np.array([self.gamma])}
        if self.whitener is not None:
            arrays['whitener'] = self.whitener
        return arrays

    def own_neuron(self, hidden: Array) -> int:
        """Return the neuron that is centred on the sample of a hidden row; -1: none is."""
        answers = hidden[:self.neurons]
        if self.whitener is not None:
            # K = L L^T, so that the answers are L times the hidden row.
            answers = self._unwhiten(answers)
        place = int(answers.argmax())
        return place if answers[place] > 1.0 - _SAME_PLACE else -1

    def own_neurons(self, hidden: Array) -> list[int]:
        """Return own_neuron() of each hidden row."""
        if self.whitener is not None:
            return [self.own_neuron(row) for row in hidden]
        answers = hidden[:, :self.neurons]
        places = answers.argmax(axis=1)
        there = answers[np.arange(len(places)), places] > 1.0 - _SAME_PLACE
        own: list[int] = np.where(there, places, -1).tolist()
        return own

    def places_of_centres(self, samples: Rows) -> Places:
        """Return for each neuron the place of the sample that is its centre; -1: none is."""
        distances = self._distances_of(samples)
        nearest = distances.argmin(axis=0)
        there = distances[nearest, np.arange(self.neurons)] < _SAME_DISTANCE
        return np.where(there, nearest, -1).astype(np.int64)

    def drawn_rows(self, part: slice) -> Array | None:
        """Return hidden rows of the samples that the layer was drawn from; None: not known."""
        if self._drawn is None or part.stop > len(self._drawn[1]):
            return None
        distances, places = self._drawn
        hidden: Array = np.ones((part.stop - part.start, self.size), dtype=self.options.dtype)
        hidden[:, :self.neurons] = self._answer(distances[places[part]])
        return hidden

    def forget_drawn(self) -> None:
        """Forget what is known of the samples that the layer was drawn from."""
        self._drawn = None

    def _mutual_distances(self) -> Steps[Array | None]:
        """Return the distances (neurons, neurons) between centres, in steps; None: not known.

        Only where they are to the last bit what distances() gives.
        """
        return None
        yield

    def distances(self, scaled: Array) -> Array:
        """Return the distances (n, neurons) of scaled dense rows to the centres."""
        raise NotImplementedError

    def sparse_distances(self, samples: Rows) -> Array:
        """Return the distances (n, neurons) of raw sparse rows to the centres."""
        raise NotImplementedError

    def _row(self, vector: Array) -> Array:
        neurons: Array = self._answer(self.distances(self.scaling.apply(vector)[np.newaxis]))[0]
        return neurons

    def _rows(self, samples: Rows) -> Array:
        return self._answer(self._distances_of(samples))

    def _distances_of(self, samples: Rows) -> Array:
        if is_sparse(samples):
            return self.sparse_distances(samples)
        return self.distances(self.scaling.apply(samples))

    def _answer(self, distances: Array) -> Array:
        distances *= -self.gamma
        np.exp(distances, out=distances)
        if self.whitener is None:
            return distances
        whitened: Array = self.blas.trmm(1.0, self.whitener.T, distances.T, trans_a=1,
                                         overwrite_b=1).T
        return whitened

    def _unwhiten(self, hidden: Array) -> Array:
        assert self.whitener is not None
        answers: Array = solve_lower(self.whitener, hidden)
        return answers

    @classmethod
    def _distances_between(cls, options: Options, scaling: Scaling, samples: Rows) -> Steps[Array]:
        """Return the distances between samples (n, n), in steps."""
        near = cls(options, scaling, scaling.apply(dense_rows(samples)), 1.0)
        rows = []
        for start in range(0, near.neurons, AT_ONCE):
            rows.append(near._distances_of(samples[start:start + AT_ONCE]))
            yield
        return np.concatenate(rows)

    def _usual_distance(self, distances: Array, samples: Rows, provisional: bool) -> float:
        """Return the median of the distances between samples (n, n).

        A few of them, maybe all of one thing, say little of how far apart things are; there the
        distance to the same values in another order is asked as well.
        """
        places = np.arange(len(distances))
        between = distances[places[:, np.newaxis] < places]
        usual = _average(between)
        if provisional and samples.shape[0] < _FEW:
            usual = ((len(between) * usual
                      + _PRIOR_PAIRS * _NEARER * self._usual_shift(dense_rows(samples)))
                     / (len(between) + _PRIOR_PAIRS))
        return usual or 1.0

    def _usual_shift(self, samples: Array) -> float:
        """Return how far samples are from the same values in another order, the nearest one."""
        apart: Array = np.empty((_SHIFTS, len(samples)))
        self._shifts(samples, apart)
        factors = self.scaling.row_factors(samples)
        if factors is not None:
            apart *= factors ** self.power
        usual = _medians(apart)
        if not usual.all():
            usual = np.where(usual > 0.0, usual, apart.mean(axis=1))
        return float(usual.min())

    def _shifts(self, samples: Array, out: Array) -> None:
        """Put the distances of samples to themselves moved by 1, 2, 3 … features into out."""
        factor = self.scaling.factor ** self.power
        twice = np.concatenate((samples, samples), axis=1)
        for shift in range(1, len(out) + 1):
            start = (-shift) % self.width
            # Both scaled alike, so that only the factors matter to the difference.
            moved = twice[:, start:start + self.width] - samples
            out[shift - 1] = np.abs(moved, out=moved) ** self.power @ factor

    def _make_whitener(self, centres: Rows) -> Array:
        """Return L^-1, given the centres as the samples that they are."""
        kernel = self._rows(centres).astype(np.float64)
        kernel = 0.5 * (kernel + kernel.T) + _JITTER * np.eye(self.neurons)
        inverse, _ = lapack('trtri')(cholesky(kernel), lower=1)
        return np.ascontiguousarray(inverse, dtype=self.options.dtype)


class GaussianNeurons(RadialNeurons):
    """Activation 'rbf': the squared Euclidean distance, |z|^2 - 2 zc + |c|^2, by products."""

    power: ClassVar[int] = 2

    def __init__(self, options: Options, scaling: Scaling, centres: Array, gamma: float,
                 whitener: Array | None = None) -> None:
        """Take scaled centres (neurons, width), and L^-1."""
        super().__init__(options, scaling, centres, gamma, whitener)
        self._squares = np.einsum('ij,ij->i', self.centres, self.centres)
        self._columns: Array | None = None

    def distances(self, scaled: Array) -> Array:
        """Return the distances (n, neurons) of scaled dense rows to the centres."""
        products = self.blas.gemm(-2.0, self.centres.T, scaled.T, trans_a=1).T
        return self._complete(products, np.einsum('ij,ij->i', scaled, scaled))

    def sparse_distances(self, samples: Rows) -> Array:
        """Return the distances (n, neurons) of raw sparse rows to the centres."""
        shift, factor = self.scaling.shift, self.scaling.factor
        if self._columns is None:
            self._columns = np.ascontiguousarray((self.centres * factor).T)
        products: Array = samples @ self._columns
        squares = np.asarray(samples.multiply(samples) @ factor ** 2).ravel()
        factors = self.scaling.row_factors(samples)
        if factors is not None:
            products *= factors[:, np.newaxis]
            squares *= factors ** 2
        else:
            # (x - shift)^2 = x^2 - 2 x shift + shift^2, with everything times factor^2
            products -= self.centres @ (shift * factor)
            squares -= 2.0 * np.asarray(samples @ (shift * factor ** 2)).ravel()
            squares += float((shift * factor) @ (shift * factor))
        return self._complete(-2.0 * products, squares)

    def _complete(self, products: Array, squares: Array) -> Array:
        products += squares[:, np.newaxis]
        products += self._squares
        # Rounding may leave a distance of -1e-16.
        return np.maximum(products, 0.0, out=products)
