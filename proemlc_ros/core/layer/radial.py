# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Neurons around centres drawn from the first samples: exp(-gamma distance)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from proemlc_ros.core.compiled import (
    Array,
    Places,
    absolute_differences,
    cholesky,
    compiled,
    lapack,
    mutual_differences,
    solve_lower,
)
from proemlc_ros.core.layer.hidden import HiddenLayer, centre_order
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, dense_rows, is_sparse

# Added to the diagonal of the centres' kernel matrix, so that equal centres do no harm.
_JITTER = 1e-8
# What rounding may take from the answer of a neuron to the sample that is its centre.
_SAME_PLACE = 1e-6
# Distances that rounding may leave between them.
_SAME_DISTANCE = 1e-9
# Samples whose distances to each other give the usual distance.
_MEDIAN_OF = 300
# Samples that are compared with the centres before them together.
_TOGETHER = 64
# A sample is nearly a copy of a centre where gamma times the distance is below this.
_NEARLY = 0.02
# Below so many samples their distances are joined by that many distances to the same values in
# another order, from the nearest of some shifts, times a factor.
_FEW, _PRIOR_PAIRS, _NEARER, _SHIFTS = 48, 3.0, 2.0, 24


def _average(distances: Array) -> float:
    """Return the median of distances, their mean where most are zero, and 0 where all are."""
    return (float(_medians(distances)) or float(distances.mean())) if len(distances) else 0.0


def _medians(values: Array) -> Array:
    """Return the median along the last axis; np.median takes as long as 1000 values to begin."""
    low, high = (values.shape[-1] - 1) // 2, values.shape[-1] // 2
    ordered = values.copy()
    ordered.partition((low, high))
    return np.asarray(0.5 * (ordered[..., low] + ordered[..., high]))


class _DrawnRows(NamedTuple):
    """What is known of the samples that a layer was made of: their places, and their neurons."""

    centres: Places
    neurons: Array


class _Room:
    """Memory for the centres of a layer that grows, shared with the layers before it."""

    def __init__(self, centres: Array, count: int) -> None:
        """Copy centres to memory for that many."""
        self.used = len(centres)
        self.rows: Array = np.empty((max(count, self.used + 1), centres.shape[1]), centres.dtype)
        self.rows[:self.used] = centres

    def plus(self, centre: Array) -> Array:
        """Return the centres and one more."""
        self.rows[self.used] = centre
        self.used += 1
        return self.rows[:self.used]


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
        # Places of the centres among the samples that it was made of, and what is known of these
        # until they have been learnt.
        self.made_of: Places = np.zeros(0, dtype=np.int64)
        self._room: _Room | None = None
        self.drawn: _DrawnRows | None = None
        self.whitener = (None if whitener is None
                         else np.ascontiguousarray(whitener, dtype=options.dtype))

    @classmethod
    def draw(cls, options: Options, width: int, samples: Rows | None,
             order: Places | None = None, fitted: int | None = None) -> RadialNeurons:
        """Make neurons around samples, as many as there are when they are too few.

        Args:
            options: settings.
            width: of a sample.
            samples: the first ones, or all.
            order: places of those that become centres; None: those that are no near copies of
                others, the first ones, or some at random where more than that are fitted to.
            fitted: to how many of the first samples scaling and gamma are fitted; None: to all.
        """
        assert samples is not None
        count = samples.shape[0]
        fitted = count if fitted is None else fitted
        some, provisional = samples[:fitted], fitted < options.warmup_samples
        scaling = Scaling.fit(options.scaling, width, some, options.dtype, provisional)
        gamma, between, scaled = options.gamma, None, None
        if order is None and fitted == count <= options.hidden_size and not is_sparse(samples):
            # Every sample may be a centre: what lies between them tells all.
            scaled = scaling.apply(samples)
            between = cls(options, scaling, scaled, 1.0).mutual_distances()
        if gamma is None:
            drawn = centre_order(options.seed, fitted)[:_MEDIAN_OF]
            near = cls(options, scaling, scaling.apply(dense_rows(some[drawn]))
                       if scaled is None else scaled[drawn], 1.0)
            distances = (near._distances_of(some[drawn]) if between is None
                         else between[np.ix_(drawn, drawn)])
            gamma = options.gamma_scale / near._usual_distance(distances, some[drawn],
                                                               provisional)
        if order is None:
            first = (np.arange(fitted) if fitted <= options.hidden_size
                     else centre_order(options.seed, fitted))
            order = cls._apart(options, scaling, gamma, samples, np.concatenate(
                [first, np.arange(fitted, count)]), between)
        order = order[:options.hidden_size]
        if scaled is None:
            scaled = scaling.apply(dense_rows(samples[order]))
        elif len(order) < count or scaled is samples:
            scaled = scaled[order]
        layer = cls(options, scaling, scaled, gamma)
        if options.whiten:
            layer.whitener = layer._make_whitener(layer._rows(samples[order]))
        layer.made_of, layer.reach = order, int(order.max()) + 1
        if between is not None:
            layer.drawn = _DrawnRows(order, layer._answer(
                between if len(order) == count else between[:, order]))
        return layer

    @classmethod
    def _apart(cls, options: Options, scaling: Scaling, gamma: float, samples: Rows,
               order: Places, between: Array | None) -> Places:
        """Return the first of some places whose samples are no near copies of each other.

        between: the distances of all samples to each other; None: not known.
        """
        near = _NEARLY ** cls.power / gamma
        if between is not None:
            near_before = np.tril(between < near, -1)
            apart = np.ones(len(between), dtype=bool)
            for place in np.flatnonzero(near_before.any(axis=1)).tolist():
                apart[place] = not (near_before[place] & apart).any()
            return order if apart.all() else order[apart]
        chosen = list[int]()
        centres: Array = np.empty((0, samples.shape[1]), options.dtype)
        for start in range(0, len(order), _TOGETHER):
            places = order[start:start + _TOGETHER]
            rows = scaling.apply(dense_rows(samples[places]))
            nearest = (cls(options, scaling, centres, gamma).distances(rows).min(axis=1)
                       if chosen else np.full(len(rows), np.inf))
            between = cls(options, scaling, rows, gamma).distances(rows)
            kept = list[int]()
            for place in (nearest >= near).nonzero()[0].tolist():
                if not kept or between[place, kept].min() >= near:
                    kept.append(place)
            centres = np.concatenate([centres, rows[kept]])
            chosen += places[kept].tolist()
            if len(chosen) >= options.hidden_size:
                break
        return np.array(chosen[:options.hidden_size], dtype=np.int64)

    def answers(self, hidden: Array) -> Array:
        """Return how the neurons themselves answer to the sample of a hidden row."""
        answers = hidden[:self.neurons]
        # Whitened, K = L L^T, so that the answers are L times the hidden row.
        return answers if self.whitener is None else self._unwhiten(answers)

    def is_near(self, answers: Array, vector: Array) -> bool:
        """Tell whether a dense sample is nearly a copy of a centre; answers: of the neurons."""
        return bool(answers.max(initial=0.0) > math.exp(-_NEARLY ** self.power))

    def answers_around(self, vector: Array, samples: Rows) -> Array:
        """Return how a neuron around one dense sample would answer to others (n,)."""
        return self._around(vector, alone=True)._rows(dense_rows(samples))[:, 0]

    def _around(self, vector: Array, alone: bool = False) -> RadialNeurons:
        """Return the layer with a neuron around a dense sample, not whitened; alone: no other."""
        centre = self.scaling.apply(vector)
        if alone:
            return type(self)(self.options, self.scaling, centre[np.newaxis], self.gamma)
        room = self._room
        if room is None or room.used != self.neurons or room.used == len(room.rows):
            room = _Room(self.centres, min(2 * self.neurons, self.options.hidden_size))
        grown = type(self)(self.options, self.scaling, room.plus(centre), self.gamma)
        grown._room = room
        return grown

    def with_centre(self, vector: Array, hidden: Array) -> tuple[RadialNeurons, Array, float]:
        """Return the layer with one more neuron, around a sample.

        Args:
            vector: the sample, dense.
            hidden: its hidden row.

        Returns:
            The layer. How the new entry of a hidden row follows: from the answer of the new
            neuron, less the product of these weights with the other neurons, times the factor.
        """
        layer = self._around(vector)
        if self.whitener is None:
            return layer, np.zeros(0), 1.0
        # K grows by a row k, so that L grows by L^-1 k, which is the hidden row itself.
        weights = hidden[:self.neurons].astype(np.float64)
        factor = 1.0 / math.sqrt(max(1.0 + _JITTER - float(weights.dot(weights)), _JITTER))
        whitener: Array = np.zeros((layer.neurons, layer.neurons), dtype=self.options.dtype)
        whitener[:-1, :-1] = self.whitener
        whitener[-1, :-1] = -factor * (weights @ self.whitener)
        whitener[-1, -1] = factor
        layer.whitener = whitener
        return layer, weights, factor

    @classmethod
    def restore(cls, options: Options, arrays: dict[str, Array]) -> RadialNeurons:
        """Make a layer again from its stored arrays."""
        return cls(options, Scaling.restore(options.scaling, arrays), arrays['centres'],
                   arrays['gamma'].item(), arrays.get('whitener'))

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        arrays = {**super().arrays(), 'centres': self.centres, 'gamma': np.array([self.gamma])}
        if self.whitener is not None:
            arrays['whitener'] = self.whitener
        return arrays

    def own_neuron(self, hidden: Array) -> int:
        """Return the neuron that is centred on the sample of a hidden row; -1: none is."""
        answers = self.answers(hidden)
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
        return self._whiten(distances)

    def _whiten(self, answers: Array) -> Array:
        if self.whitener is None:
            return answers
        whitened: Array = self.blas.trmm(1.0, self.whitener.T, answers.T, trans_a=1,
                                         overwrite_b=1).T
        return whitened

    def _unwhiten(self, hidden: Array) -> Array:
        assert self.whitener is not None
        answers: Array = solve_lower(self.whitener, hidden)
        return answers

    def mutual_distances(self) -> Array:
        """Return the distances (neurons, neurons) between the centres."""
        return self.distances(self.centres)

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
        scaled, twice = self.scaling.apply(samples), np.concatenate((samples, samples), axis=1)
        apart: Array = np.empty((_SHIFTS, len(samples)))
        for shift in range(1, _SHIFTS + 1):
            start = (-shift) % self.width
            moved = self.scaling.apply(np.ascontiguousarray(twice[:, start:start + self.width]))
            moved = moved - scaled
            apart[shift - 1] = (np.abs(moved, out=moved) ** self.power).sum(axis=1)
        usual = _medians(apart)
        if not usual.all():
            usual = np.where(usual > 0.0, usual, apart.mean(axis=1))
        return float(usual.min())

    def kernel_distances(self, samples: Rows) -> list[Array]:
        """Return the distances (n, neurons) of samples, one array for each kernel of a neuron."""
        return [self._distances_of(samples)]

    def varied(self, options: Options, distances: Sequence[Array],
               places: Places) -> tuple[RadialNeurons, Array]:
        """Return neurons around the same centres in another width, and how they answer.

        Args:
            options: with that width, whitened or not.
            distances: of samples, as kernel_distances() returns them.
            places: of the centres among these samples.

        Returns:
            The layer, and its neurons (n, neurons) of these samples.
        """
        layer = self._in_width(options)
        answers = layer._answers_at(distances)
        if options.whiten:
            layer.whitener = layer._make_whitener(answers[places])
        return layer, layer._whiten(answers)

    def _in_width(self, options: Options) -> RadialNeurons:
        gamma = options.gamma or self.gamma * options.gamma_scale / self.options.gamma_scale
        return type(self)(options, self.scaling, self.centres, gamma)

    def _answers_at(self, distances: Sequence[Array]) -> Array:
        """Return the answers of the neurons, not whitened, to samples at these distances."""
        return self._answer(distances[0].copy())

    def _make_whitener(self, kernel: Array) -> Array:
        """Return L^-1, given the answers of the neurons to their centres."""
        kernel = kernel.astype(np.float64)
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
        if self._columns is None:
            self._columns = np.ascontiguousarray(self.centres.T)
        # z = nothing + changes, so that |z|^2 = |nothing|^2 + changes (changes + 2 nothing).
        changes, nothing = self.scaling.changes(samples), self.scaling.nothing
        products: Array = changes @ self._columns
        products += self.centres @ nothing
        squares = np.asarray(changes.multiply(changes).sum(axis=1)).ravel()
        squares += 2.0 * np.asarray(changes @ nothing).ravel() + float(nothing @ nothing)
        return self._complete(-2.0 * products, squares)

    def _complete(self, products: Array, squares: Array) -> Array:
        products += squares[:, np.newaxis]
        products += self._squares
        # Rounding may leave a distance of -1e-16.
        return np.maximum(products, 0.0, out=products)


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
                         and whitener is None and scaling.kind not in ('l2', 'rank'))
        self._columns: tuple[Array, Array] | None = None
        self._changes: Array | None = None

    def distances(self, scaled: Array) -> Array:
        """Return the distances (n, neurons) of scaled dense rows to the centres."""
        distances: Array = np.empty((len(scaled), self.neurons))
        absolute_differences(np.ascontiguousarray(scaled, dtype=np.float64), self._places,
                             distances)
        return distances.astype(self.options.dtype, copy=False)

    def mutual_distances(self) -> Array:
        """Return the distances (neurons, neurons) between the centres."""
        distances: Array = np.empty((self.neurons, self.neurons))
        mutual_differences(self._places, distances)
        return distances.astype(self.options.dtype, copy=False)

    def _fill_one(self, neurons: Array, vector: Array) -> None:
        if not self._at_once or compiled is None or self.whitener is not None:
            self._fill(neurons[np.newaxis], vector[np.newaxis])
            return
        compiled.negative_answers(vector, self.scaling.shift, self.scaling.factor, self._places,
                                  self.gamma, neurons, self.scaling.curved)
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
        nothing = self.scaling.nothing
        if self._columns is None:
            by_feature = np.ascontiguousarray(self.centres.T)
            self._columns = (by_feature,
                             np.abs(by_feature - nothing[:, np.newaxis]).sum(axis=0))
        columns, base = self._columns
        if not self.scaling.unit_rows and (samples.data == 1.0).all():
            return self._indicator_distances(samples)
        changes = self.scaling.changes(samples)
        distances: Array = np.tile(base, (samples.shape[0], 1))
        for place in range(samples.shape[0]):
            stored = slice(changes.indptr[place], changes.indptr[place + 1])
            features = changes.indices[stored]
            empty = nothing[features]
            near = columns[features]
            distances[place] += (np.abs(near - (empty + changes.data[stored])[:, np.newaxis])
                                 - np.abs(near - empty[:, np.newaxis])).sum(axis=0)
        return distances

    def _indicator_distances(self, samples: Rows) -> Array:
        """Do the same for rows of zeros and ones, where a one changes the same in every row."""
        assert self._columns is not None
        columns, base = self._columns
        if self._changes is None:
            at_one = self.scaling.apply(np.ones_like(self.scaling.shift))
            self._changes = (np.abs(columns - at_one[:, np.newaxis])
                             - np.abs(columns - self.scaling.nothing[:, np.newaxis]))
        distances: Array = samples @ self._changes
        distances += base
        # Rounding may leave a distance of -1e-16.
        return np.maximum(distances, 0.0, out=distances)


_KINDS: dict[str, type[RadialNeurons]] = {'laplacian': LaplacianNeurons, 'rbf': GaussianNeurons}


class KernelSum(RadialNeurons):
    """Activation 'kernel_sum': the mean of Laplacian and Gaussian, on scaled input and on ranks.

    A sum of kernels is a kernel: a neuron answers 1 to its centre alone, as each of the four does.
    """

    def __init__(self, options: Options, parts: Sequence[RadialNeurons],
                 whitener: Array | None = None) -> None:
        """Take the four layers of the same centres, and L^-1."""
        super().__init__(options, parts[0].scaling, parts[0].centres, parts[0].gamma, whitener)
        self.parts = tuple(parts)
        self._scalings = parts[0].scaling, parts[2].scaling

    @classmethod
    def draw(cls, options: Options, width: int, samples: Rows | None,
             order: Places | None = None, fitted: int | None = None) -> RadialNeurons:
        """Make neurons around samples; see RadialNeurons."""
        assert samples is not None
        parts = list[RadialNeurons]()
        for part in _parts(options):
            drawn = _KINDS[part.activation].draw(part, width, samples, order, fitted)
            drawn.drawn, order = None, drawn.made_of
            parts.append(drawn)
        layer = cls(options, parts)
        layer.made_of, layer.reach = parts[0].made_of, parts[0].reach
        if options.whiten:
            layer.whitener = layer._make_whitener(layer._rows(samples[layer.made_of]))
        return layer

    def is_near(self, answers: Array, vector: Array) -> bool:
        """Tell whether a dense sample is nearly a copy of a centre, by the first kernel."""
        return self.parts[0].is_near(self.parts[0].row(vector), vector)

    def _around(self, vector: Array, alone: bool = False) -> RadialNeurons:
        return KernelSum(self.options, [part._around(vector, alone) for part in self.parts])

    @classmethod
    def restore(cls, options: Options, arrays: dict[str, Array]) -> RadialNeurons:
        """Make a layer again from its stored arrays."""
        scaling = Scaling.restore(options.scaling, arrays)
        zeros = np.zeros_like(scaling.shift)
        ranks = Scaling('rank', zeros, zeros + 1.0, arrays['rank_knots'])
        parts = [_KINDS[part.activation](
            part, ranks if place > 1 else scaling,
            arrays['rank_centres' if place > 1 else 'centres'], arrays['gamma'][place].item())
            for place, part in enumerate(_parts(options))]
        return cls(options, parts, arrays.get('whitener'))

    def arrays(self) -> dict[str, Array]:
        """Return what has to be stored to make the same layer again."""
        ranks = self.parts[2]
        assert ranks.scaling.knots is not None
        return {**super().arrays(), 'rank_knots': ranks.scaling.knots,
                'rank_centres': ranks.centres,
                'gamma': np.array([part.gamma for part in self.parts])}

    def _row(self, vector: Array) -> Array:
        answers: Array = self._rows(vector[np.newaxis])[0]
        return answers

    def _rows(self, samples: Rows) -> Array:
        return self._whiten(self._mean_answers(self.kernel_distances(samples)))

    def kernel_distances(self, samples: Rows) -> list[Array]:
        """Return the distances (n, neurons) of samples, one array for each kernel of a neuron."""
        if is_sparse(samples):
            return [part.sparse_distances(samples) for part in self.parts]
        scaled = [scaling.apply(samples) for scaling in self._scalings]
        return [part.distances(scaled[place // 2]) for place, part in enumerate(self.parts)]

    def _in_width(self, options: Options) -> RadialNeurons:
        return KernelSum(options, [part._in_width(settings) for part, settings in zip(
            self.parts, _parts(options), strict=True)])

    def _answers_at(self, distances: Sequence[Array]) -> Array:
        return self._mean_answers([part.copy() for part in distances])

    def _mean_answers(self, distances: Sequence[Array]) -> Array:
        """Return the mean answers of the kernels; the distances are worked in."""
        first, *others = [part._answer(apart)
                          for part, apart in zip(self.parts, distances, strict=True)]
        for answers in others:
            first += answers
        first *= 1.0 / len(self.parts)
        return first

    def _distances_of(self, samples: Rows) -> Array:
        return self.parts[0]._distances_of(samples)


def _parts(options: Options) -> list[Options]:
    """Return the settings of the four kernels: first on scaled input, then on ranks."""
    return [replace(options, activation=activation, scaling=scaling, whiten=False, bias=False,
                    direct_links=False)
            for scaling in (options.scaling, 'rank') for activation in _KINDS]
