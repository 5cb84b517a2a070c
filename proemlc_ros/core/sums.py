# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums of samples: what several processes, bags or robots learnt adds up, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from proemlc_ros.core.compiled import Array, inverse, routines
from proemlc_ros.core.deciding.decider import KeptSample, Reservoir
from proemlc_ros.core.label_groups import LabelGroup, LabelGroups, changed_key
from proemlc_ros.core.labels import LabelColumns, SampleLabels, check_samples
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.ridge import ForgettingRidge, RecursiveRidge
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.sample_filter import LabelTokens, SampleFilter, labelled_checksums
from proemlc_ros.errors import HiddenLayerMismatchError, MergeError, NotReadyError

if TYPE_CHECKING:
    from proemlc_ros.core.model import ProEMLC


@dataclass
class _GroupGram:
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
class _GroupSums:
    """The groups of labels that partial annotations inform.

    Args:
        seen: of all partial annotations, whatever they inform; its columns are those of labels
            without a sum of their own, for which all samples count.
        groups: of labels known in the same samples.
    """

    seen: _GroupGram
    groups: list[_GroupGram] = field(default_factory=list)

    @classmethod
    def empty(cls, size: int) -> _GroupSums:
        """Return sums without samples."""
        return cls(_GroupGram([], [np.zeros((size, size), order='F')]))

    def of(self, column: int) -> _GroupGram | None:
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
                group = _GroupGram(inside, list(group.parts), group.key, group.partial)
                self.groups.append(group)
            if inside:
                group.add(outer, checksum)
        if left:
            self.groups.append(_GroupGram(sorted(left), [outer], changed_key(0, checksum, 1), 1))

    def merge(self, other: _GroupSums, columns: dict[int, int]) -> None:
        """Add the sums of others; columns: where their columns stand here.

        Labels without a sum of their own must be so on both sides.
        """
        theirs = {columns[column]: group for group in other.groups for column in group.columns}
        mine = {column: group for group in self.groups for column in group.columns}
        pairs: dict[tuple[int, int], _GroupGram] = {}
        for column in sorted({*mine, *theirs}):
            sides = [side[column] for side in (mine, theirs) if column in side]
            pair = id(mine.get(column)), id(theirs.get(column))
            if pair not in pairs:
                pairs[pair] = _GroupGram([], [part for side in sides for part in side.parts],
                                        sum(side.key for side in sides) % (1 << 64),
                                        sum(side.partial for side in sides))
            pairs[pair].columns.append(column)
        self.groups = list(pairs.values())
        self.seen.parts = [*self.seen.parts, *other.seen.parts]
        self.seen.key = (self.seen.key + other.seen.key) % (1 << 64)
        self.seen.partial += other.seen.partial

    def release(self, column: int) -> _GroupGram | None:
        """Let all samples count for a label from now on; returns the group that it leaves."""
        group = self.of(column)
        if group is not self.seen:
            if group is not None:
                group.columns = [other for other in group.columns if other != column]
                self.groups = [group for group in self.groups if group.columns]
            self.seen.columns.append(column)
        return group

    def beyond(self, limit: int) -> list[_GroupGram]:
        """Return the groups of the fewest samples, those above a limit."""
        return sorted(self.groups, key=lambda group: -group.partial)[limit:]


_BLOCK = 256


@dataclass
class PartialSums:
    """H^T H, and H^T Y kept so that a label which only one side knows needs no special case.

    For a label, H^T y = evidence - absent_sum: absent_sum is the sum of the hidden rows of all
    complete samples, each of which says "absent" to every label that it does not show; evidence is
    what the samples that mention the label say beyond that, nothing for a label never mentioned.
    Likewise H^T H is that of the complete samples and of the partial ones that mention the label.
    """

    options: Options
    layer: HiddenLayer
    labels: LabelColumns
    gram: Array  # lower triangle of H^T H of the complete samples
    evidence: Array  # (size, labels)
    absent_sum: Array  # (size,)
    prior: Array  # (size,), the ridge
    reservoir: Reservoir
    sample_filter: SampleFilter
    groups: _GroupSums  # of the partial ones
    tokens: LabelTokens
    samples: int = 0
    mass: float = 0.0

    @classmethod
    def empty(cls, options: Options, layer: HiddenLayer) -> PartialSums:
        """Return sums without samples.

        Raises:
            MergeError: for a model that forgets; sums know no order.
        """
        if options.forgets:
            raise MergeError('a model that forgets needs its samples in order, which sums do not '
                             'keep; use forgetting=1, or learn the samples one after the other')
        size = layer.size
        return cls(options, layer, LabelColumns(), np.zeros((size, size), order='F'),
                   np.zeros((size, 0), order='F'), np.zeros(size),
                   np.full(size, options.ridge), Reservoir(), SampleFilter(),
                   _GroupSums.empty(size), LabelTokens())

    @classmethod
    def of(cls, learner: Learner) -> PartialSums:
        """Return the sums of all samples that a learner has learnt.

        Raises:
            MergeError: when it has no ridge and too few samples, so that its sums are lost.
        """
        prior = (learner.ridge.prior.copy() if isinstance(learner.ridge, ForgettingRidge)
                 else np.full(learner.layer.size, learner.options.ridge))
        seen, target_sums = _sums_of(learner.ridge, prior)
        groups = _GroupSums.empty(learner.layer.size)
        gram = seen
        if learner.groups is not None:
            gram, target_sums[:, learner.groups.complete.columns] = _sums_of(
                learner.groups.complete.ridge, prior)
            for group in learner.groups.others:
                own, target_sums[:, group.columns] = _sums_of(group.ridge, prior)
                groups.groups.append(_GroupGram(list(group.columns), [own - gram], group.key,
                                               group.partial))
            groups.seen = _GroupGram(learner.groups.approximate(target_sums.shape[1]),
                                    [seen - gram], learner.groups.key, learner.groups.partial)
        absent_sum = -target_sums[:, 0]
        return cls(learner.options, learner.layer, learner.labels.copy(), gram,
                   target_sums[:, 1:] + absent_sum[:, None], absent_sum, prior,
                   learner.reservoir.copy(), learner.sample_filter.copy(), groups,
                   learner.tokens.copy(), learner.samples, learner.mass)

    def add(self, X: object, labels: object, absent: object = None,
            complete: object = True) -> None:
        """Add samples, given as to ProEMLC.learn().

        A label without a sum of its own, beyond the limit of partial_memory, counts as neutral
        where it is unknown: the score that the model gave it then is not known here.
        """
        rows, annotations = check_samples(X, labels, absent, complete, self.layer.width,
                                          self.options.dtype, self.labels.columns)
        for start in range(0, rows.shape[0], _BLOCK):
            self._add_block(rows[start:start + _BLOCK], annotations[start:start + _BLOCK])
            for group in self.groups.beyond(self.options.group_limit(self.layer.size)):
                self._release(group.columns)

    def _add_block(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        hidden = self.layer.rows(rows).astype(np.float64, copy=False)
        for annotation in annotations:
            self.add_labels(annotation.named)
        weights = np.zeros((len(annotations), len(self.labels)))
        columns = self.labels.columns
        for place, annotation in enumerate(annotations):
            for name in annotation.present:
                # +1, and +1 to make up for the -1 that absent_sum says of a complete sample
                weights[place, columns[name] - 1] = 2.0 if annotation.complete else 1.0
                self.labels.count(name, 1)
            if not annotation.complete:
                weights[place, [columns[name] - 1 for name in annotation.absent]] = -1.0
        self.evidence += hidden.T @ weights
        completes = [annotation.complete for annotation in annotations]
        complete = hidden if all(completes) else hidden[completes]
        if len(complete):
            routines('float64').syrk(1.0, complete.T, beta=1.0, c=self.gram, lower=1,
                                     overwrite_c=1)
        self.absent_sum += complete.sum(axis=0)
        checksums = labelled_checksums(self, rows, annotations)
        for row, annotation, checksum in zip(hidden, annotations, checksums):
            if not annotation.complete:
                self.groups.add(row, [columns[name] for name in annotation.named], checksum)
        self.sample_filter.add_all(checksums)
        self._keep(hidden, weights, completes, checksums)
        self.samples += len(annotations)
        self.mass += sum(map(self.layer.mass, hidden))

    def _keep(self, hidden: Array, weights: Array, completes: list[bool],
              checksums: list[int]) -> None:
        """Keep some samples; weights: what each says about each label."""
        for place in self.reservoir.accepted(checksums, 0):
            targets = np.sign(weights[place]).astype(np.int8)
            if completes[place]:
                targets[targets == 0] = -1
            row = hidden[place]
            self.reservoir.add(KeptSample(
                checksums[place], row.astype(np.float32), targets, completes[place],
                self.layer.own_neuron(row), 0, 1))

    def add_labels(self, names: Iterable[str]) -> None:
        """Make labels known in this order; those known stay where they are."""
        for name in names:
            if name not in self.labels.columns:
                self.labels.add(name)
                self.evidence = np.asfortranarray(np.pad(self.evidence, ((0, 0), (0, 1))))

    def merge(self, other: PartialSums) -> None:
        """Add the sums of others, labels united by name.

        Raises:
            HiddenLayerMismatchError: when they come from another hidden layer.
        """
        if not self.layer.same_as(other.layer):
            raise HiddenLayerMismatchError(
                'the two models have different hidden layers, so their weights cannot be added; '
                'start the second from ProEMLC.empty_copy() of the first')
        self.add_labels(other.labels.names)
        places = {theirs: self.labels.columns[name]
                  for name, theirs in other.labels.columns.items()}
        other._release([column for column in places
                        if places[column] in self.groups.seen.columns])
        self._release([places[column] for column in other.groups.seen.columns])
        self.groups.merge(other.groups, places)
        self.evidence[:, np.array(list(places.values()), dtype=int) - 1] += other.evidence
        for name, count in zip(other.labels.names, other.labels.counts):
            self.labels.count(name, count)
        self.reservoir.merge(other.reservoir, [column - 1 for column in places.values()],
                             len(self.labels))
        self.tokens.merge(other.tokens, other.labels.names)
        self.gram += other.gram
        self.absent_sum += other.absent_sum
        np.maximum(self.prior, other.prior, out=self.prior)
        self.sample_filter.merge(other.sample_filter)
        self.samples += other.samples
        self.mass += other.mass

    def _release(self, columns: Iterable[int]) -> None:
        """Let labels do without sums of their own; where unknown, their own scores count."""
        for column in list(columns):
            if column in self.groups.seen.columns:
                continue
            target_sum = self.evidence[:, column - 1] - self.absent_sum
            group = self.groups.of(column)
            own = 0.0 if group is None else group.gram()
            beta = _product(_inverse(self._information(own)), target_sum)
            self.evidence[:, column - 1] += _product(self.groups.seen.gram() - own, beta)
            self.groups.release(column)

    def _information(self, partial: Array | float) -> Array:
        """Return H^T H and the ridge; partial: H^T H of the partial annotations that count."""
        information: Array = np.asfortranarray(self.gram + partial)
        information.flat[::len(self.prior) + 1] += self.prior
        return information

    def to_learner(self) -> Learner:
        """Return a learner that has learnt all samples.

        Raises:
            MergeError: when there is no ridge and the samples are too few.
        """
        learner = Learner(self.options, self.layer)
        self._solve(learner)
        if isinstance(learner.ridge, ForgettingRidge):
            learner.ridge.prior = self.prior.copy()
        learner.labels, learner.samples = self.labels.copy(), self.samples
        learner.mass, learner.reservoir = self.mass, self.reservoir.copy()
        learner.sample_filter, learner.tokens = self.sample_filter.copy(), self.tokens.copy()
        learner.decider.add_labels(len(learner.labels))
        learner.decider.fit_now(learner)
        return learner

    def _solve(self, learner: Learner) -> None:
        """Solve for the weights of each group; the matrices within the limit are kept."""
        target_sums = np.column_stack([-self.absent_sum,
                                       self.evidence - self.absent_sum[:, None]])
        ridge, sums = learner.ridge, self.groups
        ridge.matrix[:] = inverse = _inverse(self._information(0.0))
        ridge.set_beta(_product(inverse, target_sums))
        if not sums.seen.partial:
            return
        groups = learner.groups = LabelGroups(ridge, self.options.group_limit(ridge.size))
        groups.key, groups.partial = sums.seen.key, sums.seen.partial
        beyond = sums.beyond(groups.limit)
        for group in sums.groups:
            inverse = _inverse(self._information(group.gram()))
            beta = _product(inverse, target_sums[:, group.columns])
            ridge.beta[:, group.columns] = beta
            groups.complete.without(group.columns)
            if group not in beyond:
                own = groups.complete.ridge.copy()
                own.matrix[:] = inverse
                own.set_beta(beta)
                groups.others.append(LabelGroup(own, list(group.columns), group.key,
                                                group.partial))
        ridge.matrix[:] = inverse = _inverse(self._information(sums.seen.gram()))
        if shared := sums.seen.columns:
            groups.complete.without(shared)
            ridge.beta[:, shared] = _product(inverse, target_sums[:, shared])


def _sums_of(ridge: RecursiveRidge, prior: Array) -> tuple[Array, Array]:
    """Return H^T H and H^T Y of what a recursion has learnt."""
    settled = ridge.copy()
    settled.settle()
    gram = _inverse(settled.matrix * settled.scale)
    target_sums = _product(gram, ridge.beta.astype(np.float64))
    gram.flat[::ridge.size + 1] -= prior
    return gram, target_sums


def _product(matrix: Array, right: Array) -> Array:
    """Return the product with a symmetric matrix, given by its lower triangle."""
    columns = np.asfortranarray(right.reshape(len(right), -1))
    product: Array = routines('float64').symm(1.0, matrix, columns, lower=1)
    return product.reshape(right.shape)


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a symmetric matrix, both given by their lower triangles."""
    try:
        return inverse(matrix)
    except np.linalg.LinAlgError:
        raise MergeError('the samples do not determine the weights; choose a ridge above 0, '
                         'or learn more samples') from None


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
    if mine.options.adaptive or theirs.options.adaptive:
        raise MergeError('a model that chooses how fast it forgets needs its samples in order; '
                         'learn them one after the other')
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
