# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Labels known in different samples: one recursion for each group known in the same ones.

A complete annotation informs every label, a partial one some of them. The weights of a label are
the ridge solution over the samples in which it is known, so labels known in the same samples share
one matrix M. A group is split when a partial annotation informs some of its labels only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.ridge import RecursiveRidge, RowBlock
from proemlc_ros.errors import NeverLearntError

# Spreads the checksum of a sample over 64 bits, so that sums of them tell sets of samples apart.
_SPREAD = 0x9E3779B97F4A7C15
_KEYS = (1 << 64) - 1

Mask = npt.NDArray[np.bool_]


class LabelGroup:
    """Labels known in the same samples.

    Args:
        ridge: recursion with one output per label.
        columns: of these labels in the table of all weights.
        key: sum over the partial annotations that inform them; equal for equal sets.
        partial: how many these are.
    """

    __slots__ = ('columns', 'key', 'partial', 'ridge')

    def __init__(self, ridge: RecursiveRidge, columns: list[int], key: int = 0,
                 partial: int = 0) -> None:
        self.ridge = ridge
        self.columns = columns
        self.key = key
        self.partial = partial

    def publish(self, table: RecursiveRidge) -> None:
        """Write the weights to the table."""
        table.beta[:, self.columns] = self.ridge.beta

    def without(self, columns: list[int]) -> Array:
        """Give labels away; returns their weights."""
        inside = [self.columns.index(column) for column in columns]
        left = [place for place in range(len(self.columns)) if place not in set(inside)]
        beta = self.ridge.beta[:, inside]
        self.ridge.set_beta(self.ridge.beta[:, left])
        self.columns = [self.columns[place] for place in left]
        return beta

    def absorb(self, other: LabelGroup) -> None:
        """Take in labels that are known in the same samples."""
        self.ridge.set_beta(np.column_stack([self.ridge.beta, other.ridge.beta]))
        self.columns = self.columns + other.columns

    def count(self, checksum: int, step: int) -> None:
        """Count a partial annotation; step -1: no longer."""
        self.key = changed_key(self.key, checksum, step)
        self.partial += step

    def copy(self) -> LabelGroup:
        """Return an independent copy."""
        return LabelGroup(self.ridge.copy(), list(self.columns), self.key, self.partial)


class GroupStep(NamedTuple):
    """What changes a group by one row: gain M h and leverage h M h."""

    group: LabelGroup
    gain: Array
    leverage: float


def changed_key(key: int, checksum: int, step: int) -> int:
    """Return the key of a set of samples with one more; step -1: one less."""
    return (key + step * ((checksum + 1) * _SPREAD)) & _KEYS


class LabelGroups:
    """The groups of a model that has learnt partial annotations.

    Beside them the model keeps one recursion over all samples, whatever they inform: the table. It
    holds the weights of all labels, and its matrix tells how new a sample is. Labels for which no
    matrix is left are solved with that one, which is approximate: where such a label is unknown it
    keeps its weights, as if the sample had the score that the model gave it.

    Args:
        table: the recursion over all samples; all of them complete so far.
        limit: most groups beside that of the labels known in complete annotations only.
    """

    def __init__(self, table: RecursiveRidge, limit: int) -> None:
        self.limit = limit
        # Column 0, the label that nobody has named yet, stays here: new labels begin as its copy.
        self.complete = LabelGroup(table.copy(), list(range(table.beta.shape[1])))
        self.others: list[LabelGroup] = []
        self.key = 0
        self.partial = 0

    def __iter__(self) -> Iterator[LabelGroup]:
        """Iterate over all groups, that of the complete annotations first."""
        yield self.complete
        yield from self.others

    def __len__(self) -> int:
        """Return the number of groups."""
        return 1 + len(self.others)

    def approximate(self, outputs: int) -> list[int]:
        """Return the columns that have no matrix of their own."""
        return sorted(set(range(outputs)).difference(*(group.columns for group in self)))

    # ----- one sample -----

    def steps(self, hidden: Array, known: Mask | None) -> list[GroupStep]:
        """Return the gain of each group that a sample informs; known: None for all columns."""
        return [GroupStep(group, *group.ridge.gain(hidden)) for group in self
                if known is None or known[group.columns].any()]

    def learn(self, table: RecursiveRidge, whole: tuple[Array, float], steps: list[GroupStep],
              residual: Array, known: Mask | None, checksum: int) -> None:
        """Learn one sample.

        Args:
            table: the recursion over all samples.
            whole: its gain and leverage.
            steps: as steps() gave them; columns added since are in the first group.
            residual: target - output; 0 where not known.
            known: which columns the sample informs; None: all.
            checksum: of the sample.
        """
        if known is not None:
            self.key, self.partial = changed_key(self.key, checksum, 1), self.partial + 1
            parts = ((self._informed(step.group, known), step) for step in steps)
            steps = [step._replace(group=group) for group, step in parts if group is not None]
            for step in steps:
                step.group.count(checksum, 1)
        table.update(*whole, self._shared(residual))
        informed = {id(step.group): step for step in steps}
        for group in self:
            if id(group) in informed:
                _, gain, leverage = informed[id(group)]
                group.ridge.update(gain, leverage, residual[group.columns])
            else:
                group.ridge.age()
            if id(group) in informed or table.forgets:
                group.publish(table)

    def _informed(self, group: LabelGroup, known: Mask) -> LabelGroup | None:
        """Return the group of the informed labels of a group; None: they have no matrix."""
        inside = [column for column in group.columns if known[column]]
        if len(inside) == len(group.columns):
            return group
        beta = group.without(inside)
        if len(self.others) >= self.limit:
            # The labels with the fewest partial annotations do without.
            weakest = min(self.others, key=lambda other: other.partial, default=group)
            if weakest.partial >= group.partial:
                return None
            self.others.remove(weakest)
        part = LabelGroup(group.ridge.copy(), inside, group.key, group.partial)
        part.ridge.set_beta(beta)
        self.others.append(part)
        return part

    def _shared(self, residual: Array) -> Array:
        """Return the residual of the labels that have no matrix of their own."""
        shared = residual.copy()
        for group in self:
            shared[group.columns] = 0.0
        return shared

    # ----- taking back -----

    def check_removal(self, steps: list[GroupStep], known: Mask | None) -> None:
        """Reject the taking back of a sample that was not learnt so.

        Raises:
            UnlearnError: before anything has changed.
        """
        for group, _, leverage in steps:
            if known is not None and not known[group.columns].all():
                raise NeverLearntError('the sample was never learnt with these labels; '
                                       'give the labels it was learnt with')
            group.ridge.check_removal(leverage)

    def unlearn(self, table: RecursiveRidge, whole: tuple[Array, float], steps: list[GroupStep],
                residual: Array, known: Mask | None, checksum: int) -> None:
        """Take one sample back, after rewind() and check_removal(); arguments as for learn()."""
        table.downdate(*whole, self._shared(residual))
        informed = {id(step.group): step for step in steps}
        for group in self:
            if id(group) in informed:
                _, gain, leverage = informed[id(group)]
                group.ridge.downdate(gain, leverage, residual[group.columns])
                if known is not None:
                    group.count(checksum, -1)
            else:
                group.ridge.regain()
            group.publish(table)
        if known is not None:
            self.key, self.partial = changed_key(self.key, checksum, -1), self.partial - 1
            self._unite()

    def rewind(self, table: RecursiveRidge) -> None:
        """Prepare to take the last sample back, after the table has; only for forgetting."""
        for group in self if table.forgets else ():
            group.ridge.rewind()
            group.publish(table)

    def _unite(self) -> None:
        """Let labels share a matrix again that are known in the same samples again."""
        by_key: dict[tuple[int, int], LabelGroup] = {}
        for group in self:
            first = by_key.setdefault((group.key, group.partial), group)
            if first is not group:
                first.absorb(group)
        self.others = [group for group in by_key.values() if group is not self.complete]

    # ----- rows of complete annotations -----

    def prepare_rows(self, hidden: Array) -> list[RowBlock]:
        """Return what learning a block of rows needs, group by group; changes nothing."""
        return [group.ridge.prepare_rows(hidden) for group in self]

    def update_rows(self, table: RecursiveRidge, hidden: Array, blocks: list[RowBlock],
                    targets: Array, residuals: Array) -> None:
        """Learn a block of rows, after the table has; residuals: of the table, are corrected."""
        for group, block in zip(self, blocks, strict=True):
            residuals[:, group.columns] = group.ridge.update_rows(
                hidden, block, targets[:, group.columns])
            group.publish(table)

    # ----- outputs -----

    def add_output(self, table: RecursiveRidge, weights: Array | None = None) -> None:
        """Append an output to the table and to the group of the complete annotations."""
        self.complete.ridge.add_output(weights)
        self.complete.columns.append(table.beta.shape[1])
        table.add_output(self.complete.ridge.beta[:, -1])

    def remove_output(self, column: int) -> None:
        """Follow an output removed from the table."""
        for group in self:
            if column in group.columns:
                group.without([column])
            group.columns = [other - (other > column) for other in group.columns]
        self.others = [group for group in self.others if group.columns]

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        return sum(group.ridge.memory_bytes for group in self)

    def copy(self) -> LabelGroups:
        """Return an independent copy."""
        twin = object.__new__(LabelGroups)
        twin.__dict__.update(self.__dict__)
        twin.complete = self.complete.copy()
        twin.others = [group.copy() for group in self.others]
        return twin
