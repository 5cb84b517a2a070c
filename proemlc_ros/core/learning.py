# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Learning rows of samples, all or none; complete ones in blocks, with fewer passes over M."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.cached_sample import CachedSample
from proemlc_ros.core.deciding.calibration import Mask
from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.labels import handicap_of, indicators
from proemlc_ros.core.learner import Learner, LearnerState
from proemlc_ros.core.learning_at_once import learn_at_once
from proemlc_ros.core.learnt_block import (
    CHUNK,
    LearntSamples,
    count_block,
    hidden_rows,
    names_in,
)
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import BLOCK
from proemlc_ros.core.steps import Steps
from proemlc_ros.core.unlearning import labelled_checksums
from proemlc_ros.errors import ProEMLCError

if TYPE_CHECKING:
    from proemlc_ros.core.prediction import PrequentialRecorder

# Samples that are learnt in one step of a rebuild.
_IN_STEP = 16


class AppliedDecisions(NamedTuple):
    """How labels were predicted for each sample just before it was learnt."""

    held: list[tuple[int, Decision]]  # each with the first sample that it held for
    handicaps: Array  # (n, labels); -inf for those not known or not shown by then


class _Savepoint:
    """A learner's state to go back to, copied only if it is needed."""

    def __init__(self, learner: Learner) -> None:
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


def learn_rows(learner: Learner, rows: Rows, annotations: list[SampleLabels],
               recorder: PrequentialRecorder | None = None) -> None:
    """Learn samples in order; in blocks where possible, which gives the same result.

    Args:
        learner: is to learn them.
        rows: the samples.
        annotations: one per row.
        recorder: gets the prediction of each sample from before it is learnt.

    Raises:
        TooLargeError: when a sample cannot be learnt; the learner is as before.
    """
    checksums = labelled_checksums(learner, rows, annotations)
    savepoint = _Savepoint(learner)
    runs = list(_runs(annotations))
    try:
        for start, stop, complete in runs:
            if len(runs) > 1:
                savepoint.set()
            in_blocks = complete and learner.options.forgetting == 1.0 and stop - start > 1
            learner.forget_cached()
            if in_blocks and recorder is None and learn_at_once(
                    learner, rows[start:stop], annotations[start:stop], checksums[start:stop]):
                continue
            (_learn_blocks if in_blocks else _learn_each)(
                learner, rows[start:stop], annotations[start:stop], checksums[start:stop],
                recorder, savepoint)
    except ProEMLCError:
        savepoint.restore()
        raise
    learner.sample_filter.add_all(checksums)


def learn_pseudo_inverse(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> None:
    """Learn the first samples without ridge (eqs 5, 11-12), of whatever rank they are."""
    learner.grow(name for annotation in annotations for name in annotation.present)
    hidden = learner.layer.rows(rows)
    learner.ridge.start_from(hidden, np.array([learner.targets(annotation)
                                               for annotation in annotations]))
    for annotation in annotations:
        learner.count(annotation, 1)
    learner.mass += float(learner.layer.masses(hidden).sum())
    learner.sample_filter.add_all(labelled_checksums(learner, rows, annotations))
    learner.last_sum = hidden.sum(axis=0)


def _runs(annotations: list[SampleLabels]) -> Iterator[tuple[int, int, bool]]:
    """Yield stretches of complete and of incomplete annotations: start, stop, complete."""
    if all({annotation.complete for annotation in annotations}):
        yield 0, len(annotations), True
        return
    start = 0
    for stop in range(1, len(annotations) + 1):
        if stop == len(annotations) or annotations[stop].complete != annotations[start].complete:
            yield start, stop, annotations[start].complete
            start = stop


def _learn_each(learner: Learner, rows: Rows, annotations: list[SampleLabels],
                checksums: list[int], recorder: PrequentialRecorder | None,
                savepoint: _Savepoint) -> None:
    """Learn samples one by one."""
    if len(annotations) > 1:
        savepoint.set()
    for start in range(0, rows.shape[0], BLOCK):
        part = slice(start, start + BLOCK)
        for hidden, annotation, checksum in zip(learner.layer.rows(rows[part]), annotations[part],
                                                checksums[part]):
            learner.learn_hidden(CachedSample(b'', hidden.copy()), annotation, checksum, recorder)


def _learn_blocks(learner: Learner, rows: Rows, annotations: list[SampleLabels],
                  checksums: list[int], recorder: PrequentialRecorder | None,
                  savepoint: _Savepoint) -> None:
    """Learn complete samples in blocks."""
    names = names_in(annotations)
    known = len(learner.labels)
    hidden_sum = np.zeros_like(learner.last_sum)
    chunks = list(_chunks(learner, rows.shape[0], recorder is not None))
    for start, *stops in chunks:
        hidden = hidden_rows(learner, rows[start:stops[-1]])
        squares = np.einsum('ij,ij->i', hidden, hidden)
        # A savepoint costs a copy of M; without it no sample may be rejected after another.
        if len(chunks) > 1 or len(stops) > 1 and not learner.ridge.always_accepts(squares.max()):
            savepoint.set()
        for begin, end in zip([start, *stops], stops):
            part = slice(begin - start, end - start)
            learnt = _learn_block(learner, hidden[part], squares[part], annotations[begin:end],
                                  names)
            if recorder is not None:
                applied, known = _applied(learner, learnt.present, known)
                recorder.record_block(learner, applied, learnt)
            count_block(learner, hidden[part], learnt.present, learnt.masses,
                        checksums[begin:end])
            if recorder is not None:
                learner.decider.after_block(learner)
        hidden_sum += hidden.sum(axis=0)
    learner.last_sum = hidden_sum
    if recorder is None:
        learner.decider.after_rows(learner)


def learning_in_steps(learner: Learner, rows: Rows,
                      annotations: list[SampleLabels]) -> Steps[None]:
    """Do what learn_rows() does to a new learner, yielding after each few samples.

    For complete samples that are certain to be accepted.
    """
    checksums = labelled_checksums(learner, rows, annotations)
    names = names_in(annotations)
    hidden_sum = np.zeros_like(learner.last_sum)
    yield
    for start in range(0, len(annotations), _IN_STEP):
        part = slice(start, start + _IN_STEP)
        hidden = learner.layer.rows(rows[part])
        learnt = _learn_block(learner, hidden, np.einsum('ij,ij->i', hidden, hidden),
                              annotations[part], names)
        count_block(learner, hidden, learnt.present, learnt.masses, checksums[part])
        hidden_sum += hidden.sum(axis=0)
        yield
    learner.last_sum = hidden_sum
    learner.sample_filter.add_all(checksums)
    yield from learner.decider.fitting(learner)


def _chunks(learner: Learner, count: int, each: bool) -> Iterator[list[int]]:
    """Yield the chunks: where each begins, and where each of its blocks ends.

    The first samples of all need one product with M less than the others, which pays as long as
    they are fewer than half the neurons. A block ends where the decision has to be fitted.

    Args:
        learner: is to learn them.
        count: number of samples.
        each: whether every decision in between is wanted.
    """
    samples = learner.samples
    fits = iter(learner.decider.starts(samples, samples + count) if each else ())
    fit = next(fits, math.inf) - samples
    chunk = [0]
    length = max(BLOCK, learner.layer.size // 2) if learner.samples == 0 else BLOCK
    while chunk[-1] < count:
        stop = min(count, chunk[-1] + length)
        length = BLOCK
        if fit <= stop:
            stop, fit = int(fit), next(fits, math.inf) - samples
        chunk.append(stop)
        if chunk[-1] == count or chunk[-1] - chunk[0] >= CHUNK:
            yield chunk
            chunk = chunk[-1:]


def _learn_block(learner: Learner, hidden: Array, squares: Array, block: list[SampleLabels],
                 names: Iterable[str]) -> LearntSamples:
    """Learn a block of hidden rows, except for counting; if rejected, nothing has changed.

    Args:
        learner: is to learn it.
        hidden: its rows.
        squares: |h|^2 of each.
        block: one annotation per row.
        names: labels that must be known.
    """
    prepared = learner.ridge.prepare_rows(hidden, learner.samples == 0)
    others = [] if learner.groups is None else learner.groups.prepare_rows(hidden)
    learner.grow(names)
    labels = learner.labels
    present = indicators([annotation.present for annotation in block], labels.columns,
                         len(labels) + 1)
    targets = np.where(present, 1.0, -1.0).astype(hidden.dtype, copy=False)
    residuals = learner.ridge.update_rows(hidden, prepared, targets)
    if learner.groups is not None:
        learner.groups.update_rows(learner.ridge, hidden, others, targets, residuals)
    return LearntSamples(targets - residuals, present[:, 1:], prepared.leverages, squares,
                         learner.layer.masses(hidden))


def _applied(learner: Learner, present: Mask, known: int) -> tuple[AppliedDecisions, int]:
    """Return how the labels of a block were predicted, as if sample by sample.

    Args:
        learner: has learnt the block, but not counted it.
        present: which labels each sample shows.
        known: how many labels were known before; of the return value, after.
    """
    handicaps = np.full(present.shape, -np.inf)
    handicap = learner.labels.handicap.copy()
    start = 0
    while start < len(present):
        # Until a label is shown for the first time, what holds for one sample holds for the next.
        unseen: Mask = np.any(present[start:, handicap == -np.inf], axis=1)
        first = int(unseen.argmax()) if unseen.any() else len(unseen)
        stretch = slice(start, start + first + 1)
        handicaps[stretch, :known] = handicap[:known]
        for place in np.flatnonzero(np.any(present[stretch], axis=0)).tolist():
            handicap[place] = handicap_of(learner.labels.names[place], 1)
            known = max(known, place + 1)
        start = stretch.stop
    return AppliedDecisions(learner.decider.held(learner.samples, len(present)), handicaps), known
