# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A bounded sample of what was learnt, the same whatever the order it came in."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from proemlc_ros.core.deciding.calibration import Targets
from proemlc_ros.core.solving.blas import Array

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
        self.samples: list[KeptSample] = []
        self._fading = math.log(forgetting)
        self._ranks: list[float] = []
        # Samples of this rank and beyond do not fit in, or did not once.
        self.limit = math.inf

    def __len__(self) -> int:
        """Return how many different samples are kept."""
        return len(self.samples)

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
            same = self.samples[place]
            self.samples[place] = same._replace(times=same.times + sample.times)
            return
        place = bisect.bisect_right(self._ranks, rank)
        self._ranks.insert(place, rank)
        self.samples.insert(place, sample)
        while len(self.samples) > self.capacity:
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
        together = self.samples + samples
        self.samples = [together[place] for place in order]
        self._ranks = [ranks[place] for place in order]

    def add_again(self, checksum: int, targets: Targets, complete: bool) -> bool:
        """Count a sample that is kept already once more; whether it is.

        For models that do not forget, where it is the same whenever it came.
        """
        if self._fading or not self._ranks:
            return False
        place = self._find(self._rank(checksum, 0), targets, complete)
        if place is not None:
            same = self.samples[place]
            self.samples[place] = same._replace(times=same.times + 1)
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
            if _says_the_same(self.samples[place], targets, complete):
                return place
            place += 1
        return None

    def _cut(self) -> None:
        end = bisect.bisect_left(self._ranks, self.limit)
        del self.samples[end:], self._ranks[end:]


def _says_the_same(one: KeptSample, targets: Targets, complete: bool) -> bool:
    if one.complete != complete:
        return False
    if len(one.targets) == len(targets):
        return one.targets.tobytes() == targets.tobytes()
    labels = max(len(one.targets), len(targets))
    other = one._replace(targets=targets)
    return bool(np.array_equal(one.targets_for(labels), other.targets_for(labels)))
