# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sums over partial annotations: H^T H of those that inform each label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.label_groups import changed_key


@dataclass
class GroupGram:
    """H^T H of the partial annotations that inform some labels, beside the complete ones.

    Args:
        columns: of these labels; column 0 is nobody's here.
        parts: arrays that add up to it, lower triangles; other groups may share them.
        key: sum over the samples; equal for equal sets.
        partial: how many samples.
    """

    columns: list[int]
    parts: list[Array]
    key: int = 0
    partial: int = 0

    def gram(self) -> Array:
        """Return the sum of the parts, as one array."""
        if len(self.parts) > 1:
            self.parts = [np.sum(self.parts, axis=0)]
        return self.parts[0]

    def add(self, outer: Array, checksum: int) -> None:
        """Add a sample; outer: h h^T."""
        self.parts = [self.gram() + outer]
        self.key = changed_key(self.key, checksum, 1)
        self.partial += 1


@dataclass
class GroupSums:
    """The groups of labels that partial annotations inform.

    Args:
        seen: of all partial annotations, whatever they inform; its columns are those of labels
            without a sum of their own, for which all samples count.
        groups: of labels known in the same samples.
    """

    seen: GroupGram
    groups: list[GroupGram] = field(default_factory=list)

    @classmethod
    def empty(cls, size: int) -> GroupSums:
        """Return sums without samples."""
        return cls(GroupGram([], [np.zeros((size, size), order='F')]))

    def of(self, column: int) -> GroupGram | None:
        """Return the group of a label; None: no partial annotation informs it."""
        return next((group for group in (self.seen, *self.groups) if column in group.columns),
                    None)

    def add(self, hidden: Array, informed: Iterable[int], checksum: int) -> None:
        """Add a partial annotation that informs these columns."""
        outer = np.asfortranarray(np.tril(np.outer(hidden, hidden)))
        self.seen.add(outer, checksum)
        left = set(informed).difference(self.seen.columns)
        for group in list(self.groups):
            inside = [column for column in group.columns if column in left]
            left.difference_update(inside)
            if inside and len(inside) < len(group.columns):
                group.columns = [column for column in group.columns if column not in inside]
                group = GroupGram(inside, list(group.parts), group.key, group.partial)
                self.groups.append(group)
            if inside:
                group.add(outer, checksum)
        if left:
            self.groups.append(GroupGram(sorted(left), [outer], changed_key(0, checksum, 1), 1))

    def merge(self, other: GroupSums, columns: dict[int, int]) -> None:
        """Add the sums of others; columns: where their columns stand here.

        Labels without a sum of their own must be so on both sides.
        """
        theirs = {columns[column]: group for group in other.groups for column in group.columns}
        mine = {column: group for group in self.groups for column in group.columns}
        pairs: dict[tuple[int, int], GroupGram] = {}
        for column in sorted({*mine, *theirs}):
            sides = [side[column] for side in (mine, theirs) if column in side]
            pair = id(mine.get(column)), id(theirs.get(column))
            if pair not in pairs:
                pairs[pair] = GroupGram([], [part for side in sides for part in side.parts],
                                        sum(side.key for side in sides) % (1 << 64),
                                        sum(side.partial for side in sides))
            pairs[pair].columns.append(column)
        self.groups = list(pairs.values())
        self.seen.parts = [*self.seen.parts, *other.seen.parts]
        self.seen.key = (self.seen.key + other.seen.key) % (1 << 64)
        self.seen.partial += other.seen.partial

    def release(self, column: int) -> GroupGram | None:
        """Let all samples count for a label from now on; returns the group that it leaves."""
        group = self.of(column)
        if group is not self.seen:
            if group is not None:
                group.columns = [other for other in group.columns if other != column]
                self.groups = [group for group in self.groups if group.columns]
            self.seen.columns.append(column)
        return group

    def beyond(self, limit: int) -> list[GroupGram]:
        """Return the groups of the fewest samples, those above a limit."""
        return sorted(self.groups, key=lambda group: -group.partial)[limit:]
