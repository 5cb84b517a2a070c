# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums of samples: what several processes, bags or robots learnt adds up, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from proemlc_ros.core.deciding.reservoir import KeptSample, Reservoir
from proemlc_ros.core.fleet.group_sums import GroupGram, GroupSums
from proemlc_ros.core.label_tokens import LabelTokens
from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.learning.unlearning import SampleFilter, labelled_checksums
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels, check_samples
from proemlc_ros.core.solving.blas import Array, inverse, routines
from proemlc_ros.core.solving.forgetting import ForgettingRidge
from proemlc_ros.core.solving.label_groups import LabelGroup, LabelGroups
from proemlc_ros.core.solving.recursive import RecursiveRidge
from proemlc_ros.errors import HiddenLayerMismatchError, MergeError

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
    groups: GroupSums  # of the partial ones
    tokens: LabelTokens
    samples: int = 0
    mass: float = 0.0

    @classmethod
    def empty(cls, options: Options, layer: HiddenLayer) -> PartialSums:
        """Return sums without samples.

        Raises:
            MergeError: for a model that forgets; sums know no order.
        """
        if options.forgetting < 1.0:
            raise MergeError('a model that forgets needs its samples in order, which sums do not '
                             'keep; use forgetting=1, or learn the samples one after the other')
        size = layer.size
        return cls(options, layer, LabelColumns(), np.zeros((size, size), order='F'),
                   np.zeros((size, 0), order='F'), np.zeros(size),
                   np.full(size, options.ridge), Reservoir(), SampleFilter(),
                   GroupSums.empty(size), LabelTokens())

    @classmethod
    def of(cls, learner: Learner) -> PartialSums:
        """Return the sums of all samples that a learner has learnt.

        Raises:
            MergeError: when it has no ridge and too few samples, so that its sums are lost.
        """
        prior = (learner.ridge.prior.copy() if isinstance(learner.ridge, ForgettingRidge)
                 else np.full(learner.layer.size, learner.options.ridge))
        seen, target_sums = _sums_of(learner.ridge, prior)
        groups = GroupSums.empty(learner.layer.size)
        gram = seen
        if learner.groups is not None:
            gram, target_sums[:, learner.groups.complete.columns] = _sums_of(
                learner.groups.complete.ridge, prior)
            for group in learner.groups.others:
                own, target_sums[:, group.columns] = _sums_of(group.ridge, prior)
                groups.groups.append(GroupGram(list(group.columns), [own - gram], group.key,
                                               group.partial))
            groups.seen = GroupGram(learner.groups.approximate(target_sums.shape[1]),
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
