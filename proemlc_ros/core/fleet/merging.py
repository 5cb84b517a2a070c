# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Two models into one."""

from __future__ import annotations

from proemlc_ros.core.fleet.sums import PartialSums
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.errors import HiddenLayerMismatchError, MergeError

# Settings that change the meaning of what was learnt.
_MUST_AGREE = ('ridge', 'forgetting', 'recalibration', 'threshold', 'dtype')


def merge_stages(mine: ModelState, theirs: ModelState) -> None:
    """Add what the second stage has learnt to the first.

    Raises:
        MergeError: when they do not fit together; the first is as before.
    """
    for name in _MUST_AGREE:
        here, there = getattr(mine.options, name), getattr(theirs.options, name)
        if here != there:
            raise MergeError(f'the models differ in {name}: {here!r} and {there!r}; '
                             'merge models with the same settings')
    for stage in (mine, theirs):
        if stage.warmup is not None and len(stage.warmup):
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
        mine.know(name)


def _check_alike(mine: ModelState, theirs: ModelState) -> None:
    here, there = (dict(stage.options.as_dict(), width=None) for stage in (mine, theirs))
    if here != there or mine.width not in (None, theirs.width):
        changed = sorted(name for name in here if here[name] != there[name]) or ['width']
        raise HiddenLayerMismatchError(f'the models differ in {", ".join(changed)}; '
                                       'merge models with the same hidden layer')
