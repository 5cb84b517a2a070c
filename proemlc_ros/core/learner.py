# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner behind ProEMLC: a fixed hidden layer, the recursion, labels and thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.blocks import CHUNK, learn_blocks
from proemlc_ros.core.cached_sample import CachedSample
from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.sample_filter import SampleFilter, checksum_of_vector, checksums_of_rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.forgetting import ForgettingRidge
from proemlc_ros.core.solving.recursive import BLOCK, RecursiveRidge
from proemlc_ros.core.thresholds import Thresholds
from proemlc_ros.errors import ProEMLCError

if TYPE_CHECKING:
    from proemlc_ros.core.prequential import PrequentialRecorder


class LearnerState(NamedTuple):
    """Everything that learning changes."""

    ridge: RecursiveRidge
    labels: LabelColumns
    thresholds: Thresholds
    ledger: SampleFilter
    samples: int
    mass: float
    last_sum: Array


class Learner:
    """Learns checked rows with checked annotations; everything else is ProEMLC's business.

    Column 0 of the weights is a label that nobody has named yet: absent (-1) in every complete
    annotation, neutral (0) in the others. A label that turns up starts as a copy of it, which is
    what learning it from the first sample on would have given: -M s with s the sum of the hidden
    rows of all complete samples.
    """

    def __init__(self, options: Options, layer: HiddenLayer, labels: Iterable[str] = ()) -> None:
        """Start with nothing learnt."""
        self.options = options
        self.layer = layer
        self.labels = LabelColumns()
        self.ridge = make_ridge(options, layer.size)
        self.thresholds = Thresholds(options.threshold, options.forgetting)
        self.ledger = SampleFilter()
        self.samples = 0
        # Sum of |neurons|^2 over the learnt samples: how much the layer answers to known input.
        self.mass = 0.0
        # Sum of the hidden rows of the last chunk, for eqs 15-19.
        self.last_sum: Array = np.zeros(layer.size, dtype=options.dtype)
        self._probe: CachedSample | None = None
        self._room: Array = np.empty((0, layer.size), dtype=options.dtype)
        self.grow(labels)

    # ----- one sample -----

    def probe(self, vector: Array) -> CachedSample:
        """Return what the model makes of one dense sample, remembered until it changes."""
        content = vector.tobytes()
        known = self._probe
        if known is None or known.content != content:
            known = self._probe = CachedSample(content, self.layer.row(vector))
        return known

    def learn_one(self, vector: Array, said: SampleLabels) -> None:
        """Learn one dense sample."""
        self._learn_hidden(self.probe(vector), said)
        self.ledger.add(checksum_of_vector(vector, said.complete))

    def _learn_hidden(self, probe: CachedSample, said: SampleLabels, trial: PrequentialRecorder | None = None) -> None:
        known = len(self.labels)
        gain, leverage = probe.gain(self.ridge)
        self.ridge.check(leverage)
        self.grow(said.named)
        scores = probe.outputs(self.ridge)
        if trial is not None:
            trial.record(self, known, scores, leverage, probe.hidden)
        targets = self.targets(said)
        residual = self.residual(said, targets, scores)
        if self.thresholds.learns and (said.complete or said.named):
            self.thresholds.observe(self.judged(said, targets, scores), targets[1:] > 0.0)
        probe.forget()
        self.ridge.update(gain, leverage, residual)
        self.count(said, 1)
        self.mass += self.layer.mass(probe.hidden)
        self.last_sum = probe.hidden

    def targets(self, said: SampleLabels) -> Array:
        """Return the target of each output (step 1 of the paper); 0: unknown or neutral."""
        columns = self.labels.columns
        targets = np.empty(len(columns) + 1, dtype=self.options.dtype)
        targets.fill(-1.0 if said.complete else 0.0)
        for name in said.present:
            targets[columns[name]] = 1.0
        if not said.complete:
            for name in said.absent:
                targets[columns[name]] = -1.0
        return targets

    def residual(self, said: SampleLabels, targets: Array, scores: Array) -> Array:
        """Return target - output where the annotation says something about the output."""
        residual = targets - scores
        if not said.complete:
            # Unknown outputs keep their weights; the unnamed label's target is 0 (neutral).
            residual[1:][targets[1:] == 0.0] = 0.0
        return residual

    def judged(self, said: SampleLabels, targets: Array, scores: Array) -> Array:
        """Return the scores that thresholds are found from: of known answers, of labels seen."""
        judged: Array = scores[1:] + self.labels.handicap
        if not said.complete:
            judged[targets[1:] == 0.0] = -np.inf
        return judged

    def start_again(self) -> None:
        """Go back to weights that have learnt nothing; the labels stay."""
        self.ridge = make_ridge(self.options, self.layer.size)
        for _ in self.labels.names:
            self.ridge.add_output()
        self.mass = 0.0

    def grow(self, names: Iterable[str]) -> None:
        """Add an output for each name that is new."""
        for name in names:
            if name not in self.labels.columns:
                self.ridge.add_output(self._recalibration())
                self.labels.add(name)
                if self._probe is not None:
                    self._probe.forget_outputs()

    def _recalibration(self) -> Array | None:
        """Return the weights of a new label; None: those of the unnamed one, which is exact."""
        if self.options.recalibration == 'exact':
            return None
        # Eqs 15-19: -M_k h_k^T J, which sees the last chunk only.
        gain, _ = self.ridge.gain(self.last_sum)
        return -gain

    def count(self, said: SampleLabels, step: int) -> None:
        """Count a sample and its labels; step -1: no longer."""
        self.samples += step
        for name in said.present:
            self.labels.count(name, step)

    # ----- several samples -----

    def hidden_rows(self, rows: Rows) -> Array:
        """Return the hidden rows of samples, in memory that the next call uses again.

        To be handed new memory each time would take a tenth of the time of learning.
        """
        count = rows.shape[0]
        if count > CHUNK:
            return self.layer.rows(rows)
        if len(self._room) < count:
            self._room = np.empty((count, self.layer.size), dtype=self.options.dtype)
        return self.layer.rows(rows, self._room[:count])

    def learn_rows(self, rows: Rows, annotations: list[SampleLabels],
                   trial: PrequentialRecorder | None = None) -> None:
        """Learn samples in order; complete ones in blocks, which gives the same result.

        trial: where to note what was said about each sample just before it was learnt.
        """
        savepoint = Savepoint(self)
        runs = list(_runs(annotations))
        try:
            for start, stop, complete in runs:
                if len(runs) > 1:
                    savepoint.set()
                part, said = rows[start:stop], annotations[start:stop]
                if complete and self.options.forgetting == 1.0 and stop - start > 1:
                    self._probe = None
                    learn_blocks(self, part, said, trial, savepoint)
                else:
                    self._learn_each(part, said, trial, savepoint)
        except ProEMLCError:
            savepoint.restore()
            raise
        self.ledger.add_all(checksums_of_rows(rows, [said.complete for said in annotations]))

    def _learn_each(self, rows: Rows, annotations: list[SampleLabels], trial: PrequentialRecorder | None,
                    savepoint: Savepoint) -> None:
        if len(annotations) > 1:
            savepoint.set()
        for start in range(0, rows.shape[0], BLOCK):
            block = annotations[start:start + BLOCK]
            for hidden, said in zip(self.layer.rows(rows[start:start + BLOCK]), block):
                self._probe = None
                self._learn_hidden(CachedSample(b'', hidden.copy()), said, trial)

    def learn_pseudo_inverse(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        """Learn the first samples without ridge (eqs 5, 11-12), of whatever rank they are."""
        self.grow(name for said in annotations for name in said.present)
        hidden = self.layer.rows(rows)
        self.ridge.start_from(hidden, np.array([self.targets(said) for said in annotations]))
        for said in annotations:
            self.count(said, 1)
        self.mass += float(self.layer.masses(hidden).sum())
        self.ledger.add_all(checksums_of_rows(rows, [True] * len(annotations)))
        self.last_sum = hidden.sum(axis=0)

    # ----- labels -----

    def changed(self) -> None:
        """Forget what was remembered of the last sample; the model has changed."""
        self._probe = None

    def remove_label(self, name: str) -> None:
        """Forget a label."""
        self.changed()
        self.thresholds.settle()
        self.ridge.remove_output(self.labels.remove(name))

    # ----- whole -----

    def state(self) -> LearnerState:
        """Return a copy of everything that learning changes."""
        return LearnerState(self.ridge.copy(), self.labels.copy(), self.thresholds.copy(),
                     self.ledger.copy(), self.samples, self.mass, self.last_sum)

    def restore(self, state: LearnerState) -> None:
        """Put back what state() returned."""
        (self.ridge, self.labels, self.thresholds, self.ledger, self.samples, self.mass,
         self.last_sum) = state
        self._probe = None

    def copy(self) -> Learner:
        """Return an independent copy; the layer, which never changes, is shared."""
        twin = Learner(self.options, self.layer)
        twin.restore(self.state())
        return twin

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        layer = sum(array.nbytes for array in self.layer.arrays().values())
        return (layer + self.ridge.memory_bytes + self.ledger.counts.nbytes
                + self._room.nbytes)


class Savepoint:
    """A learner's state to go back to, copied only if it is needed."""

    def __init__(self, learner: Learner) -> None:
        """Keep nothing yet."""
        self._learner = learner
        self._state: LearnerState | None = None

    def set(self) -> None:
        """Keep the state as it is now, unless one is kept already."""
        if self._state is None:
            self._state = self._learner.state()

    def restore(self) -> None:
        """Go back to the state kept, if there is one; without one nothing has changed."""
        if self._state is not None:
            self._learner.restore(self._state)


def make_ridge(options: Options, size: int) -> RecursiveRidge:
    """Return the recursion that the options ask for, with nothing learnt."""
    if options.forgetting < 1.0:
        return ForgettingRidge(size, options.ridge, options.dtype, options.forgetting)
    return RecursiveRidge(size, options.ridge, options.dtype)


def _runs(annotations: list[SampleLabels]) -> Iterator[tuple[int, int, bool]]:
    """Yield stretches of complete and of incomplete annotations: start, stop, complete."""
    start = 0
    for stop in range(1, len(annotations) + 1):
        if stop == len(annotations) or annotations[stop].complete != annotations[start].complete:
            yield start, stop, annotations[start].complete
            start = stop
