# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What several models or several parts of the samples have learnt, brought together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proemlc_ros.core.fleet.sums import PartialSums
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.errors import HiddenLayerMismatchError, MergeError, NotReadyError

if TYPE_CHECKING:
    from proemlc_ros.core.model import ProEMLC

# Settings that change the meaning of what was learnt.
_MUST_AGREE = ('ridge', 'forgetting', 'recalibration', 'threshold', 'dtype')


def merge_states(mine: ModelState, theirs: ModelState) -> None:
    """Add what the second model has learnt to the first.

    Raises:
        MergeError: when they do not fit together; the first is as before.
    """
    for name in _MUST_AGREE:
        here, there = getattr(mine.options, name), getattr(theirs.options, name)
        if here != there:
            raise MergeError(f'the models differ in {name}: {here!r} and {there!r}; '
                             'merge models with the same settings')
    for state in (mine, theirs):
        if state.warmup is not None and len(state.warmup):
            raise HiddenLayerMismatchError(
                'a model still waits for the samples that fix its hidden layer; let it learn '
                'more, or call fix_layer()')
    if mine.learner is None or theirs.learner is None:
        _take_over(mine, theirs)
        return
    sums = PartialSums.of(mine.learner)
    sums.merge(PartialSums.of(theirs.learner))
    mine.learner = sums.to_learner()


def _take_over(mine: ModelState, theirs: ModelState) -> None:
    """Merge where one side has learnt nothing yet."""
    if theirs.learner is not None:
        _check_alike(mine, theirs)
        known = mine.labels.names
        mine.learner, mine.width, mine.warmup = theirs.learner, theirs.width, None
    else:
        known = theirs.labels.names
    for name in known:
        mine.add_label(name)


def _check_alike(mine: ModelState, theirs: ModelState) -> None:
    here, there = (dict(state.options.as_dict(), width=None) for state in (mine, theirs))
    if here != there or mine.width not in (None, theirs.width):
        changed = sorted(name for name in here if here[name] != there[name]) or ['width']
        raise HiddenLayerMismatchError(f'the models differ in {", ".join(changed)}; '
                                       'merge models with the same hidden layer')


def learnt_sums(model: ProEMLC) -> PartialSums:
    """Return the partial sums of everything that a model has learnt.

    Raises:
        NotReadyError: when its hidden layer is not fixed yet.
    """
    with model._lock:
        learner = model._state.fixed
        if learner is None:
            raise NotReadyError('the hidden layer is not fixed yet; learn more, or call '
                                'fix_layer()')
        return PartialSums.of(learner)
