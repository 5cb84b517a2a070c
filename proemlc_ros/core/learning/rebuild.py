# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A layer that is drawn again from the first samples, with the work divided among later ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from proemlc_ros.core.layer import drawing_layer
from proemlc_ros.core.layer.warmup import WarmUp
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.learning.learnt_block import block_targets, count_block, names_in
from proemlc_ros.core.learning.unlearning import labelled_checksums
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.inverse import SMALL
from proemlc_ros.core.solving.recursive import BLOCK
from proemlc_ros.core.steps import Steps

# Samples that came meanwhile and are learnt in one step.
_CATCH_UP = 2


class Rebuild:
    """Makes the learner that has its layer from the kept samples and has learnt all of them.

    Each step takes about as long as learning a few samples. However it is divided, the result is
    what doing all of it at once gives.

    Args:
        options: settings.
        names: of labels known from the start.
        warmup: the samples.
        unmentioned: further labels, which come last.
    """

    def __init__(self, options: Options, names: Iterable[str], warmup: WarmUp,
                 unmentioned: list[str]) -> None:
        self._work = options, list(names), warmup, unmentioned
        self._steps: Steps[Learner] | None = None
        self._later: deque[tuple[Array, SampleLabels]] = deque()
        self._learner: Learner | None = None

    def add(self, vector: Array, annotation: SampleLabels) -> None:
        """Take a dense sample that is to be learnt after the others."""
        self._later.append((vector, annotation))

    def step(self) -> Learner | None:
        """Do a part of the work; return the learner when all is done."""
        if self._learner is None:
            self._steps = self._steps or _building(*self._work)
            try:
                next(self._steps)
            except StopIteration as end:
                self._learner = end.value
        else:
            for _ in range(min(_CATCH_UP, len(self._later))):
                self._learner.learn_one(*self._later.popleft())
        return None if self._later else self._learner

    def finish(self) -> Learner:
        """Do the rest of the work, in the same steps, so that the numbers are the same."""
        while (learner := self.step()) is None:
            pass
        return learner


def _building(options: Options, names: list[str], warmup: WarmUp,
              unmentioned: list[str]) -> Steps[Learner]:
    rows = warmup.rows()
    layer = yield from drawing_layer(options, rows.shape[1], rows[:warmup.layer_samples])
    yield
    learner = Learner(options, layer, names)
    yield from _learning(learner, rows, list(warmup.annotations))
    learner.grow(unmentioned)
    return learner


def _learning(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> Steps[None]:
    """Learn complete samples that are certain to be accepted, the first of all."""
    layer, ridge = learner.layer, learner.ridge
    learner.grow(names_in(annotations))
    present, targets = block_targets(learner, annotations)
    yield
    checksums = labelled_checksums(learner, rows, annotations)
    count, step = len(annotations), BLOCK if layer.size < SMALL else BLOCK // 2
    hidden: Array = np.empty((count, layer.size), learner.options.dtype)
    yield
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        drawn = layer.drawn_rows(part)
        hidden[part] = layer.rows(rows[part]) if drawn is None else drawn
        ridge.update_rows(hidden[part], ridge.prepare_rows(hidden[part], not start), targets[part])
        yield
    layer.forget_drawn()
    # Counted and kept together, which is several times as fast as block by block.
    count_block(learner, hidden, present[:, 1:], layer.masses(hidden), checksums)
    yield
    learner.last_sum = hidden.sum(axis=0)
    learner.sample_filter.add_all(checksums)
    yield from learner.decider.fitting(learner)


def can_wait(learner: Learner, rows: Rows, annotations: list[SampleLabels]) -> bool:
    """Whether one sample can be put off: it is certain that no layer rejects it."""
    options = learner.options
    # Neurons around centres answer by at most 1; the bias is 1.
    return (rows.shape[0] == 1 and not is_sparse(rows) and annotations[0].complete
            and options.radial and not options.whiten and not options.direct_links
            and options.forgetting == 1.0 and options.recalibration == 'exact'
            and learner.groups is None and learner.ridge.always_accepts(options.hidden_size + 1.0))
