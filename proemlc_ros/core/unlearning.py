# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Taking learnt samples back, and looking at them as if they had been left out."""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.learner import Learner
from proemlc_ros.core.rows import Rows, other_form
from proemlc_ros.core.sample_filter import checksums_of_rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.recursive import BLOCK
from proemlc_ros.core.thresholds import Thresholds
from proemlc_ros.errors import NeverLearntError, ProEMLCError


def unlearn_rows(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> None:
    """Take samples back, the last one first; all of them or none.

    Raises:
        UnlearnError: when one was never learnt; nothing has changed then.
    """
    # Without forgetting, one sample is checked before anything changes.
    alone = rows.shape[0] == 1 and learner.options.forgetting == 1.0
    before = None if alone else learner.state()
    try:
        for place in range(rows.shape[0] - 1, -1, -1):
            _unlearn_row(learner, rows[place:place + 1], annotations[place])
    except ProEMLCError:
        if before is not None:
            learner.restore(before)
        raise


def _unlearn_row(learner: Learner, row: Rows, said: SampleLabels) -> None:
    _check_labels(learner, said)
    checksum = _find(learner, row, said)
    hidden = learner.layer.rows(row)[0].copy()
    ridge = learner.ridge
    ridge.rewind()
    gain, leverage = ridge.gain(hidden)
    scores, targets = ridge.outputs(hidden), learner.targets(said)
    residual = learner.residual(said, targets, scores)
    ridge.downdate(gain, leverage, residual)
    learner.ledger.remove(checksum)
    learner.count(said, -1)
    learner.mass -= learner.layer.mass(hidden)
    # What the scores were before the sample had been learnt.
    earlier = scores - residual * (leverage / (1.0 - leverage))
    if said.complete or said.named:
        learner.thresholds.take_back(learner.judged(said, targets, earlier), targets[1:] > 0.0)
    if learner.samples == 0 and learner.options.ridge > 0.0:
        learner.start_again()  # What rounding has left is not worth keeping.
    learner.changed()


def _find(learner: Learner, row: Rows, said: SampleLabels) -> int:
    """Return the checksum under which the sample was learnt, as dense or as sparse row."""
    for form in (row, other_form(row)):
        checksum, = checksums_of_rows(form, [said.complete])
        if checksum in learner.ledger:
            return checksum
    raise NeverLearntError('the sample was never learnt, or not with this value of complete; '
                           'give the values and labels it was learnt with')


def _check_labels(learner: Learner, said: SampleLabels) -> None:
    if learner.samples == 0:
        raise NeverLearntError('nothing has been learnt, so nothing can be unlearnt')
    labels = learner.labels
    for name in said.named:
        if name not in labels.columns:
            raise NeverLearntError(f'no learnt sample mentioned {name!r}, so this one was never '
                                   'learnt; give the labels it was learnt with')
    for name in said.present:
        if labels.counts[labels.columns[name] - 1] == 0:
            raise NeverLearntError(f'no learnt sample is left that shows {name!r}; '
                                   'give the labels the sample was learnt with')


def calibrate(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> None:
    """Learn the thresholds anew from the leave-one-out scores of learnt samples.

    Without its sample, a score is y - (y - score) / (1 - hMh): no refit is needed. Samples that
    are centres of neurons do not count as long as there are others, since the neuron stays.
    """
    thresholds = Thresholds(learner.options.threshold, learner.options.forgetting)
    centres = learner.layer.are_centres(rows)
    if not centres.all():
        others = np.flatnonzero(~centres)
        rows, annotations = rows[others], [annotations[place] for place in others]
    for start in range(0, rows.shape[0], BLOCK):
        _calibrate_block(learner, thresholds, rows[start:start + BLOCK],
                         annotations[start:start + BLOCK])
    thresholds.choose()
    learner.thresholds = thresholds


def _calibrate_block(learner: Learner, thresholds: Thresholds, rows: Rows,
                     annotations: list[SampleLabels]) -> None:
    hidden = learner.layer.rows(rows)
    leverages = np.einsum('ij,ji->i', hidden, learner.ridge.gains(hidden))
    outputs = learner.ridge.outputs_of_rows(hidden)
    left = np.maximum(1.0 - leverages, np.finfo(outputs.dtype).eps)
    targets = np.array([learner.targets(said) for said in annotations])
    scores = targets - (targets - outputs) / left[:, np.newaxis]
    judged = scores[:, 1:] + learner.labels.handicap
    judged[targets[:, 1:] == 0.0] = -np.inf
    telling = [said.complete or bool(said.named) for said in annotations]
    thresholds.note_rows(judged[telling], targets[telling, 1:] > 0.0)
    thresholds.settle()
