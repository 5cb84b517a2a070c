# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When the decision is fitted again, and the bounded sample of what was learnt to fit it to."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.calibration import LeftOut, Targets
from proemlc_ros.core.deciding.decision import Decision, fit_decision
from proemlc_ros.core.deciding.left_out import LearntRows, Solution, joined, left_out
from proemlc_ros.core.deciding.novelty import look_at_views
from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.ridge import rows_in_step
from proemlc_ros.core.rows import Rows

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner

# Samples kept: enough for the curves of the labels, few enough to look at again and again.
CAPACITY = 768
# Spreads a checksum over its 32 bits (Fibonacci hashing).
_SPREAD = 0x9E3779B1


class KeptSample(NamedTuple):
    """A learnt sample of which the left-out scores are wanted again and again."""

    checksum: int
    hidden: Array  # float32, to save memory
    targets: Targets  # one per label then known: -1, 1; 0: unknown
    complete: bool  # labels that came later are absent; otherwise unknown
    own: int  # the neuron that is centred on it; -1: none
    born: int  # how many samples a model that forgets had learnt
    times: int  # how often it was learnt

    def targets_for(self, labels: int) -> Targets:
        """Return one target per label of a set that has grown."""
        targets = np.full(labels, -1 if self.complete else 0, dtype=np.int8)
        targets[:len(self.targets)] = self.targets
        return targets


def targets_of(samples: Sequence[KeptSample], labels: int) -> Targets:
    """Return the targets of samples (n, labels), of a set of labels that has grown."""
    if {len(sample.targets) for sample in samples} == {labels}:
        return np.array([sample.targets for sample in samples], dtype=np.int8)
    return np.stack([sample.targets_for(labels) for sample in samples])


class Reservoir:
    """Keeps the samples whose checksums come first in an order that looks random.

    So the choice depends on the samples alone, and that of two models is the union of theirs. With
    forgetting the weight of a sample counts as well: recent ones come first.
    """

    def __init__(self, forgetting: float = 1.0, capacity: int = CAPACITY) -> None:
        """Start empty; forgetting: factor per sample."""
        self.capacity = capacity
        self._samples: list[KeptSample] = []
        self._hidden: Callable[[], Mapping[int, Array]] | None = None
        self._fading = math.log(forgetting)
        self._ranks: list[float] = []
        # Samples of this rank and beyond do not fit in, or did not once.
        self.limit = math.inf

    def __len__(self) -> int:
        """Return how many different samples are kept."""
        return len(self._samples)

    def accepts(self, checksum: int, born: int) -> bool:
        """Whether a sample would be kept; False is most common in a long stream."""
        return self._rank(checksum, born) < self.limit

    def accepted(self, checksums: Sequence[int], born: int) -> list[int]:
        """Return which of several samples may be kept, as places; the first is born then."""
        if self.limit == math.inf:
            return list(range(len(checksums)))
        if not self._fading:
            # The same as accepts(), of all together.
            spread = np.array(checksums, dtype=np.uint64) * np.uint64(_SPREAD)
            ranks = ((spread & np.uint64(0xFFFFFFFF)) + 0.5) / 2.0 ** 32
            places: list[int] = (ranks < self.limit).nonzero()[0].tolist()
            return places
        return [place for place, checksum in enumerate(checksums)
                if self.accepts(checksum, born + place)]

    def add(self, sample: KeptSample) -> None:
        """Keep a sample, unless others come first."""
        rank = self._rank(sample.checksum, sample.born)
        if rank >= self.limit:
            return
        place = self._find(rank, sample.targets, sample.complete)
        if place is not None:
            same = self._samples[place]
            self._samples[place] = same._replace(times=same.times + sample.times)
            return
        place = bisect.bisect_right(self._ranks, rank)
        self._ranks.insert(place, rank)
        self._samples.insert(place, sample)
        while len(self._samples) > self.capacity:
            self.limit = self._ranks[-1]
            self._cut()

    def add_all(self, samples: list[KeptSample]) -> None:
        """Keep samples; the same as add() of each in turn."""
        ranks = self._ranks + [self._rank(sample.checksum, sample.born) for sample in samples]
        if len(ranks) > self.capacity or len(set(ranks)) < len(ranks) or max(ranks) >= self.limit:
            for sample in samples:
                self.add(sample)
            return
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        together = self._samples + samples
        self._samples = [together[place] for place in order]
        self._ranks = [ranks[place] for place in order]

    def add_again(self, checksum: int, targets: Targets, complete: bool) -> bool:
        """Count a sample that is kept already once more; whether it is.

        For models that do not forget, where it is the same whenever it came.
        """
        if self._fading or not self._ranks:
            return False
        place = self._find(self._rank(checksum, 0), targets, complete)
        if place is not None:
            same = self._samples[place]
            self._samples[place] = same._replace(times=same.times + 1)
        return place is not None

    def discard(self, sample: KeptSample) -> None:
        """Keep a sample that was taken back once less; the last one of its kind."""
        for place in range(len(self.samples) - 1, -1, -1):
            kept = self.samples[place]
            if kept.checksum == sample.checksum and _says_the_same(kept, sample.targets,
                                                                   sample.complete):
                if kept.times > 1:
                    self.samples[place] = kept._replace(times=kept.times - 1)
                else:
                    del self.samples[place], self._ranks[place]
                return

    def merge(self, other: Reservoir, columns: Sequence[int], labels: int) -> None:
        """Keep those of both; columns: where their labels stand here, of that many labels."""
        self.limit = min(self.limit, other.limit)
        self._cut()
        for sample in other.samples:
            targets = np.full(labels, -1 if sample.complete else 0, dtype=np.int8)
            targets[np.array(columns, dtype=np.intp)] = sample.targets_for(len(columns))
            self.add(sample._replace(targets=targets))

    def follow(self, hidden: Callable[[], Mapping[int, Array]]) -> None:
        """Let the samples have other hidden rows, by checksum, when they are looked at next."""
        self._hidden = hidden

    @property
    def samples(self) -> list[KeptSample]:
        """The samples, the first by rank first."""
        if self._hidden is not None:
            # A layer that grows changes them with every sample, and they are looked at seldom.
            hidden, self._hidden = self._hidden(), None
            self._samples = [
                sample._replace(hidden=hidden.get(sample.checksum, sample.hidden))
                for sample in self._samples]
        return self._samples

    @samples.setter
    def samples(self, samples: list[KeptSample]) -> None:
        self._samples = samples

    def remove_label(self, place: int) -> None:
        """Forget a label; the rest of what the samples say stays."""
        self.samples = [
            sample._replace(targets=np.delete(sample.targets, place))
            if place < len(sample.targets) else sample for sample in self.samples]

    def copy(self) -> Reservoir:
        """Return an independent copy; the samples, which never change, are shared."""
        twin = Reservoir(capacity=self.capacity)
        twin.samples, twin._ranks = self.samples.copy(), self._ranks.copy()
        twin.limit, twin._fading = self.limit, self._fading
        return twin

    def restore(self, samples: Iterable[KeptSample], limit: float) -> None:
        """Take over samples from a file."""
        self.limit = math.inf
        for sample in samples:
            self.add(sample)
        self.limit = min(limit, self.limit)

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        return sum(sample.hidden.nbytes + sample.targets.nbytes for sample in self.samples)

    def _rank(self, checksum: int, born: int) -> float:
        share = ((checksum * _SPREAD & 0xFFFFFFFF) + 0.5) / 2.0 ** 32
        if not self._fading:
            return share
        # Weighted sampling (Efraimidis and Spirakis): an exponential number over the weight.
        return math.log(-math.log(share)) + born * self._fading

    def _find(self, rank: float, targets: Targets, complete: bool) -> int | None:
        place = bisect.bisect_left(self._ranks, rank)
        while place < len(self._ranks) and self._ranks[place] == rank:
            if _says_the_same(self._samples[place], targets, complete):
                return place
            place += 1
        return None

    def _cut(self) -> None:
        end = bisect.bisect_left(self._ranks, self.limit)
        del self._samples[end:], self._ranks[end:]


def _says_the_same(one: KeptSample, targets: Targets, complete: bool) -> bool:
    if one.complete != complete:
        return False
    if len(one.targets) == len(targets):
        return one.targets.tobytes() == targets.tobytes()
    labels = max(len(one.targets), len(targets))
    other = one._replace(targets=targets)
    return bool(np.array_equal(one.targets_for(labels), other.targets_for(labels)))


# Up to so many samples the decision is fitted to each; then whenever an eighth more have come, a
# quarter where the model is no longer young, half where it does not keep all samples. As long as
# it is young, a fit holds at once: what was taught last would be strange by percentiles of what
# came before.
_EACH, _YOUNG = 16, 256
# Kept samples that are looked at for each sample learnt meanwhile, several times as many together.
_AT_ONCE = 8
# Of the kept samples so many, the first by rank, are enough for the time being after a layer was
# made again. Otherwise all are looked at: with half of them decisions are clearly worse.
_IN_STREAM = 128
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
        # How scores become probabilities and labels.
        self.decision = Decision.prior(rule)
        # Samples that had been learnt when the last fit began; from how many on it holds.
        self.begun = 0
        self.due = 0
        self._upcoming: Decision | None = None
        self._work: Iterator[Decision | None] | None = None

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
        return start if start <= _YOUNG else start - -kept // _AT_ONCE + 1

    def begin(self, learner: Learner, spread: bool = False, most: int = CAPACITY) -> None:
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
        self._work = _fit(self.decision.rule, Solution.of(learner, spread), kept,
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

    def fit_to(self, learner: Learner, rows: Rows, evidence: LeftOut) -> None:
        """Fit at once to left-out scores of learnt rows, all of which decide, to hold from now on.

        How far they are from each other, as many as a model keeps tell.
        """
        some = slice(None, None, -(-len(evidence.scores) // CAPACITY))
        columns: list[Any] = [column[some] for column in evidence[:-1]]
        seen = look_at_views(learner.layer, learner.layer.rows(rows[some]), LeftOut(*columns))
        distances = np.full(len(evidence.scores), np.nan)
        distances[some] = seen.distances
        # By all of them: a few hundred, as in a stream, are chance where losses are so near.
        self.adopt(fit_decision(
            self.decision.rule, evidence._replace(distances=distances, views=seen.views),
            np.array(learner.labels.counts, dtype=np.int64), learner.layer.radial,
            len(evidence.scores)), learner.samples)

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
            self.decision = self._upcoming.with_labels(self.decision.labels)
            self._upcoming = None

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

    def after_rows(self, learner: Learner, in_stream: bool = False) -> None:
        """Fit at once where enough samples have come together.

        in_stream: a stream goes on one by one, and the next sample begins a whole fit.
        """
        if learner.samples >= self.due:
            self._adopt()
        if in_stream and learner.samples > _YOUNG:
            self.fit_now(learner, _IN_STREAM)
            self.begun -= self.begun // 3
        elif learner.samples >= self.next_start():
            self.fit_now(learner)

    # ----- labels -----

    def add_labels(self, labels: int) -> None:
        """Decide about that many labels from now on."""
        self.decision = self.decision.with_labels(labels)

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
    part = 8 if begun < _YOUNG else 4 if begun < CAPACITY else 2
    return begun + (max(1, begun // part) if begun >= _EACH else 1)


class LabelQuality(NamedTuple):
    """How a model does on samples that show a label, each as if it had not been learnt."""

    shown: int  # left-out samples that show it
    recall: float  # share of these in which it is predicted
    precision: float  # share of its predictions that are right; 1: there are none


class LeftOutQuality(NamedTuple):
    """How a model does on the samples that it keeps, each as if it had not been learnt.

    Samples that alone show a label do not count: without them the label is not known.
    """

    samples: int = 0  # left out
    right: float = 0.0  # share of these whose labels are all predicted, and no others
    f1: float = 0.0  # mean over these
    labels: dict[str, LabelQuality] = {}  # of labels that several samples show

    def by_label(self, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Return how many samples show each label, and its recall; 0 where none tells."""
        found = [self.labels.get(name, LabelQuality(0, 0.0, 1.0)) for name in names]
        return tuple(one.shown for one in found), tuple(one.recall for one in found)


def left_out_quality(solution: Solution, decision: Decision, kept: list[KeptSample],
                     columns: LabelColumns) -> LeftOutQuality:
    """Return how good predictions for kept samples are, each as if it had been left out.

    Args:
        solution: of the learner.
        decision: how it predicts.
        kept: the samples.
        columns: its labels, with their counts.
    """
    counts = np.array(columns.counts, dtype=np.int64)
    together = rows_in_step(solution.layer.size)
    parts = [_look_at(solution, kept[start:start + together], len(columns))
             for start in range(0, len(kept), together)]
    if not parts or not len(counts):
        return LeftOutQuality()
    evidence = joined(parts)
    usual = ~((evidence.targets > 0) & (counts == 1)).any(axis=1)
    targets, weights = evidence.targets[usual], evidence.weights[usual]
    scores = evidence.scores[usual] + columns.handicap
    chosen = decision.decide(scores, decision.probabilities(scores, evidence.known[usual]))
    chosen, shown = chosen & (targets != 0), targets > 0
    hits, sizes = (chosen & shown).sum(axis=1), chosen.sum(axis=1) + shown.sum(axis=1)
    total = max(float(weights.sum()), 1e-300)
    found, named, there = (weights @ cells for cells in (chosen & shown, chosen, shown))
    return LeftOutQuality(
        int(usual.sum()), float(weights @ (2 * hits == sizes)) / total,
        float(weights @ np.where(sizes, 2.0 * hits / np.maximum(sizes, 1), 1.0)) / total,
        {name: LabelQuality(int(shown[:, place].sum()), float(found[place] / there[place]),
                            float(found[place] / named[place]) if named[place] else 1.0)
         for place, name in enumerate(columns.names) if there[place]})


def _fit(rule: str, solution: Solution, samples: list[KeptSample],
         counts: npt.NDArray[np.int64], step: int) -> Iterator[Decision | None]:
    """Yield after every few samples, and the decision at last."""
    parts, together = [], rows_in_step(solution.layer.size)
    for start in range(0, len(samples), step):
        if start % together == 0:
            parts.append(_look_at(solution, samples[start:start + together], len(counts)))
        yield None
    evidence = look_at_views(solution.layer, np.array([sample.hidden for sample in samples]),
                             joined(parts))
    yield fit_decision(rule, evidence, counts, solution.layer.radial)


def _look_at(solution: Solution, samples: list[KeptSample], labels: int) -> LeftOut:
    hidden = np.array([sample.hidden for sample in samples], dtype=solution.ridge.dtype)
    own, born, times = (np.array(values, dtype=np.intp) for values in zip(*[
        (sample.own, sample.born, sample.times) for sample in samples]))
    return left_out(solution, LearntRows(hidden, targets_of(samples, labels), own, born, times))
