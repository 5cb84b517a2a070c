# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which samples were learnt, with which labels: a counting Bloom filter of their checksums."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.rows import Rows, checksums_of_rows

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner
    from proemlc_ros.core.sums import PartialSums

_MASK = (1 << 32) - 1
# Odd factors that tell "present" from "absent".
_PRESENT, _ABSENT = 0x9E3779B1, 0x85EBCA6B
# Most removed labels that are looked for in a sample, and most ways to read an annotation.
_REMOVED, _READINGS = 48, 256


class LabelTokens:
    """The labels of a sample as part of its checksum: a sum of one number per label.

    The number of a label is the checksum of the name with which it came. It stays when the label
    is renamed, and is remembered when it is removed, so that a sample is found again with the
    names that its labels have now.

    Args:
        given: numbers of labels that were renamed or merged, by their names now.
        removed: numbers of labels that were removed while samples named them.
        nameless: whether an earlier version recorded samples without their labels.
    """

    def __init__(self, given: dict[str, tuple[int, ...]] | None = None,
                 removed: tuple[int, ...] = (), nameless: bool = False) -> None:
        self.given = dict(given or {})
        self.removed = removed
        self.nameless = nameless

    def of(self, name: str) -> tuple[int, ...]:
        """Return the numbers of a label; several where models were merged."""
        if self.given and name not in self.given:
            taken = {token for tokens in self.given.values() for token in tokens}
            token = zlib.crc32(name.encode())
            while token in taken:  # by a label that was renamed
                token = (token + 1) & _MASK
                self.given[name] = (token,)
        return self.given.get(name) or (zlib.crc32(name.encode()),)

    def total(self, annotation: SampleLabels) -> int:
        """Return what the labels of a sample add to its checksum when it is learnt."""
        total = sum([self.of(name)[0] * _PRESENT for name in annotation.present])
        if not annotation.complete and annotation.absent:
            total += sum([self.of(name)[0] * _ABSENT for name in annotation.absent])
        return total & _MASK

    def totals(self, annotation: SampleLabels) -> npt.NDArray[np.uint64]:
        """Return what they may have added, the likely first: by other numbers, removed labels."""
        readings = [0]
        named = [(name, _PRESENT) for name in annotation.present]
        if not annotation.complete:
            named += [(name, _ABSENT) for name in annotation.absent]
        for name, factor in named:
            readings = [total + token * factor for token in self.of(name)
                        for total in readings][:_READINGS]
        removed = [token * factor for token in self.removed[-_REMOVED:]
                   for factor in ((_PRESENT,) if annotation.complete else (_PRESENT, _ABSENT))]
        more = [0, *removed, *map(sum, combinations(removed, 2))]
        totals = [(total + extra) & _MASK for extra in more for total in readings]
        return np.array(totals, dtype=np.uint64)

    def rename(self, name: str, new_name: str) -> None:
        """Follow a renamed label."""
        tokens = self.of(name)
        self.given.pop(name, None)
        if tokens != (zlib.crc32(new_name.encode()),):
            self.given[new_name] = tokens

    def remove(self, name: str, named: bool) -> None:
        """Follow a removed label; named: whether a learnt sample still names it."""
        tokens = self.of(name)
        self.given.pop(name, None)
        if named:
            self.removed = tuple(dict.fromkeys([*self.removed, *tokens]))

    def merge(self, other: LabelTokens, names: Iterable[str]) -> None:
        """Know the labels of another model as well, which has these names; united by name."""
        for name in {**self.given, **dict.fromkeys(names)} if self.given or other.given else ():
            tokens = tuple(dict.fromkeys(self.of(name) + other.of(name)))
            if tokens != (zlib.crc32(name.encode()),):
                self.given[name] = tokens
        self.removed = tuple(dict.fromkeys([*self.removed, *other.removed]))
        self.nameless = self.nameless or other.nameless

    def copy(self) -> LabelTokens:
        """Return an independent copy."""
        return LabelTokens(self.given, self.removed, self.nameless)


_TABLES, _SIZE = 4, 1 << 16
_FULL = (1 << 16) - 1
# Samples that are counted together.
_WAITING = 1024
CHECKSUMS = (1 << 32) - 1
# Spreads a checksum over 64 bits (Fibonacci hashing).
_SPREAD = 0x9E3779B97F4A7C15


class SampleFilter:
    """Counting Bloom filter of the learnt samples, so that no other sample is unlearnt.

    Of fixed size. A learnt sample is always found; one that was never learnt is taken for a learnt
    one with a probability of (1 - exp(-n / 65536))^4 after n samples: 4e-4 after 10,000, one in
    three after 100,000.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._counts: npt.NDArray[np.uint16] | None = None
        # Learnt, but not counted yet: together it takes a tenth of the time, and a layer that is
        # drawn again soon needs no counters at all.
        self._waiting: list[int] = []

    @property
    def counts(self) -> npt.NDArray[np.uint16]:
        """The counters."""
        return self._count() if self._counts is None or self._waiting else self._counts

    def _count(self) -> npt.NDArray[np.uint16]:
        if self._counts is None:
            self._counts = np.zeros(_TABLES * _SIZE, dtype=np.uint16)
        counts = self._counts
        # Products wrap around at 64 bits, of which the places use the lower 48.
        waiting = np.array(self._waiting, dtype=np.uint64)
        every = np.concatenate(_places(waiting)).astype(np.intp)
        self._waiting = []
        if counts[every].max(initial=0) < _FULL - len(every):
            np.add.at(counts, every, np.uint16(1))
        else:
            places, times = np.unique(every, return_counts=True)
            counts[places] = np.minimum(counts[places] + times, _FULL)
        return counts

    def add(self, checksum: int) -> None:
        """Count a learnt sample."""
        self._waiting.append(checksum)
        if len(self._waiting) >= _WAITING:
            self._count()

    def add_all(self, checksums: list[int]) -> None:
        """Count learnt samples."""
        self._waiting += checksums
        if len(self._waiting) >= _WAITING:
            self._count()

    def remove(self, checksum: int) -> None:
        """Count a sample no longer; it must be there."""
        counts = self.counts
        for place in _places(checksum):
            if counts[place] < _FULL:  # a full counter no longer knows its number
                counts[place] -= 1

    def __contains__(self, checksum: int) -> bool:
        """Whether the sample may have been learnt; False is certain."""
        counts = self.counts
        return all(counts[place] for place in _places(checksum))

    def find(self, checksums: npt.NDArray[np.uint64]) -> int | None:
        """Return the first of several checksums that may have been learnt."""
        found = np.logical_and.reduce([self.counts[place.astype(np.intp)] > 0
                                       for place in _places(checksums)])
        return int(checksums[found.argmax()]) if found.any() else None

    def merge(self, other: SampleFilter) -> None:
        """Count all samples of another filter."""
        total = self.counts.astype(np.uint32) + other.counts
        self.counts[:] = np.minimum(total, _FULL)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes without the view."""
        return _restore, (self.counts,)

    def copy(self) -> SampleFilter:
        """Return an independent copy."""
        return _restore(self.counts)


def _restore(counts: npt.NDArray[np.uint16]) -> SampleFilter:
    sample_filter = SampleFilter()
    sample_filter.counts[:] = counts
    return sample_filter


def labelled(checksum: int, total: int) -> int:
    """Return the checksum of a sample with its labels; total: as LabelTokens gives it."""
    return (checksum + total) & CHECKSUMS


def labelled_checksums(learner: Learner | PartialSums, rows: Rows,
                       annotations: list[SampleLabels]) -> list[int]:
    """Return the checksum of each row with its labels."""
    plain = checksums_of_rows(rows, [annotation.complete for annotation in annotations])
    # In a stream many annotations are equal.
    totals = {annotation: learner.tokens.total(annotation)
              for annotation in dict.fromkeys(annotations)}
    return [(checksum + totals[annotation]) & CHECKSUMS
            for checksum, annotation in zip(plain, annotations)]


def _places(checksum: Any) -> tuple[Any, Any, Any, Any]:
    """Return the counters of a checksum; of an array of them, arrays."""
    spread = checksum * _SPREAD >> 16
    return (checksum & _FULL, (checksum >> 16) + _SIZE, (spread & _FULL) + 2 * _SIZE,
            (spread >> 16 & _FULL) + 3 * _SIZE)
