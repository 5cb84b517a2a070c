# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Learning rows of samples, all or none, in blocks with fewer passes over M; taking them back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.core.compiled import Array, routines
from proemlc_ros.core.deciding.calibration import LeftOut, Mask
from proemlc_ros.core.deciding.decider import KeptSample
from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.deciding.left_out import LearntRows, Solution, joined, left_out
from proemlc_ros.core.deciding.novelty import distances_of
from proemlc_ros.core.labels import SampleLabels, handicap_of, indicators
from proemlc_ros.core.learner import CachedSample, Learner, LearnerState
from proemlc_ros.core.ridge import BLOCK, add_sums
from proemlc_ros.core.rows import Rows, checksums_of_rows, other_form
from proemlc_ros.core.sample_filter import CHECKSUMS, labelled_checksums
from proemlc_ros.errors import NeverLearntError, ProEMLCError

if TYPE_CHECKING:
    from proemlc_ros.core.label_groups import GroupStep
    from proemlc_ros.core.prediction import PrequentialRecorder

# Samples whose hidden rows are worked out together.
_CHUNK = 8 * BLOCK
# Labels up to which a dense product takes no longer than a sparse one, which has to be imported.
_FEW_LABELS = 64


class LearntSamples(NamedTuple):
    """Samples of a chunk just before each was learnt, one entry or row per sample."""

    scores: Array  # (n, 1 + labels); unnamed label first
    present: Mask  # (n, labels)
    leverages: Array
    squares: Array  # |h|^2
    masses: Array
    distances: Array  # to everything learnt


def _names_in(annotations: list[SampleLabels]) -> dict[str, None]:
    """Return the names that annotations show, in order; in a stream many are equal."""
    return dict.fromkeys(name for annotation in dict.fromkeys(annotations)
                         for name in annotation.present)


def _block_targets(learner: Learner, block: list[SampleLabels]) -> tuple[Mask, Array]:
    """Return which outputs complete samples show, unnamed label first, and their targets."""
    labels = learner.labels
    present = indicators([annotation.present for annotation in block], labels.columns,
                         len(labels) + 1)
    return present, np.where(present, 1.0, -1.0).astype(learner.options.dtype, copy=False)


def _hidden_rows(learner: Learner, rows: Rows) -> Array:
    """Return the hidden rows of samples, in memory that the next call uses again.

    New memory each time would take a tenth of the time of learning.
    """
    count = rows.shape[0]
    if count > _CHUNK:
        return learner.layer.rows(rows)
    if len(learner.buffer) < count:
        learner.buffer = np.empty((count, learner.layer.size), dtype=learner.options.dtype)
    return learner.layer.rows(rows, learner.buffer[:count])


def _count_block(learner: Learner, hidden: Array, present: Mask, masses: Array,
                checksums: list[int]) -> None:
    """Count a block that was learnt, and keep some of it to decide by."""
    labels = learner.labels
    accepted = learner.reservoir.accepted(checksums, learner.samples)
    if accepted:
        _keep(learner, hidden, present, checksums, accepted)
    shown = present.sum(axis=0)
    for place in shown.nonzero()[0].tolist():
        labels.count(labels.names[place], int(shown[place]))
    learner.samples += len(hidden)
    learner.mass += float(masses.sum())


def _keep(learner: Learner, hidden: Array, present: Mask, checksums: list[int],
          accepted: list[int]) -> None:
    """Keep samples of a block in the reservoir."""
    reservoir = learner.reservoir
    targets = np.where(present, np.int8(1), np.int8(-1))
    new = accepted if not len(reservoir) else [
        place for place in accepted
        if not reservoir.add_again(checksums[place], targets[place], True)]
    if not new:
        return
    whole = len(new) == len(hidden)
    rows = (hidden if whole else hidden[new]).astype(np.float32)
    kept = zip([checksums[place] for place in new], rows, targets if whole else targets[new],
               learner.layer.own_neurons(hidden if whole else hidden[new]))
    reservoir.add_all([KeptSample(checksum, row, said, True, own, 0, 1)
                       for checksum, row, said, own in kept])


def learn_at_once(learner: Learner, rows: Rows, annotations: list[SampleLabels],
                  checksums: list[int], ready: Array | None = None,
                  in_stream: bool = False) -> bool:
    """Learn complete samples by one factorisation, where they are many and it pays.

    Args:
        learner: is to learn them.
        rows: the samples.
        annotations: one per row.
        checksums: one per row.
        ready: their hidden rows; None: not worked out yet.
        in_stream: they were learnt one by one before, and more of them are to come.

    Returns:
        Whether they were learnt; the learner is as before where not.
    """
    size, first = learner.layer.size, learner.samples == 0
    if (learner.groups is not None or learner.options.ridge == 0.0
            or learner.options.recalibration != 'exact'
            or len(annotations) < (0.6 if first else 2.0) * max(size, BLOCK)):
        return False
    before = learner.state()
    learner.grow(_names_in(annotations))
    gram: Array = np.zeros((size, size), order='F')
    target_sums: Array = np.zeros((size, len(learner.labels) + 1), order='F')
    hidden_sum = np.zeros(size)
    blas = routines('float64')
    for start in range(0, len(annotations), _CHUNK):
        part = slice(start, start + _CHUNK)
        hidden = _hidden_rows(learner, rows[part]) if ready is None else ready[part]
        squares = np.einsum('ij,ij->i', hidden, hidden)
        if not learner.ridge.always_accepts(squares.max()):
            learner.restore(before)
            return False
        present = indicators([annotation.present for annotation in annotations[part]],
                             learner.labels.columns, len(learner.labels) + 1)
        exact = hidden.astype(np.float64, copy=False)
        blas.syrk(1.0, exact.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        # Targets are 1 and -1: twice the rows that show a label, less all rows.
        target_sums += 2.0 * _sums_by_label(exact, present)
        hidden_sum += exact.sum(axis=0)
        _count_block(learner, hidden, present[:, 1:], learner.layer.masses(hidden),
                     checksums[part])
    target_sums -= hidden_sum[:, np.newaxis]
    if not add_sums(learner.ridge, gram, target_sums, first):
        learner.restore(before)
        return False
    learner.last_sum = hidden_sum.astype(learner.options.dtype)
    learner.decider.after_rows(learner, in_stream)
    return True


def _sums_by_label(hidden: Array, present: Mask) -> Array:
    """Return for each label the sum of the rows that show it, (size, labels)."""
    if present.shape[1] < _FEW_LABELS or present.sum() * 8 > present.size:
        return np.asarray(hidden.T @ present.astype(np.float64))
    from scipy import sparse
    return np.asarray((sparse.csr_matrix(present.T, dtype=np.float64) @ hidden).T)


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
               hidden: Array | None = None, in_stream: bool = False) -> None:
    """Learn samples in order; in blocks where possible, which gives the same result.

    Args:
        learner: is to learn them.
        rows: the samples.
        annotations: one per row.
        recorder: gets the prediction of each sample from before it is learnt.
        hidden: the hidden rows, where they are known.
        in_stream: they were learnt one by one before, and more of them are to come.

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
            ready = None if hidden is None else hidden[start:stop]
            if in_blocks and recorder is None and learn_at_once(
                    learner, rows[start:stop], annotations[start:stop], checksums[start:stop],
                    ready, in_stream):
                continue
            samples = rows[start:stop], annotations[start:stop], checksums[start:stop]
            if in_blocks:
                _learn_blocks(learner, *samples, recorder, savepoint, ready)
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
    names = _names_in(annotations)
    known = len(learner.labels)
    hidden_sum = np.zeros_like(learner.last_sum)
    chunks = list(_chunks(learner, rows.shape[0], recorder is not None))
    for chunk in chunks:
        start, stop = chunk[0][0], chunk[-1][-1]
        hidden = _hidden_rows(learner, rows[start:stop]) if ready is None else ready[start:stop]
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
            _count_block(learner, hidden[part], learnt.present, learnt.masses, checksums[said])
            if recorder is not None:
                learner.decider.after_block(learner)
        hidden_sum += hidden.sum(axis=0)
    learner.last_sum = hidden_sum
    if recorder is None:
        learner.decider.after_rows(learner)


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
        full = stop == count or stop - (chunk or [stretch])[0][0] >= _CHUNK
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
            present, targets = _block_targets(learner, block)
        residuals.append(ridge.update_rows(rows, prepared, targets[start:stop]))
        if learner.groups is not None:
            learner.groups.update_rows(ridge, rows, others, targets[start:stop], residuals[-1])
        leverages[start:stop] = prepared.leverages
    return LearntSamples(targets - np.concatenate(residuals), present[:, 1:], leverages, squares,
                         learner.layer.masses(hidden),
                         distances_of(learner.layer, hidden, leverages))


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


def unlearn_rows(learner: Learner, rows: Rows, annotations: list[SampleLabels],
                 tolerance: float | None = None) -> None:
    """Take samples back, the last one first; all of them or none.

    Args:
        learner: has learnt them.
        rows: the samples.
        annotations: one per row.
        tolerance: largest relative rounding error that may be expected; None: any.

    Raises:
        UnlearnError: when one was never learnt, or cannot be taken back accurately; nothing has
            changed then.
    """
    # Without forgetting, one sample is checked before anything changes.
    alone = rows.shape[0] == 1 and learner.options.forgetting == 1.0
    before = None if alone else learner.state()
    try:
        for place in range(rows.shape[0] - 1, -1, -1):
            _unlearn_row(learner, rows[place:place + 1], annotations[place], tolerance)
    except ProEMLCError:
        if before is not None:
            learner.restore(before)
        raise


def _unlearn_row(learner: Learner, row: Rows, annotation: SampleLabels,
                 tolerance: float | None) -> None:
    _check_labels(learner, annotation)
    checksum, nameless = _find(learner, row, annotation)
    hidden = learner.layer.rows(row)[0].copy()
    ridge, groups, targets = learner.ridge, learner.groups, learner.targets(annotation)
    ridge.rewind()
    gain, leverage = ridge.gain(hidden)
    steps: list[GroupStep] = []
    # An earlier version learnt partial annotations with the matrix of all samples.
    known = None if annotation.complete or nameless else targets != 0.0
    if groups is not None:
        groups.rewind(ridge)
        steps = groups.steps(hidden, known)
        groups.check_removal(steps, known)
    if tolerance is not None:
        for one, share in ((ridge, leverage), *((step.group.ridge, step.leverage)
                                                for step in steps)):
            one.check_accuracy(hidden, share, tolerance)
    scores = ridge.outputs(hidden)
    residual = learner.residual(annotation, targets, scores)
    if nameless and not annotation.complete:
        residual[0] = -scores[0]  # to which the unnamed label was neutral
    if groups is None:
        ridge.downdate(gain, leverage, residual)
    else:
        groups.unlearn(ridge, (gain, leverage), steps, residual, known, checksum)
        learner.groups = groups if groups.partial else None
    learner.sample_filter.remove(checksum)
    learner.reservoir.discard(learner.kept_sample(
        checksum, hidden, targets[1:].astype(np.int8), annotation))
    learner.count(annotation, -1)
    learner.mass -= learner.layer.mass(hidden)
    if learner.samples == 0 and learner.options.ridge > 0.0:
        learner.start_again()  # What rounding has left is not worth keeping.
    learner.decider.step_back(learner)
    learner.forget_cached()


def _find(learner: Learner, row: Rows, annotation: SampleLabels) -> tuple[int, bool]:
    """Return the checksum under which the sample was learnt, as dense or as sparse row.

    And whether it was recorded without its labels, by an earlier version.
    """
    totals = learner.tokens.totals(annotation)
    for form in (row, other_form(row)):
        checksum, = checksums_of_rows(form, [annotation.complete])
        found = learner.sample_filter.find((totals + np.uint64(checksum)) & np.uint64(CHECKSUMS))
        if found is not None:
            return found, False
        if learner.tokens.nameless and checksum in learner.sample_filter:
            return checksum, True
    raise NeverLearntError('the sample was never learnt, or not with these labels and this value '
                           'of complete; give the values and labels it was learnt with')


def _check_labels(learner: Learner, annotation: SampleLabels) -> None:
    if learner.samples == 0:
        raise NeverLearntError('nothing has been learnt, so nothing can be unlearnt')
    labels = learner.labels
    for name in annotation.named:
        if name not in labels.columns:
            raise NeverLearntError(f'no learnt sample mentioned {name!r}, so this one was never '
                                   'learnt; give the labels it was learnt with')
    for name in annotation.present:
        if labels.counts[labels.columns[name] - 1] == 0:
            raise NeverLearntError(f'no learnt sample is left that shows {name!r}; '
                                   'give the labels the sample was learnt with')


def evidence_of(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> LeftOut:
    """Return the scores of learnt samples, each as if it had been left out."""
    solution = Solution.of(learner, copied=False)
    kept = {sample.checksum: (sample.born, sample.times) for sample in learner.reservoir.samples}
    # With forgetting, those that are not kept are old.
    born, times = np.array([kept.get(checksum, (0, 1)) for checksum in
                            labelled_checksums(learner, rows, annotations)], dtype=np.intp).T
    parts = []
    for start in range(0, rows.shape[0], BLOCK):
        part = slice(start, start + BLOCK)
        hidden = learner.layer.rows(rows[part])
        targets = np.array([learner.targets(annotation)[1:]
                            for annotation in annotations[part]]).astype(np.int8)
        own = np.array(learner.layer.own_neurons(hidden), dtype=np.intp)
        parts.append(left_out(solution, LearntRows(hidden, targets, own, born[part],
                                                   times[part])))
    evidence = joined(parts)
    return evidence._replace(weights=evidence.weights / times)  # Each row counts for itself.
