# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner behind ProEMLC: a fixed hidden layer, the recursion, labels and thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.blas import Array
from proemlc_ros.core.forgetting import ForgettingRidge
from proemlc_ros.core.hidden import HiddenLayer
from proemlc_ros.core.labels import Annotation, LabelTable
from proemlc_ros.core.ledger import Ledger, checksum_of_vector, checksums_of_rows
from proemlc_ros.core.options import Options
from proemlc_ros.core.recursive import BLOCK, Block, RecursiveRidge
from proemlc_ros.core.rows import Rows, other_form
from proemlc_ros.core.thresholds import Thresholds
from proemlc_ros.errors import NeverLearntError, ProEMLCError

if TYPE_CHECKING:
    from proemlc_ros.core.trial import Trial


class _State(NamedTuple):
    """What has to be put back when a change fails midway."""

    ridge: RecursiveRidge
    labels: LabelTable
    thresholds: Thresholds
    ledger: Ledger
    samples: int
    last_sum: Array


class Learner:
    """Learns checked rows with checked annotations; everything else is ProEMLC's business.

    Column 0 of the weights is a label that nobody has named yet: absent (-1) in every complete
    annotation, neutral (0) in the others. A label that turns up starts as a copy of it, which is
    what learning it from the first sample on would have given: -M s with s the sum of the hidden
    rows of all complete samples.
    """

    def __init__(self, options: Options, layer: HiddenLayer, labels: LabelTable) -> None:
        """Start with nothing learnt."""
        self.options = options
        self.layer = layer
        self.labels = LabelTable()
        self.ridge = make_ridge(options, layer.size)
        self.thresholds = Thresholds(options.threshold)
        self.ledger = Ledger()
        self.samples = 0
        # Sum of the hidden rows of the last chunk, for eqs 15-19.
        self.last_sum: Array = np.zeros(layer.size, dtype=options.dtype)
        for name in labels.names:
            self._grow((name,))

    # ----- learning -----

    def learn_one(self, vector: Array, said: Annotation) -> None:
        """Learn one dense sample."""
        self._learn_hidden(self.layer.row(vector), said)
        self.ledger.add(checksum_of_vector(vector, said.complete))

    def learn_rows(self, rows: Rows, annotations: list[Annotation],
                   trial: Trial | None = None) -> None:
        """Learn samples in order; complete ones in blocks, which gives the same result.

        trial: where to note what was said about each sample just before it was learnt.
        """
        before = self._state() if rows.shape[0] > BLOCK or not _alike(annotations) else None
        try:
            for start, stop, complete in _runs(annotations):
                learn = self._learn_blocks if complete and self.options.forgetting == 1.0 else (
                    self._learn_each)
                learn(rows[start:stop], annotations[start:stop], trial)
            for checksum in checksums_of_rows(rows, [said.complete for said in annotations]):
                self.ledger.add(checksum)
        except ProEMLCError:
            if before is not None:
                self._restore(before)
            raise

    def learn_pseudo_inverse(self, rows: Rows, annotations: list[Annotation]) -> None:
        """Learn the first samples without ridge (eqs 5, 11-12), of whatever rank they are."""
        self._grow(name for said in annotations for name in said.present)
        hidden = self.layer.rows(rows)
        targets = np.array([self._targets(said) for said in annotations])
        self.ridge.start_from(hidden, targets)
        for said in annotations:
            self._count(said, 1)
        for checksum in checksums_of_rows(rows, [True] * len(annotations)):
            self.ledger.add(checksum)
        self.last_sum = hidden.sum(axis=0)

    def _learn_hidden(self, hidden: Array, said: Annotation, trial: Trial | None = None) -> None:
        known = len(self.labels)
        gain, leverage = self.ridge.gain(hidden)
        self.ridge.check(leverage)
        self._grow(said.present if said.complete else said.present + said.absent)
        scores = self.ridge.outputs(hidden)
        if trial is not None:
            trial.record(self, known, scores, leverage, float(hidden.dot(hidden)))
        targets = self._targets(said)
        residual = targets - scores
        if not said.complete:
            # Unknown outputs keep their weights; the unnamed label's target is 0 (neutral).
            residual[1:][targets[1:] == 0.0] = 0.0
        self.thresholds.observe(scores[np.newaxis], targets[np.newaxis], said.complete)
        self.ridge.update(gain, leverage, residual)
        self._count(said, 1)
        self.last_sum = hidden

    def _learn_each(self, rows: Rows, annotations: list[Annotation], trial: Trial | None) -> None:
        for start in range(0, rows.shape[0], BLOCK):
            block = annotations[start:start + BLOCK]
            for hidden, said in zip(self.layer.rows(rows[start:start + BLOCK]), block):
                self._learn_hidden(hidden, said, trial)

    def _learn_blocks(self, rows: Rows, annotations: list[Annotation],
                      trial: Trial | None) -> None:
        chunk_sum = np.zeros_like(self.last_sum)
        known = 0
        names = dict.fromkeys(name for said in annotations for name in said.present)
        for start in range(0, rows.shape[0], BLOCK):
            hidden = self.layer.rows(rows[start:start + BLOCK])
            prepared = self.ridge.prepare_rows(hidden)
            known = len(self.labels) if start == 0 else known
            self._grow(names)
            block = annotations[start:start + BLOCK]
            targets = np.array([self._targets(said) for said in block])
            scores = targets - self.ridge.update_rows(hidden, prepared, targets)
            if trial is None:
                self.thresholds.observe(scores, targets, True)
            else:
                known = self._try_block(trial, known, block, scores, targets, hidden, prepared)
            for said in block:
                self._count(said, 1)
            chunk_sum += hidden.sum(axis=0)
        self.last_sum = chunk_sum

    def _try_block(self, trial: Trial, known: int, block: list[Annotation], scores: Array,
                   targets: Array, hidden: Array, prepared: Block) -> int:
        """Note each row as it was when its turn came; returns how many labels were known then."""
        # The diagonal of L L^T, row by row: 1 + hMh with M just before the row.
        leverages = prepared.factor.diagonal() ** 2 - 1.0
        squares = np.einsum('ij,ij->i', hidden, hidden)
        for place, said in enumerate(block):
            trial.record(self, known, scores[place], leverages[place], squares[place])
            self.thresholds.observe(scores[place:place + 1], targets[place:place + 1], True)
            known = max([known, *(self.labels.columns[name] for name in said.present)])
        return known

    def _targets(self, said: Annotation) -> Array:
        """Return the target of each output (step 1 of the paper); 0: unknown or neutral."""
        columns = self.labels.columns
        targets = np.full(len(columns) + 1, -1.0 if said.complete else 0.0,
                          dtype=self.options.dtype)
        for name in said.present:
            targets[columns[name]] = 1.0
        if not said.complete:
            for name in said.absent:
                targets[columns[name]] = -1.0
        return targets

    def _grow(self, names: Iterable[str]) -> None:
        """Add an output for each name that is new."""
        for name in names:
            if name not in self.labels.columns:
                self.labels.add(name)
                self.ridge.add_output(self._recalibration())
                self.thresholds.add_output()

    def _recalibration(self) -> Array | None:
        """Return the weights of a new label; None: those of the unnamed one, which is exact."""
        if self.options.recalibration == 'exact':
            return None
        # Eqs 15-19: -M_k h_k^T J, which sees the last chunk only.
        gain, _ = self.ridge.gain(self.last_sum)
        return -gain

    def _count(self, said: Annotation, step: int) -> None:
        self.samples += step
        for name in said.present:
            self.labels.counts[self.labels.columns[name] - 1] += step

    # ----- unlearning -----

    def unlearn_rows(self, rows: Rows, annotations: list[Annotation]) -> None:
        """Take samples back, the last one first; all of them or none.

        Raises:
            UnlearnError: when one was never learnt; nothing has changed then.
        """
        forgets = self.options.forgetting < 1.0
        before = self._state() if rows.shape[0] > 1 or forgets else None
        try:
            for place in range(rows.shape[0] - 1, -1, -1):
                self._unlearn_row(rows[place:place + 1], annotations[place])
        except ProEMLCError:
            if before is not None:
                self._restore(before)
            raise

    def _unlearn_row(self, row: Rows, said: Annotation) -> None:
        self._check_labels(said)
        checksum = self._find(row, said)
        hidden = self.layer.rows(row)[0]
        self.ridge.rewind()
        gain, leverage = self.ridge.gain(hidden)
        scores = self.ridge.outputs(hidden)
        targets = self._targets(said)
        residual = targets - scores
        if not said.complete:
            residual[1:][targets[1:] == 0.0] = 0.0
        self.ridge.downdate(gain, leverage, residual)
        # What the scores were before the sample had been learnt.
        earlier = scores - residual * (leverage / (1.0 - leverage))
        self.thresholds.observe(earlier[np.newaxis], targets[np.newaxis], said.complete, -1)
        self.ledger.remove(checksum)
        self._count(said, -1)

    def _find(self, row: Rows, said: Annotation) -> int:
        """Return the checksum under which the sample was learnt, as dense or as sparse row."""
        for form in (row, other_form(row)):
            checksum, = checksums_of_rows(form, [said.complete])
            if checksum in self.ledger:
                return checksum
        raise NeverLearntError('the sample was never learnt, or not with this value of complete; '
                               'give the values and labels it was learnt with')

    def _check_labels(self, said: Annotation) -> None:
        if self.samples == 0:
            raise NeverLearntError('nothing has been learnt, so nothing can be unlearnt')
        named = said.present if said.complete else said.present + said.absent
        for name in named:
            if name not in self.labels.columns:
                raise NeverLearntError(f'no learnt sample showed {name!r}, so this one was never '
                                       'learnt; give the labels it was learnt with')
        for name in said.present:
            if self.labels.counts[self.labels.columns[name] - 1] == 0:
                raise NeverLearntError(f'no learnt sample is left that shows {name!r}; '
                                       'give the labels the sample was learnt with')

    # ----- labels -----

    def add_label(self, name: str) -> None:
        """Make a label known that no sample has shown."""
        self._grow((name,))

    def remove_label(self, name: str) -> None:
        """Forget a label."""
        column = self.labels.remove(name)
        self.ridge.remove_output(column)
        self.thresholds.remove_output(column)

    # ----- all or nothing -----

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        layer = sum(array.nbytes for array in self.layer.arrays().values())
        return (layer + self.ridge.memory_bytes + self.thresholds.histogram.nbytes
                + self.ledger.counts.nbytes)

    def copy(self) -> Learner:
        """Return an independent copy; the layer, which never changes, is shared."""
        twin = Learner(self.options, self.layer, LabelTable())
        twin._restore(self._state())
        return twin

    def calibrate(self, rows: Rows, annotations: list[Annotation]) -> None:
        """Learn the thresholds anew from the leave-one-out scores of learnt samples.

        Without its sample, a score is y - (y - score) / (1 - hMh): no refit is needed.
        """
        thresholds = self.thresholds.emptied()
        for start in range(0, rows.shape[0], BLOCK):
            hidden = self.layer.rows(rows[start:start + BLOCK])
            leverages = np.einsum('ij,ji->i', hidden, self.ridge.gains(hidden))
            outputs = self.ridge.outputs_of_rows(hidden)
            left = np.maximum(1.0 - leverages, np.finfo(outputs.dtype).eps)
            for place, said in enumerate(annotations[start:start + BLOCK]):
                targets = self._targets(said)
                scores = targets - (targets - outputs[place]) / left[place]
                thresholds.observe(scores[np.newaxis], targets[np.newaxis], said.complete)
        self.thresholds = thresholds

    def _state(self) -> _State:
        return _State(self.ridge.copy(), self.labels.copy(), self.thresholds.copy(),
                      self.ledger.copy(), self.samples, self.last_sum)

    def _restore(self, state: _State) -> None:
        (self.ridge, self.labels, self.thresholds, self.ledger, self.samples,
         self.last_sum) = state


def make_ridge(options: Options, size: int) -> RecursiveRidge:
    """Return the recursion that the options ask for, with nothing learnt."""
    if options.forgetting < 1.0:
        return ForgettingRidge(size, options.ridge, options.dtype, options.forgetting)
    return RecursiveRidge(size, options.ridge, options.dtype)


def _alike(annotations: list[Annotation]) -> bool:
    return all(said.complete for said in annotations)


def _runs(annotations: list[Annotation]) -> Iterator[tuple[int, int, bool]]:
    """Yield stretches of complete and of incomplete annotations: start, stop, complete."""
    start = 0
    for stop in range(1, len(annotations) + 1):
        if stop == len(annotations) or annotations[stop].complete != annotations[start].complete:
            yield start, stop, annotations[start].complete
            start = stop
