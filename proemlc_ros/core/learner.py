# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner behind ProEMLC: a fixed hidden layer, the recursion, labels and decision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.deciding.decider import Decider
from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.deciding.reservoir import KeptSample, Reservoir
from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.options import Options
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.forgetting import ForgettingRidge
from proemlc_ros.core.solving.recursive import RecursiveRidge
from proemlc_ros.core.unlearning import SampleFilter, checksum_of_vector

if TYPE_CHECKING:
    from proemlc_ros.core.prediction import PrequentialRecorder


class CachedSample:
    """Hidden row, gain and outputs of one sample; a prediction and the learning after it share it.

    Args:
        content: bytes of the sample, by which it is found again.
        hidden: its hidden row.
    """

    __slots__ = ('_gain', '_outputs', 'content', 'hidden')

    def __init__(self, content: bytes, hidden: Array) -> None:
        self.content = content
        self.hidden = hidden
        self._gain: tuple[Array, float] | None = None
        self._outputs: Array | None = None

    def gain(self, ridge: RecursiveRidge) -> tuple[Array, float]:
        """Return M h and the leverage hMh."""
        if self._gain is None:
            self._gain = ridge.gain(self.hidden)
        return self._gain

    def outputs(self, ridge: RecursiveRidge) -> Array:
        """Return the outputs, unnamed label first."""
        if self._outputs is None:
            self._outputs = ridge.outputs(self.hidden)
        return self._outputs

    def forget(self) -> None:
        """Drop gain and outputs before the weights change; the hidden row stays valid."""
        self._gain = self._outputs = None

    def forget_outputs(self) -> None:
        """Drop the outputs when their number changes."""
        self._outputs = None


class LearnerState(NamedTuple):
    """Everything that learning changes."""

    ridge: RecursiveRidge
    labels: LabelColumns
    decider: Decider
    reservoir: Reservoir
    sample_filter: SampleFilter
    samples: int
    mass: float
    last_sum: Array


class Learner:
    """Learns validated samples; everything else is the business of ProEMLC.

    Column 0 of the weights is a label that nobody has named yet: absent (-1) in every complete
    annotation, neutral (0) in the others. A new label starts as a copy of it, which is what
    learning it from the first sample on would have given: -M s with s the sum of the hidden rows
    of all complete samples.

    Args:
        options: settings.
        layer: hidden layer; it never changes.
        labels: names known from the start.
    """

    def __init__(self, options: Options, layer: HiddenLayer, labels: Iterable[str] = ()) -> None:
        self.options = options
        self.layer = layer
        self.labels = LabelColumns()
        self.ridge = _make_ridge(options, layer.size)
        self.decider = Decider(options.threshold)
        self.reservoir = Reservoir(options.forgetting)
        self.sample_filter = SampleFilter()
        self.samples = 0
        # Sum of |neurons|^2 over the learnt samples: how much the layer answers to known input.
        self.mass = 0.0
        # Sum of the hidden rows of the last chunk, for eqs 15-19.
        self.last_sum: Array = np.zeros(layer.size, dtype=options.dtype)
        # Memory that the hidden rows of each chunk use again.
        self.buffer: Array = np.empty((0, layer.size), dtype=options.dtype)
        self._cached: CachedSample | None = None
        self.grow(labels)

    # ----- one sample -----

    def cached_sample(self, vector: Array) -> CachedSample:
        """Return hidden row, gain and outputs of one dense sample, cached until another comes."""
        content = vector.tobytes()
        cached = self._cached
        if cached is None or cached.content != content:
            cached = self._cached = CachedSample(content, self.layer.row(vector))
        return cached

    def learn_one(self, vector: Array, annotation: SampleLabels) -> None:
        """Learn one dense sample."""
        checksum = checksum_of_vector(vector, annotation.complete)
        self.learn_hidden(self.cached_sample(vector), annotation, checksum)
        self.sample_filter.add(checksum)

    def learn_hidden(self, sample: CachedSample, annotation: SampleLabels, checksum: int,
                     recorder: PrequentialRecorder | None = None) -> None:
        """Learn one sample, except for its entry in the sample filter.

        Args:
            sample: with its hidden row.
            annotation: its labels.
            checksum: of the sample.
            recorder: gets the prediction from before the sample is learnt.

        Raises:
            TooLargeError: before anything has changed.
        """
        known = len(self.labels)
        gain, leverage = sample.gain(self.ridge)
        self.ridge.check(leverage)
        self.grow(annotation.named)
        scores = sample.outputs(self.ridge)
        if recorder is not None:
            recorder.record(self, known, sample)
        targets = self.targets(annotation)
        residual = self.residual(annotation, targets, scores)
        sample.forget()
        self.ridge.update(gain, leverage, residual)
        if self.reservoir.accepts(checksum, self.samples):
            self.reservoir.add(self.kept_sample(checksum, sample.hidden, targets, annotation))
        self.count(annotation, 1)
        self.mass += self.layer.mass(sample.hidden)
        self.last_sum = sample.hidden
        self.decider.advance(self)

    def kept_sample(self, checksum: int, hidden: Array, targets: Array,
                    annotation: SampleLabels) -> KeptSample:
        """Return a sample about to be counted as the reservoir keeps it; targets: of outputs."""
        own = self.layer.own_neuron(hidden)
        return KeptSample(checksum, hidden.astype(np.float32), targets[1:].astype(np.int8), annotation.complete, own,
                          self.samples if self.options.forgetting < 1.0 else 0, 1)

    def targets(self, annotation: SampleLabels) -> Array:
        """Return the target of each output (step 1 of the paper); 0: unknown or neutral."""
        columns = self.labels.columns
        targets = np.empty(len(columns) + 1, dtype=self.options.dtype)
        targets.fill(-1.0 if annotation.complete else 0.0)
        for name in annotation.present:
            targets[columns[name]] = 1.0
        if not annotation.complete:
            for name in annotation.absent:
                targets[columns[name]] = -1.0
        return targets

    def residual(self, annotation: SampleLabels, targets: Array, scores: Array) -> Array:
        """Return target - output where the annotation tells the target, else 0."""
        residual = targets - scores
        if not annotation.complete:
            # Unknown outputs keep their weights; the unnamed label's target is 0 (neutral).
            residual[1:][targets[1:] == 0.0] = 0.0
        return residual

    def count(self, annotation: SampleLabels, step: int) -> None:
        """Count a sample and its labels; step -1: no longer."""
        self.samples += step
        for name in annotation.present:
            self.labels.count(name, step)

    # ----- labels -----

    def grow(self, names: Iterable[str]) -> None:
        """Add an output for each name that is new."""
        for name in names:
            if name not in self.labels.columns:
                self.ridge.add_output(self._recalibration())
                self.labels.add(name)
                self.decider.add_labels(len(self.labels))
                if self._cached is not None:
                    self._cached.forget_outputs()

    def _recalibration(self) -> Array | None:
        """Return the weights of a new label; None: those of the unnamed one, which is exact."""
        if self.options.recalibration == 'exact':
            return None
        # Eqs 15-19: -M_k h_k^T J, which sees the last chunk only.
        gain, _ = self.ridge.gain(self.last_sum)
        return -gain

    def remove_label(self, name: str) -> None:
        """Forget a label."""
        self.forget_cached()
        column = self.labels.remove(name)
        self.ridge.remove_output(column)
        self.reservoir.remove_label(column - 1)
        self.decider.remove_label(column - 1)

    # ----- whole -----

    @property
    def decision(self) -> Decision:
        """How scores become probabilities and labels."""
        return self.decider.decision

    @property
    def usual_mass(self) -> float:
        """|neurons|^2 of a learnt sample on average; 0: it does not tell anything."""
        return self.mass / self.samples if self.layer.radial and self.samples else 0.0

    def forget_cached(self) -> None:
        """Drop the cached sample, since the weights have changed."""
        self._cached = None

    def start_again(self) -> None:
        """Go back to weights that have learnt nothing; the labels stay."""
        self.ridge = _make_ridge(self.options, self.layer.size)
        for _ in self.labels.names:
            self.ridge.add_output()
        self.mass = 0.0

    def state(self) -> LearnerState:
        """Return a copy of everything that learning changes."""
        return LearnerState(self.ridge.copy(), self.labels.copy(), self.decider.copy(),
                            self.reservoir.copy(), self.sample_filter.copy(), self.samples,
                            self.mass, self.last_sum)

    def restore(self, state: LearnerState) -> None:
        """Put back what state() returned."""
        (self.ridge, self.labels, self.decider, self.reservoir, self.sample_filter, self.samples,
         self.mass, self.last_sum) = state
        self.forget_cached()

    def copy(self) -> Learner:
        """Return an independent copy; the layer, which never changes, is shared."""
        twin = Learner(self.options, self.layer)
        twin.restore(self.state())
        return twin

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        layer = sum(array.nbytes for array in self.layer.arrays().values())
        return (layer + self.ridge.memory_bytes + self.sample_filter.counts.nbytes
                + self.buffer.nbytes + self.reservoir.memory_bytes)


def _make_ridge(options: Options, size: int) -> RecursiveRidge:
    """Return the recursion that the options ask for, with nothing learnt."""
    if options.forgetting < 1.0:
        return ForgettingRidge(size, options.ridge, options.dtype, options.forgetting)
    return RecursiveRidge(size, options.ridge, options.dtype)
