# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Models that all samples have decided on, not the first ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.model import ProEMLC
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import check_rows
from proemlc_ros.core.samples import SampleLabels, check_samples
from proemlc_ros.core.selection.renewal_plan import RenewalPlan, plan_renewal
from proemlc_ros.core.selection.result import Point

# What another model must lose of the left-out F1 to be replaced; less is chance.
_CLEARLY = 0.005
# Samples that the best of many candidates may have right by chance.
_BY_CHANCE = 2.0


def renewed(X: object, labels: object, absent: object = None, complete: object = True,
            names: Iterable[str] = (), kept: Options | None = None,
            most: int = 1000) -> ProEMLC:
    """Return a model that all samples have decided on, in whatever order they came.

    Settings, centres, scaling and decision rule are chosen by leave-one-out, where bursts of
    nearly equal samples count as one; then all samples are learnt.

    Args:
        X: rows (n, width), in the order in which they came.
        labels: as for ProEMLC.learn(); likewise absent and complete.
        absent: see labels.
        complete: see labels.
        names: labels whose columns come first.
        kept: settings of which recalibration, forgetting, threshold, dtype and seed are kept.
        most: hidden neurons at most.

    Raises:
        InputError, LabelError: when the samples cannot be used, or show no label.

    >>> X = [[0.0, 0.1 * n] for n in range(20)] + [[1.0, 0.1 * n] for n in range(20)]
    >>> model = renewed(X, [['left']] * 20 + [['right']] * 20)
    >>> model.samples, model.predict([[0.9, 1.0]])
    (40, [('right',)])
    """
    kept = kept or Options()
    rows, annotations = check_samples(X, labels, absent, complete, None, kept.dtype, ())
    plan = plan_renewal(rows, annotations, kept, most)
    model = begin_renewal(plan, names)
    model.learn(rows, annotations)
    end_renewal(plan, model)
    return model


def begin_renewal(plan: RenewalPlan, names: Iterable[str] = ()) -> ProEMLC:
    """Return a model by the plan that has learnt nothing yet; names: of its first columns."""
    state = ModelState(plan.options, LabelColumns())
    state.learner = Learner(plan.options, plan.layer, names)
    state.width, state.warmup = plan.layer.width, None
    return ProEMLC._of(state, {})


def end_renewal(plan: RenewalPlan, model: ProEMLC) -> None:
    """Find the decision rule of a model by the plan that has learnt all samples."""
    with model._lock:
        if model._state.learner is not None:
            plan.calibrate(model._state.learner)


def left_out_point(plan: RenewalPlan, running: ProEMLC) -> Point | None:
    """Return the errors of another model on the samples of the plan, each burst left out.

    None where it has learnt nothing, or samples of another width.
    """
    with running._lock:
        learner = running._state.learner
        if learner is None or learner.layer.width != plan.layer.width:
            return None
        return plan.point_of(learner)


def is_better(point: Point, running: Point | None, samples: int) -> bool:
    """Tell whether a renewed model is worth a swap.

    The best of many candidates wins a sample or two by chance. Of a few dozen that would be a
    gain, and it may have been chosen by one thing of many to come: there the running one stays.

    Args:
        point: of the renewed model.
        running: of the running one; None: it has none.
        samples: that both were judged by.
    """
    if running is None:
        return True
    gain = point.left_out_f1 - running.left_out_f1 - _BY_CHANCE / samples
    return gain > _CLEARLY or gain >= 0.0 and point.left_out_square < running.left_out_square


def plan_for(X: object, annotations: Sequence[SampleLabels], kept: Options | None = None,
             most: int = 1000) -> RenewalPlan:
    """Return the plan of a renewal for samples whose annotations were accepted before."""
    kept = kept or Options()
    return plan_renewal(check_rows(X, None, kept.dtype), annotations, kept, most)
