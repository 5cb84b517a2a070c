# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner behind ProEMLC: a fixed hidden layer, the recursion, labels and thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.blas import Array
from proemlc_ros.core.forgetting import ForgettingRidge
from proemlc_ros.core.hidden import HiddenLayer
from proemlc_ros.core.labels import Annotation, LabelTable
from proemlc_ros.core.ledger import Ledger, checksum_of_vector, checksums_of_rows
from proemlc_ros.core.options import Options
from proemlc_ros.core.recursive import BLOCK, RecursiveRidge
from proemlc_ros.core.rows import Rows, other_form
from proemlc_ros.core.thresholds import Thresholds
from proemlc_ros.errors import NeverLearntError, ProEMLCError


class Classification(NamedTuple):
    """What a model says about one sample."""

    labels: tuple[str, ...]  # predicted, best score first
    scores: Array  # one for each known label
    novelty: float  # 0: well known, 1: nothing like it was learnt
    names: tuple[str, ...]  # of all known labels, in the order of scores


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

    def learn_rows(self, rows: Rows, annotations: list[Annotation]) -> None:
        """Learn samples in order; complete ones in blocks, which gives the same result."""
        before = self._state() if rows.shape[0] > BLOCK or not _alike(annotations) else None
        try:
            for start, stop, complete in _runs(annotations):
                learn = self._learn_blocks if complete and self.options.forgetting == 1.0 else (
                    self._learn_each)
                learn(rows[start:stop], annotations[start:stop])
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

    def _learn_hidden(self, hidden: Array, said: Annotation) -> None:
        gain, leverage = self.ridge.gain(hidden)
        self.ridge.check(leverage)
        self._grow(said.present if said.complete else said.present + said.absent)
        scores = self.ridge.outputs(hidden)
        targets = self._targets(said)
        residual = targets - scores
        if not said.complete:
            # Unknown outputs keep their weights; the unnamed label's target is 0 (neutral).
            residual[1:][targets[1:] == 0.0] = 0.0
        self.thresholds.observe(scores[np.newaxis], targets[np.newaxis], said.complete)
        self.ridge.update(gain, leverage, residual)
        self._count(said, 1)
        self.last_sum = hidden

    def _learn_each(self, rows: Rows, annotations: list[Annotation]) -> None:
        for hidden, said in zip(self.layer.rows(rows), annotations):
            self._learn_hidden(np.ascontiguousarray(hidden), said)

    def _learn_blocks(self, rows: Rows, annotations: list[Annotation]) -> None:
        chunk_sum = np.zeros_like(self.last_sum)
        names = dict.fromkeys(name for said in annotations for name in said.present)
        for start in range(0, rows.shape[0], BLOCK):
            hidden = self.layer.rows(rows[start:start + BLOCK])
            prepared = self.ridge.prepare_rows(hidden)
            self._grow(names)
            block = annotations[start:start + BLOCK]
            targets = np.array([self._targets(said) for said in block])
            residuals = self.ridge.update_rows(hidden, prepared, targets)
            self.thresholds.observe(targets - residuals, targets, True)
            for said in block:
                self._count(said, 1)
            chunk_sum += hidden.sum(axis=0)
        self.last_sum = chunk_sum

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

    # ----- reading -----

    def scores(self, rows: Rows) -> Array:
        """Return the scores (n, labels)."""
        return np.ascontiguousarray(self.ridge.outputs_of_rows(self.layer.rows(rows))[:, 1:])

    def predict(self, rows: Rows) -> list[tuple[str, ...]]:
        """Return the predicted labels of each row, best score first."""
        scores = self.scores(rows)
        return [self._names_of(row, chosen)
                for row, chosen in zip(scores, self.thresholds.decide(scores))]

    def novelty(self, rows: Rows) -> Array:
        """Return how unlike everything learnt each row is."""
        hidden = self.layer.rows(rows)
        leverages = np.einsum('ij,ji->i', hidden, self.ridge.gains(hidden))
        squares = np.einsum('ij,ij->i', hidden, hidden)
        return np.array([self._novelty_of(*pair) for pair in zip(leverages, squares)],
                        dtype=self.options.dtype)

    def classify(self, vector: Array) -> Classification:
        """Return everything about one dense sample."""
        hidden = self.layer.row(vector)
        scores = self.ridge.outputs(hidden)[1:]
        _, leverage = self.ridge.gain(hidden)
        chosen, = self.thresholds.decide(scores[np.newaxis])
        return Classification(self._names_of(scores, chosen), scores,
                              self._novelty_of(leverage, float(hidden.dot(hidden))),
                              tuple(self.labels.names))

    def _names_of(self, scores: Array, chosen: npt.NDArray[np.bool_]) -> tuple[str, ...]:
        columns = np.flatnonzero(chosen)
        names = self.labels.names
        return tuple([names[column]
                      for column in columns[(-scores[columns]).argsort(kind='stable')]])

    def _novelty_of(self, leverage: float, square: float) -> float:
        """Return a leverage q as a number from 0 (well known) to 1 (nothing like it was learnt).

        The pull q / (1 + q) that the sample would have on its own score, relative to the same in
        an empty model, where q is |h|^2 / ridge.
        """
        if square == 0.0:
            return 1.0
        share = leverage / (1.0 + leverage) * (self.options.ridge + square) / square
        return min(max(float(share), 0.0), 1.0)

    # ----- all or nothing -----

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
