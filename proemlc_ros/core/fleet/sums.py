# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums of samples: what several processes, bags or robots learnt adds up, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from proemlc_ros.core.deciding.reservoir import KeptSample, Reservoir
from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels, check_samples
from proemlc_ros.core.solving.blas import Array, routines
from proemlc_ros.core.solving.forgetting import ForgettingRidge
from proemlc_ros.core.unlearning import SampleFilter, checksums_of_rows
from proemlc_ros.errors import HiddenLayerMismatchError, MergeError

_BLOCK = 256


@dataclass
class PartialSums:
    """H^T H, and H^T Y kept so that a label which only one side knows needs no special case.

    For a label, H^T y = evidence - absent_sum: absent_sum is the sum of the hidden rows of all
    complete samples, each of which says "absent" to every label that it does not show; evidence is
    what the samples that mention the label say beyond that, nothing for a label never mentioned.
    """

    options: Options
    layer: HiddenLayer
    labels: LabelColumns
    gram: Array  # lower triangle of H^T H
    evidence: Array  # (size, labels)
    absent_sum: Array  # (size,)
    prior: Array  # (size,), the ridge
    reservoir: Reservoir
    sample_filter: SampleFilter
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
                   np.full(size, options.ridge), Reservoir(), SampleFilter())

    @classmethod
    def of(cls, learner: Learner) -> PartialSums:
        """Return the sums of all samples that a learner has learnt.

        Raises:
            MergeError: when it has no ridge and too few samples, so that its sums are lost.
        """
        ridge = learner.ridge.copy()
        ridge.settle()
        gram = _inverse(ridge.matrix * ridge.scale)
        prior = (ridge.prior.copy() if isinstance(ridge, ForgettingRidge)
                 else np.full(ridge.size, learner.options.ridge))
        target_sums = routines('float64').symm(1.0, gram, ridge.beta.astype(np.float64), lower=1)
        gram.flat[::ridge.size + 1] -= prior
        absent_sum = -target_sums[:, 0]
        return cls(learner.options, learner.layer, learner.labels.copy(), gram,
                   target_sums[:, 1:] + absent_sum[:, None], absent_sum, prior,
                   learner.reservoir.copy(), learner.sample_filter.copy(), learner.samples,
                   learner.mass)

    def add(self, X: object, labels: object, absent: object = None,
            complete: object = True) -> None:
        """Add samples, given as to ProEMLC.learn().

        A label that an incomplete annotation leaves unknown counts as neutral: the score
        that the model gave it then is not known here.
        """
        rows, annotations = check_samples(X, labels, absent, complete, self.layer.width,
                                          self.options.dtype, self.labels.columns)
        for start in range(0, rows.shape[0], _BLOCK):
            self._add_block(rows[start:start + _BLOCK], annotations[start:start + _BLOCK])

    def _add_block(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        hidden = self.layer.rows(rows).astype(np.float64, copy=False)
        routines('float64').syrk(1.0, hidden.T, beta=1.0, c=self.gram, lower=1, overwrite_c=1)
        for annotation in annotations:
            self._add_labels(annotation.named)
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
        self.absent_sum += hidden[completes].sum(axis=0)
        checksums = checksums_of_rows(rows, completes)
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

    def _add_labels(self, names: Iterable[str]) -> None:
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
        self._add_labels(other.labels.names)
        columns = [self.labels.columns[name] for name in other.labels.names]
        self.evidence[:, np.array(columns, dtype=int) - 1] += other.evidence
        for name, count in zip(other.labels.names, other.labels.counts):
            self.labels.count(name, count)
        self.reservoir.merge(other.reservoir, [column - 1 for column in columns],
                             len(self.labels))
        self.gram += other.gram
        self.absent_sum += other.absent_sum
        np.maximum(self.prior, other.prior, out=self.prior)
        self.sample_filter.merge(other.sample_filter)
        self.samples += other.samples
        self.mass += other.mass

    def to_learner(self) -> Learner:
        """Return a learner that has learnt all samples.

        Raises:
            MergeError: when there is no ridge and the samples are too few.
        """
        learner = Learner(self.options, self.layer)
        information = self.gram.copy(order='F')
        information.flat[::len(self.prior) + 1] += self.prior
        inverse = _inverse(information)
        target_sums = np.column_stack([-self.absent_sum,
                                       self.evidence - self.absent_sum[:, None]])
        beta = routines('float64').symm(1.0, inverse, np.asfortranarray(target_sums), lower=1)
        learner.ridge.matrix[:] = inverse
        learner.ridge.set_beta(beta)
        if isinstance(learner.ridge, ForgettingRidge):
            learner.ridge.prior = self.prior.copy()
        learner.labels, learner.samples = self.labels.copy(), self.samples
        learner.mass, learner.reservoir = self.mass, self.reservoir.copy()
        learner.sample_filter = self.sample_filter.copy()
        learner.decider.add_labels(len(learner.labels))
        learner.decider.fit_now(learner)
        return learner


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a symmetric matrix, both given by their lower triangles."""
    factor, failed = lapack.dpotrf(np.asfortranarray(matrix, dtype=np.float64), lower=1)
    inverse, singular = lapack.dpotri(factor, lower=1) if not failed else (factor, failed)
    if failed or singular:
        raise MergeError('the samples do not determine the weights; choose a ridge above 0, '
                         'or learn more samples')
    return np.asfortranarray(np.tril(inverse))
