# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When the decision is fitted again, with the work divided among the samples that follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.deciding.calibration import LeftOut
from proemlc_ros.core.deciding.decision import Decision, fit_decision
from proemlc_ros.core.deciding.left_out import LearntRows, Solution, left_out
from proemlc_ros.core.deciding.reservoir import CAPACITY, KeptSample, targets_of
from proemlc_ros.core.solving.inverse import rows_in_step
from proemlc_ros.core.steps import Steps

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner

# Up to so many samples the decision is fitted to each; then whenever a quarter more have come.
_EACH = 16
# Kept samples that are looked at for each sample learnt meanwhile, several times as many together.
_AT_ONCE = 8
# Of the kept samples so many, the first by rank, are looked at as a stream goes on.
_STREAM = 384
# A model from a file that kept no samples decides as it did until so many are kept.
_ENOUGH = 64


class Decider:
    """Holds the decision of a learner and fits it again as samples come.

    A fit begins with the samples learnt by then and holds from a fixed number of samples later on,
    however its work was divided; so saved models go on as they would have. Samples that are learnt
    together are fitted together, at once.
    """

    def __init__(self, rule: str) -> None:
        """Start without evidence."""
        self._decision = Decision.prior(rule)
        # Labels to decide about; those of the decision are added when it is asked for.
        self._labels = 0
        # Samples that had been learnt when the last fit began; from how many on it holds.
        self.begun = 0
        self.due = 0
        self._upcoming: Decision | None = None
        self._work: Iterator[Decision | None] | None = None

    @property
    def decision(self) -> Decision:
        """How scores become probabilities and labels."""
        if self._decision.labels < self._labels:
            self._decision = self._decision.with_labels(self._labels)
        return self._decision

    @decision.setter
    def decision(self, decision: Decision) -> None:
        self._decision, self._labels = decision, decision.labels

    # ----- as samples come -----

    def advance(self, learner: Learner) -> None:
        """Do the work that is due after one more sample."""
        samples = learner.samples
        self._go_on()
        if samples >= self.due:
            self._adopt()
        if samples >= self.next_start():
            self.begin(learner, spread=True)

    def next_start(self) -> int:
        """Return after how many samples the next fit begins."""
        return _next_start(self.begun)

    def due_after(self, start: int, kept: int) -> int:
        """Return from how many samples on a fit holds that begins then, with so many kept."""
        return start if start <= _EACH else start - -kept // _AT_ONCE + 1

    def begin(self, learner: Learner, spread: bool = False, most: int = _STREAM) -> None:
        """Begin a fit.

        Args:
            learner: to decide for.
            spread: go on with it as samples come, rather than at once.
            most: kept samples to look at.
        """
        self._start(learner, most, spread)
        if self.due == self.begun or not spread:
            self.settle()
        if self.due == self.begun:
            self._adopt()

    def _start(self, learner: Learner, most: int, spread: bool = False) -> None:
        """Prepare a fit; spread: the learner learns while it goes on."""
        self._adopt()
        kept, self.begun = learner.reservoir.samples[:most], learner.samples
        # A sample that was learnt twice is kept once.
        learnt = sum([sample.times for sample in kept])
        if learnt < min(_ENOUGH, learner.samples) or learner.options.ridge == 0.0:
            return
        self.due = self.due_after(self.begun, len(kept))
        spread = spread and self.due > self.begun
        self._work = _fit(self._decision.rule, Solution.of(learner, spread), kept,
                          np.array(learner.labels.counts, dtype=np.int64),
                          _AT_ONCE if spread else rows_in_step(learner.layer.size))

    def step_back(self, learner: Learner) -> None:
        """Fit again where a sample was taken back that the fit may have seen."""
        if learner.samples < self.begun:
            self.fit_now(learner)

    def fit_now(self, learner: Learner, most: int = CAPACITY) -> None:
        """Fit at once, to hold from now on; most: kept samples to look at."""
        if learner.samples:
            self.begin(learner, most=most)
            self._adopt()
        else:
            self.adopt(Decision.prior(self.decision.rule).with_labels(self.decision.labels), 0)

    def fitting(self, learner: Learner) -> Steps[None]:
        """Do what after_rows() does to a learner that nobody uses yet, in steps."""
        if learner.samples >= self.next_start():
            self._start(learner, CAPACITY)
            while self._work is not None:
                self._go_on()
                yield
            self._adopt()

    def _go_on(self) -> None:
        if self._work is not None:
            self._upcoming = next(self._work)
            if self._upcoming is not None:
                self._work = None

    def adopt(self, decision: Decision, samples: int) -> None:
        """Take over a decision that was fitted elsewhere, with that many samples learnt."""
        self._work = self._upcoming = None
        self.decision, self.begun, self.due = decision, samples, samples

    def settle(self) -> None:
        """Finish the work that has begun; its result still holds only when it is due."""
        if self._work is not None:
            *_, self._upcoming = self._work
            self._work = None

    def upcoming(self) -> Decision | None:
        """Return the decision that holds when it is due; None: there is none."""
        self.settle()
        return self._upcoming

    def _adopt(self) -> None:
        self.settle()
        if self._upcoming is not None:
            self._decision, self._upcoming = self._upcoming, None

    # ----- in blocks -----

    def starts(self, samples: int, until: int) -> list[int]:
        """Return after how many samples fits begin, from so many learnt up to so many."""
        begun, stops = self.begun, list[int]()
        while (begun := max(_next_start(begun), samples + 1)) <= until:
            stops.append(begun)
        return stops

    def held(self, samples: int, count: int) -> list[tuple[int, Decision]]:
        """Return the decisions of the next samples, each with the first that it holds for."""
        held = [(0, self.decision)]
        if samples < self.due < samples + count and (upcoming := self.upcoming()) is not None:
            held.append((self.due - samples, upcoming.with_labels(self.decision.labels)))
        return held

    def after_block(self, learner: Learner) -> None:
        """Begin the fit that is due after a block of samples, as if they had come one by one."""
        if learner.samples >= self.due:
            self._adopt()
        if learner.samples >= self.next_start():
            self.begin(learner)

    def after_rows(self, learner: Learner, count: int) -> None:
        """Fit at once where enough samples have come together, the last count of all.

        Where they are but a part, a stream goes on in chunks, and fewer kept samples are enough.
        """
        if learner.samples >= self.due:
            self._adopt()
        if learner.samples >= self.next_start():
            self.fit_now(learner, CAPACITY if 2 * count >= learner.samples else _STREAM)

    # ----- labels -----

    def add_labels(self, labels: int) -> None:
        """Decide about that many labels from now on."""
        self._labels = max(self._labels, labels)

    def remove_label(self, place: int) -> None:
        """Decide about a label no longer."""
        upcoming = self.upcoming()
        if upcoming is not None:
            self._upcoming = upcoming.with_labels(self.decision.labels).minus_label(place)
        self.decision = self.decision.minus_label(place)

    # ----- whole -----

    def copy(self) -> Decider:
        """Return an independent copy."""
        twin = Decider(self.decision.rule)
        twin.restore(self.decision, self.upcoming(), self.begun, self.due)
        return twin

    def restore(self, decision: Decision, upcoming: Decision | None, begun: int,
                due: int) -> None:
        """Take over what another decider was about to do."""
        self.decision, self._upcoming, self.begun, self.due = decision, upcoming, begun, due
        self._work = None


def _next_start(begun: int) -> int:
    return begun + (max(1, begun // 4) if begun >= _EACH else 1)


def _fit(rule: str, solution: Solution, samples: list[KeptSample],
         counts: npt.NDArray[np.int64], step: int) -> Iterator[Decision | None]:
    """Yield after every few samples, and the decision at last."""
    parts, together = [], rows_in_step(solution.layer.size)
    for start in range(0, len(samples), step):
        if start % together == 0:
            parts.append(_look_at(solution, samples[start:start + together], len(counts)))
        yield None
    evidence = parts[0] if len(parts) == 1 else LeftOut(*map(np.concatenate, zip(*parts)))
    yield fit_decision(rule, evidence, counts, solution.layer.radial)


def _look_at(solution: Solution, samples: list[KeptSample], labels: int) -> LeftOut:
    hidden = np.array([sample.hidden for sample in samples], dtype=solution.ridge.dtype)
    own, born, times = (np.array(values, dtype=np.intp) for values in zip(*[
        (sample.own, sample.born, sample.times) for sample in samples]))
    return left_out(solution, LearntRows(hidden, targets_of(samples, labels), own, born, times))
