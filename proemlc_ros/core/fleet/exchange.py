# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Training in parts, on one machine or many: what is found about each part adds up."""

from __future__ import annotations

from proemlc_ros.core.fleet.sums import PartialSums
from proemlc_ros.core.model import ProEMLC
from proemlc_ros.core.thresholds import Thresholds
from proemlc_ros.errors import NotReadyError


def learnt_sums(model: ProEMLC) -> PartialSums:
    """Return the partial sums of everything that a model has learnt.

    Raises:
        NotReadyError: when its hidden layer is not fixed yet.
    """
    with model._lock:
        learner = model._stage.fixed
        if learner is None:
            raise NotReadyError('the hidden layer is not fixed yet; learn more, or call '
                                'fix_layer()')
        return PartialSums.of(learner)


def leave_one_out(model: ProEMLC, X: object, labels: object, absent: object = None,
                  complete: object = True) -> Thresholds:
    """Return what learnt samples say about the decision rule, each as if left out.

    The model is as before. What several parts of the samples say adds up by Thresholds.merge().
    """
    with model._lock:
        learner = model._stage.fixed
        if learner is None:
            raise NotReadyError('nothing has been learnt, so nothing can be left out')
        before = learner.thresholds
        try:
            model.calibrate(X, labels, absent, complete)
            return learner.thresholds
        finally:
            learner.thresholds = before


def adopt_thresholds(model: ProEMLC, evidence: Thresholds) -> None:
    """Decide by the evidence of all parts from now on."""
    with model._lock:
        learner = model._stage.fixed
        if learner is not None:
            learner.thresholds = evidence.copy()
            learner.thresholds.choose()
