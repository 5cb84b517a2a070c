# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Learning many complete samples at once, by one factorisation."""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.deciding.calibration import Mask
from proemlc_ros.core.labels import indicators
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.learning.learnt_block import CHUNK, count_block, hidden_rows, names_in
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.batch import add_sums
from proemlc_ros.core.solving.blas import Array, routines
from proemlc_ros.core.solving.recursive import BLOCK


def learn_at_once(learner: Learner, rows: Rows, annotations: list[SampleLabels],
                  checksums: list[int]) -> bool:
    """Learn complete samples by one factorisation, where they are many and it pays.

    Returns:
        Whether they were learnt; the learner is as before where not.

    """
    size, first = learner.layer.size, learner.samples == 0
    if (learner.groups is not None or learner.options.ridge == 0.0
            or learner.options.recalibration != 'exact'
            or len(annotations) < (1 if first else 2) * max(size, BLOCK)):
        return False
    before = learner.state()
    learner.grow(names_in(annotations))
    gram: Array = np.zeros((size, size), order='F')
    target_sums: Array = np.zeros((size, len(learner.labels) + 1), order='F')
    hidden_sum = np.zeros(size)
    blas = routines('float64')
    for start in range(0, len(annotations), CHUNK):
        part = slice(start, start + CHUNK)
        hidden = hidden_rows(learner, rows[part])
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
        count_block(learner, hidden, present[:, 1:], learner.layer.masses(hidden), checksums[part])
    target_sums -= hidden_sum[:, np.newaxis]
    if not add_sums(learner.ridge, gram, target_sums, first):
        learner.restore(before)
        return False
    learner.last_sum = hidden_sum.astype(learner.options.dtype)
    learner.decider.after_rows(learner, rows.shape[0])
    return True


def _sums_by_label(hidden: Array, present: Mask) -> Array:
    """Return for each label the sum of the rows that show it, (size, labels)."""
    if present.sum() * 8 > present.size:
        return np.asarray(hidden.T @ present)
    from scipy import sparse
    return np.asarray((sparse.csr_matrix(present.T, dtype=np.float64) @ hidden).T)
