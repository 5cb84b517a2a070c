# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner behind ProEMLC: a hidden layer, the recursion, labels and decision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.calibration import Targets
from proemlc_ros.core.deciding.decider import Decider, KeptSample, Reservoir
from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.label_groups import GroupStep, LabelGroups, Mask
from proemlc_ros.core.labels import LabelColumns, SampleLabels
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.options import Options
from proemlc_ros.core.ridge import RecursiveRidge, make_ridge
from proemlc_ros.core.rows import Rows, checksum_of_vector
from proemlc_ros.core.sample_filter import LabelTokens, SampleFilter, labelled

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
    groups: LabelGroups | None
    tokens: LabelTokens


class Learner:
    """Learns validated samples; everything else is the business of ProEMLC.

    Column 0 of the weights is a label that nobody has named yet: absent (-1) in every complete
    annotation, unknown in the others. A new label starts as a copy of it, which is what learning
    it from the first sample on would have given: -M s with s the sum of the hidden rows of all
    complete samples, and M that of their group.

    ridge learns all samples and has the weights of all labels. As long as every annotation is
    complete there is nothing else; groups has the other matrices from the first partial one on.

    Args:
        options: settings.
        layer: hidden layer; a growing one is replaced by one with one more neuron.
        labels: names known from the start.
    """

    def __init__(self, options: Options, layer: HiddenLayer, labels: Iterable[str] = ()) -> None:
        self.options = options
        self.layer = layer
        self.labels = LabelColumns()
        self.ridge = make_ridge(layer.size, options.ridge, options.dtype, options.forgetting)
        self.decider = Decider(options.threshold)
        self.reservoir = Reservoir(options.forgetting)
        self.groups: LabelGroups | None = None
        self.sample_filter = SampleFilter()
        self.tokens = LabelTokens()
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
        checksum = labelled(checksum_of_vector(vector, annotation.complete),
                            self.tokens.total(annotation))
        self.learn_hidden(self.cached_sample(vector), annotation, checksum)
        self.sample_filter.add(checksum)

    def learn_hidden(self, sample: CachedSample, annotation: SampleLabels, checksum: int,
                     recorder: PrequentialRecorder | None = None) -> None:
        """Learn one sample, except for its entry in the sample filter.

        Args:
            sample: with its hidden row.
            annotation: its labels.
            checksum: of sample and labels.
            recorder: gets the prediction from before the sample is learnt.

        Raises:
            TooLargeError: before anything has changed.
        """
        known = len(self.labels)
        gain, leverage = sample.gain(self.ridge)
        self.ridge.check(leverage)
        steps = self._group_steps(sample.hidden, annotation)
        self.grow(annotation.named)
        scores = sample.outputs(self.ridge)
        if recorder is not None:
            recorder.record(self, known, sample)
        targets = self.targets(annotation)
        residual = self.residual(annotation, targets, scores)
        sample.forget()
        if self.groups is None:
            self.ridge.update(gain, leverage, residual)
        else:
            self.groups.learn(self.ridge, (gain, leverage), steps, residual,
                              _known_targets(annotation, targets), checksum)
        if self.reservoir.accepts(checksum, self.samples):
            said = targets[1:].astype(np.int8)
            if not self.reservoir.add_again(checksum, said, annotation.complete):
                self.reservoir.add(self.kept_sample(checksum, sample.hidden, said, annotation))
        self.count(annotation, 1)
        self.mass += self.layer.mass(sample.hidden)
        self.last_sum = sample.hidden
        self.decider.advance(self)

    def kept_sample(self, checksum: int, hidden: Array, targets: Targets,
                    annotation: SampleLabels) -> KeptSample:
        """Return a sample about to be counted as the reservoir keeps it; targets: of labels."""
        return KeptSample(checksum, hidden.astype(np.float32), targets, annotation.complete,
                          self.layer.own_neuron(hidden),
                          self.samples if self.options.forgetting < 1.0 else 0, 1)

    def check_rows(self, rows: Rows) -> None:
        """Reject samples that could not be learnt.

        Raises:
            TooLargeError: nothing has changed.
        """
        hidden = self.layer.rows(rows)
        leverages = np.einsum('ij,ji->i', hidden, self.ridge.gains(hidden))
        self.ridge.check(float(leverages.max()))

    def _group_steps(self, hidden: Array, annotation: SampleLabels) -> list[GroupStep]:
        """Return the gains of the groups that a sample informs; none without partial annotations.

        Raises:
            TooLargeError: before anything has changed.
        """
        if self.groups is None and annotation.complete:
            return []
        columns = self.labels.columns
        known: Mask | None = None
        if not annotation.complete:
            known = np.zeros(len(columns) + 1, dtype=bool)
            # A label that comes with the sample begins as the unnamed one, column 0.
            known[[columns.get(name, 0) for name in annotation.named]] = True
        groups = self.groups or LabelGroups(self.ridge, self.options.group_limit(self.layer.size))
        steps = groups.steps(hidden, known)
        for step in steps:
            step.group.ridge.check(step.leverage)
        self.groups = groups
        return steps

    def targets(self, annotation: SampleLabels) -> Array:
        """Return the target of each output (step 1 of the paper); 0: unknown."""
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
            residual[targets == 0.0] = 0.0
        return residual

    def count(self, annotation: SampleLabels, step: int) -> None:
        """Count a sample and its labels; step -1: no longer."""
        self.samples += step
        for name in annotation.present:
            self.labels.count(name, step)

    # ----- labels -----

    def grow(self, names: Iterable[str]) -> None:
        """Add an output for each name that is new."""
        new = list(dict.fromkeys([name for name in names if name not in self.labels.columns]))
        if not new:
            return
        weights = self._recalibration()
        for _ in new:
            if self.groups is None:
                self.ridge.add_output(weights)
            else:
                self.groups.add_output(self.ridge, weights)
        self.labels.add(*new)
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
        place = self.labels.columns[name]
        partial = self.groups is not None and place not in self.groups.complete.columns
        self.tokens.remove(name, partial or self.labels.counts[place - 1] > 0)
        self.ridge.remove_output(self.labels.remove(name))
        if self.groups is not None:
            self.groups.remove_output(place)
        self.reservoir.remove_label(place - 1)
        self.decider.remove_label(place - 1)

    # ----- whole -----

    @property
    def decision(self) -> Decision:
        """How scores become probabilities and labels."""
        return self.decider.decision

    @property
    def usual_mass(self) -> float:
        """|neurons|^2 of a learnt sample on average; 0: it does not tell anything."""
        return self.mass / self.samples if self.layer.radial and self.samples else 0.0

    @property
    def matrices(self) -> int:
        """How many matrices it needs: 1, and more where partial annotations inform labels."""
        return 1 if self.groups is None else 1 + len(self.groups)

    @property
    def approximate_labels(self) -> tuple[str, ...]:
        """Labels that have no matrix of their own, though partial annotations ask for one."""
        columns = [] if self.groups is None else self.groups.approximate(len(self.labels) + 1)
        return tuple(self.labels.names[column - 1] for column in columns)

    def forget_cached(self) -> None:
        """Drop the cached sample, since the weights have changed."""
        self._cached = None

    def start_again(self) -> None:
        """Go back to weights that have learnt nothing; the labels stay."""
        options = self.options
        self.ridge = make_ridge(self.layer.size, options.ridge, options.dtype, options.forgetting)
        for _ in self.labels.names:
            self.ridge.add_output()
        self.groups = None
        self.mass = 0.0

    def state(self) -> LearnerState:
        """Return a copy of everything that learning changes."""
        groups = None if self.groups is None else self.groups.copy()
        return LearnerState(self.ridge.copy(), self.labels.copy(), self.decider.copy(),
                            self.reservoir.copy(), self.sample_filter.copy(), self.samples,
                            self.mass, self.last_sum, groups, self.tokens.copy())

    def restore(self, state: LearnerState) -> None:
        """Put back what state() returned."""
        (self.ridge, self.labels, self.decider, self.reservoir, self.sample_filter, self.samples,
         self.mass, self.last_sum, self.groups, self.tokens) = state
        self.forget_cached()

    def copy(self) -> Learner:
        """Return an independent copy; the layer, which itself never changes, is shared."""
        twin = Learner(self.options, self.layer)
        twin.restore(self.state())
        return twin

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        layer = sum(array.nbytes for array in self.layer.arrays().values())
        groups = 0 if self.groups is None else self.groups.memory_bytes
        return (layer + self.ridge.memory_bytes + groups + self.sample_filter.counts.nbytes
                + self.buffer.nbytes + self.reservoir.memory_bytes)


def _known_targets(annotation: SampleLabels, targets: Array) -> Mask | None:
    """Return which outputs a sample informs; None: all."""
    return None if annotation.complete else targets != 0.0
