# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Unlearning: which samples were learnt, taking them back, and scores as if they were left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.deciding.calibration import LeftOut
from proemlc_ros.core.deciding.decision import fit_decision
from proemlc_ros.core.deciding.left_out import LearntRows, Solution, left_out
from proemlc_ros.core.rows import Rows, checksums_of_rows, other_form
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import BLOCK
from proemlc_ros.errors import NeverLearntError, ProEMLCError

if TYPE_CHECKING:
    from proemlc_ros.core.fleet.sums import PartialSums
    from proemlc_ros.core.learner import Learner
    from proemlc_ros.core.solving.label_groups import GroupStep

_TABLES, _SIZE = 4, 1 << 16
_FULL = (1 << 16) - 1
# Samples that are counted together.
_WAITING = 1024
_CHECKSUMS = (1 << 32) - 1
# Spreads a checksum over 64 bits (Fibonacci hashing).
_SPREAD = 0x9E3779B97F4A7C15


class SampleFilter:
    """Counting Bloom filter of the learnt samples, so that no other sample is unlearnt.

    Of fixed size. A learnt sample is always found; one that was never learnt is taken for a learnt
    one with a probability of (1 - exp(-n / 65536))^4 after n samples: 4e-4 after 10,000, one in
    three after 100,000.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._counts: npt.NDArray[np.uint16] | None = None
        # Learnt, but not counted yet: together it takes a tenth of the time, and a layer that is
        # drawn again soon needs no counters at all.
        self._waiting: list[int] = []

    @property
    def counts(self) -> npt.NDArray[np.uint16]:
        """The counters."""
        return self._count() if self._counts is None or self._waiting else self._counts

    def _count(self) -> npt.NDArray[np.uint16]:
        if self._counts is None:
            self._counts = np.zeros(_TABLES * _SIZE, dtype=np.uint16)
        counts = self._counts
        # Products wrap around at 64 bits, of which the places use the lower 48.
        waiting = np.array(self._waiting, dtype=np.uint64)
        every = np.concatenate(_places(waiting)).astype(np.intp)
        self._waiting = []
        if counts[every].max(initial=0) < _FULL - len(every):
            np.add.at(counts, every, np.uint16(1))
        else:
            places, times = np.unique(every, return_counts=True)
            counts[places] = np.minimum(counts[places] + times, _FULL)
        return counts

    def add(self, checksum: int) -> None:
        """Count a learnt sample."""
        self._waiting.append(checksum)
        if len(self._waiting) >= _WAITING:
            self._count()

    def add_all(self, checksums: list[int]) -> None:
        """Count learnt samples."""
        self._waiting += checksums
        if len(self._waiting) >= _WAITING:
            self._count()

    def remove(self, checksum: int) -> None:
        """Count a sample no longer; it must be there."""
        counts = self.counts
        for place in _places(checksum):
            if counts[place] < _FULL:  # a full counter no longer knows its number
                counts[place] -= 1

    def __contains__(self, checksum: int) -> bool:
        """Whether the sample may have been learnt; False is certain."""
        counts = self.counts
        return all(counts[place] for place in _places(checksum))

    def find(self, checksums: npt.NDArray[np.uint64]) -> int | None:
        """Return the first of several checksums that may have been learnt."""
        found = np.logical_and.reduce([self.counts[place.astype(np.intp)] > 0
                                       for place in _places(checksums)])
        return int(checksums[found.argmax()]) if found.any() else None

    def merge(self, other: SampleFilter) -> None:
        """Count all samples of another filter."""
        total = self.counts.astype(np.uint32) + other.counts
        self.counts[:] = np.minimum(total, _FULL)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes without the view."""
        return _restore, (self.counts,)

    def copy(self) -> SampleFilter:
        """Return an independent copy."""
        return _restore(self.counts)


def _restore(counts: npt.NDArray[np.uint16]) -> SampleFilter:
    sample_filter = SampleFilter()
    sample_filter.counts[:] = counts
    return sample_filter


def labelled(checksum: int, total: int) -> int:
    """Return the checksum of a sample with its labels; total: as LabelTokens gives it."""
    return (checksum + total) & _CHECKSUMS


def labelled_checksums(learner: Learner | PartialSums, rows: Rows,
                       annotations: list[SampleLabels]) -> list[int]:
    """Return the checksum of each row with its labels."""
    plain = checksums_of_rows(rows, [annotation.complete for annotation in annotations])
    # In a stream many annotations are equal.
    totals = {annotation: learner.tokens.total(annotation)
              for annotation in dict.fromkeys(annotations)}
    return [(checksum + totals[annotation]) & _CHECKSUMS
            for checksum, annotation in zip(plain, annotations)]


def _places(checksum: Any) -> tuple[Any, Any, Any, Any]:
    """Return the counters of a checksum; of an array of them, arrays."""
    spread = checksum * _SPREAD >> 16
    return (checksum & _FULL, (checksum >> 16) + _SIZE, (spread & _FULL) + 2 * _SIZE,
            (spread >> 16 & _FULL) + 3 * _SIZE)


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
        found = learner.sample_filter.find((totals + np.uint64(checksum)) & np.uint64(_CHECKSUMS))
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


def calibrate(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> None:
    """Fit the decision to the leave-one-out scores of learnt samples, all of them."""
    evidence = evidence_of(learner, rows, annotations)
    counts = np.array(learner.labels.counts, dtype=np.int64)
    learner.decider.adopt(fit_decision(learner.options.threshold, evidence, counts,
                                       learner.layer.radial), learner.samples)


def evidence_of(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> LeftOut:
    """Return the scores of learnt samples, each as if it had been left out."""
    solution = Solution.of(learner, copied=False)
    parts = []
    for start in range(0, rows.shape[0], BLOCK):
        hidden = learner.layer.rows(rows[start:start + BLOCK])
        targets = np.array([learner.targets(annotation)[1:]
                            for annotation in annotations[start:start + BLOCK]]).astype(np.int8)
        own = np.array([learner.layer.own_neuron(row) for row in hidden], dtype=np.intp)
        born = np.full(len(hidden), learner.samples - 1, dtype=np.intp)
        parts.append(left_out(solution, LearntRows(hidden, targets, own, born,
                                                   np.ones_like(born))))
    return LeftOut(*map(np.concatenate, zip(*parts)))


def left_out_scores(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> Array:
    """Return the scores (n, labels) of learnt samples, each as if it had not been learnt."""
    if not len(annotations):
        return np.zeros((0, len(learner.labels)))
    found = evidence_of(learner, rows, annotations)
    if (found.targets != 0).all():
        return found.scores
    # A sample says nothing of the labels that it leaves unknown.
    outputs = learner.ridge.outputs_of_rows(learner.layer.rows(rows))[:, 1:]
    return np.where(found.targets == 0, outputs, found.scores)
