# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""By what number the sample filter knows a label, whatever its name is now."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.samples import SampleLabels

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
