# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Learning rows of samples, all or none; complete ones in blocks, with fewer passes over M."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.deciding.calibration import Mask
from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.labels import handicap_of
from proemlc_ros.core.layer.hidden import HiddenRows
from proemlc_ros.core.learner import Learner, LearnerState
from proemlc_ros.core.learning.at_once import learn_at_once
from proemlc_ros.core.learning.cached_sample import CachedSample
from proemlc_ros.core.learning.learnt_block import (
    CHUNK,
    LearntSamples,
    block_targets,
    count_block,
    hidden_rows,
    names_in,
)
from proemlc_ros.core.learning.unlearning import labelled_checksums
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import BLOCK
from proemlc_ros.errors import ProEMLCError

if TYPE_CHECKING:
    from proemlc_ros.core.prediction import PrequentialRecorder


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
               recorder: PrequentialRecorder | None = None,
               hidden: HiddenRows | None = None) -> None:
    """Learn samples in order; in blocks where possible, which gives the same result.

    Args:
        learner: is to learn them.
        rows: the samples.
        annotations: one per row.
        recorder: gets the prediction of each sample from before it is learnt.
        hidden: the hidden rows, where they are known; those of another layer are not used.

    Raises:
        TooLargeError: when a sample cannot be learnt; the learner is as before.
    """
    checksums = labelled_checksums(learner, rows, annotations)
    savepoint = _Savepoint(learner)
    runs = list(_runs(annotations))
    known = None if hidden is None or hidden.layer is not learner.layer else hidden.rows
    try:
        for start, stop, complete in runs:
            if len(runs) > 1:
                savepoint.set()
            in_blocks = complete and learner.options.forgetting == 1.0 and stop - start > 1
            learner.forget_cached()
            if in_blocks and recorder is None and learn_at_once(
                    learner, rows[start:stop], annotations[start:stop], checksums[start:stop]):
                continue
            samples = rows[start:stop], annotations[start:stop], checksums[start:stop]
            if in_blocks:
                _learn_blocks(learner, *samples, recorder, savepoint,
                              None if known is None else known[start:stop])
            else:
                _learn_each(learner, *samples, recorder, savepoint)
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
                  savepoint: _Savepoint, ready: Array | None) -> None:
    """Learn complete samples in blocks; ready: their hidden rows, None: not worked out yet."""
    names = names_in(annotations)
    known = len(learner.labels)
    hidden_sum = np.zeros_like(learner.last_sum)
    chunks = list(_chunks(learner, rows.shape[0], recorder is not None))
    for chunk in chunks:
        start, stop = chunk[0][0], chunk[-1][-1]
        hidden = hidden_rows(learner, rows[start:stop]) if ready is None else ready[start:stop]
        squares = np.einsum('ij,ij->i', hidden, hidden)
        # A savepoint costs a copy of M; without it no sample may be rejected after another.
        if len(chunks) > 1 or (sum(map(len, chunk)) > 2
                               and not learner.ridge.always_accepts(squares.max())):
            savepoint.set()
        for stretch in chunk:
            part = slice(stretch[0] - start, stretch[-1] - start)
            said = slice(stretch[0], stretch[-1])
            learnt = _learn_stretch(learner, hidden[part], squares[part], annotations[said], names,
                                    [place - stretch[0] for place in stretch])
            if recorder is not None:
                applied, known = _applied(learner, learnt.present, known)
                recorder.record_block(learner, applied, learnt)
            count_block(learner, hidden[part], learnt.present, learnt.masses, checksums[said])
            if recorder is not None:
                learner.decider.after_block(learner)
        hidden_sum += hidden.sum(axis=0)
    learner.last_sum = hidden_sum
    if recorder is None:
        learner.decider.after_rows(learner, rows.shape[0])


def _chunks(learner: Learner, count: int, each: bool) -> Iterator[list[list[int]]]:
    """Yield the chunks as stretches: where each begins, and where each of its blocks ends.

    The first samples of all need one product with M less than the others, which pays as long as
    they are fewer than half the neurons. A stretch ends where the decision has to be fitted.

    Args:
        learner: is to learn them.
        count: number of samples.
        each: whether every decision in between is wanted.
    """
    samples = learner.samples
    fits = iter(learner.decider.starts(samples, samples + count) if each else ())
    fit = next(fits, math.inf) - samples
    chunk, stretch = list[list[int]](), [0]
    length = max(BLOCK, learner.layer.size // 2) if learner.samples == 0 else BLOCK
    while stretch[-1] < count:
        stop = min(count, int(min(stretch[-1] + length, fit)))
        length = BLOCK
        stretch.append(stop)
        full = stop == count or stop - (chunk or [stretch])[0][0] >= CHUNK
        if full or stop == fit:
            chunk.append(stretch)
            stretch = [stop]
        if stop == fit:
            fit = next(fits, math.inf) - samples
        if full:
            yield chunk
            chunk = []


def _learn_stretch(learner: Learner, hidden: Array, squares: Array, block: list[SampleLabels],
                   names: Iterable[str], places: list[int]) -> LearntSamples:
    """Learn hidden rows in blocks, except for counting; if the first is rejected, nothing changed.

    Args:
        learner: is to learn them.
        hidden: the rows.
        squares: |h|^2 of each.
        block: one annotation per row.
        names: labels that must be known.
        places: where the blocks begin, and the last one ends.
    """
    ridge = learner.ridge
    leverages: Array = np.empty(len(hidden), hidden.dtype)
    residuals: list[Array] = []
    for start, stop in zip(places, places[1:]):
        rows = hidden[start:stop]
        prepared = ridge.prepare_rows(rows, learner.samples + start == 0)
        others = [] if learner.groups is None else learner.groups.prepare_rows(rows)
        if not start:
            learner.grow(names)
            present, targets = block_targets(learner, block)
        residuals.append(ridge.update_rows(rows, prepared, targets[start:stop]))
        if learner.groups is not None:
            learner.groups.update_rows(ridge, rows, others, targets[start:stop], residuals[-1])
        leverages[start:stop] = prepared.leverages
    return LearntSamples(targets - np.concatenate(residuals), present[:, 1:], leverages, squares,
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
