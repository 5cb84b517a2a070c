# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model as a function of the sample table: it follows a change, or is learnt again.

A change is followed by learning and unlearning exactly. Where a down-date would be inaccurate or
slower than learning again, the model is learnt from the nearest base: a snapshot, the file of a
load or renewal, or an untaught model. Weights are exact in any order, so the way does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.errors import (
    LabelExistsError,
    ProEMLCError,
    UndoError,
    UnknownLabelError,
    UnlearnError,
)
from proemlc_ros.journal.table import Change, SampleTable, TableState
from proemlc_ros.records import Annotation, Event, EventKind, Vector

# Relative error of the scores that a down-date may leave; beyond it the model is learnt again.
LARGEST_ERROR = 1e-9
_BLOCK = 1024
# Samples that a young learner learns one by one: it decides otherwise with each of them.
_YOUNG = 100
# Samples that are unlearnt one by one at most, beside a share of all of them.
_FEW, _SHARE = 32, 8

Features = Callable[[Iterable[int]], Iterator[tuple[int, Vector]]]
"""Returns the features of samples by rising number; those that are gone are left out."""
LearnOne = Callable[[ProEMLC, Annotation], object]
"""Lets a learner learn one sample, which it may reject."""


def accepted_labels(sample: Annotation) -> SampleLabels:
    """Return the labels of an accepted annotation, for the learner to take as they are."""
    return SampleLabels(sample.labels, sample.absent, sample.complete)


class Base(NamedTuple):
    """A model to begin from.

    Args:
        load: returns it, for the caller to change; raises ProEMLCError where it is gone.
        change: from what it has learnt to what is in force.
        before: what was in force when it was made.
    """

    load: Callable[[], ProEMLC]
    change: Change
    before: TableState


class Follower:
    """Makes models follow a table.

    Args:
        table: what is in force.
        features: of the samples.
        fitted: returns the learner for the first sample of an extractor, given the present one.
        exact: whether no trace of a sample that is unlearnt may be left; else rounding, and
            centres of the hidden layer, may keep some.
        on_rejection: called with number and reason of samples that the learner rejects.
        recent: how many of the newest samples are learnt one by one, by `learn_one`.
        learn_one: learns one of these.
    """

    def __init__(self, table: SampleTable, features: Features,
                 fitted: Callable[[ProEMLC, str], ProEMLC] = lambda learner, _: learner,
                 exact: bool = True,
                 on_rejection: Callable[[int, Exception], None] = lambda number, error: None,
                 recent: int = 0, learn_one: LearnOne | None = None) -> None:
        self._table = table
        self._features = features
        self._fitted = fitted
        self._exact = exact
        self._on_rejection = on_rejection
        self._recent = {*list(table.samples)[-recent:]} if recent else set()
        self._learn_one = learn_one or _learn_one

    def followed(self, learner: ProEMLC, before: TableState, change: Change) -> ProEMLC:
        """Return a copy of a learner that has followed a change.

        Args:
            learner: has learnt what was in force before.
            before: what was in force.
            change: what happened.

        Raises:
            UnlearnError: it has to be learnt again.
        """
        learner, known = self._changed(learner, before, change)
        if self._exact and not self._in_order(learner, known):
            raise UnlearnError('the labels are in another order')
        return learner

    def _changed(self, learner: ProEMLC, before: TableState,
                 change: Change) -> tuple[ProEMLC, set[str]]:
        """Return a copy that has followed a change, and the labels it knows from elsewhere."""
        if change.rebased:
            raise UnlearnError('the model has another base now')
        if len(change.removed) > _FEW + len(before.samples) // _SHARE:
            raise UnlearnError('learning again is faster')
        learner, known = learner.copy(), self._known_elsewhere(learner, before)
        if self._exact and (known.intersection(change.merged) or change.restored and (
                self._table.base is not None or self._table.forgotten)):
            raise UnlearnError('a label changes that samples have which are not in the journal')
        self._change_columns(learner, change.columns)
        self._require_order_does_not_matter(learner, before, change)
        features = dict(self._features(sorted({*change.removed})))
        for number, sample in change.removed.items():
            if number not in features:
                raise UndoError(f'the features of sample {number} are not in the journal any more')
            learner.unlearn(features[number], accepted_labels(sample),
                            tolerance=LARGEST_ERROR if self._exact else None)
            if number in change.added:
                learner.learn(features[number], accepted_labels(change.added[number]))
        learner = self.learnt(learner, {number: sample for number, sample in change.added.items()
                                        if number not in change.removed})
        for event in change.columns:
            if event.label in known:
                known.remove(event.label)
                known |= {event.new_label} - {''}
        self._drop_unnamed(learner, change, known)
        return learner, known

    def learnt(self, learner: ProEMLC, samples: dict[int, Annotation]) -> ProEMLC:
        """Return a learner that has learnt samples in their order, in blocks.

        Args:
            learner: changed, or replaced by one that fits the first sample.
            samples: by rising number.
        """
        self._declare_labels(learner, samples)
        block: list[tuple[int, Annotation]] = []
        young = _YOUNG - learner.samples
        for number, values in self._features(samples):
            single, young = number in self._recent or young > 0, young - 1
            if block and (single or len(block) == _BLOCK):
                learner, block = self._learn_block(learner, block), []
            block.append((number, samples[number]._replace(features=values)))
            if single:
                learner, block = self._learn_each(learner, block), []
        return self._learn_block(learner, block) if block else learner

    def relearnt(self, bases: Iterable[Base], due: int | None = None) -> ProEMLC:
        """Return a learner that has learnt what is in force, from the first base that allows it.

        Args:
            bases: the shortest way first.
            due: samples that it must have; None: any number.

        Raises:
            UndoError: there is no such learner.
        """
        problem: object = 'no snapshot or file from before it is left'
        spare: ProEMLC | None = None
        for base in bases:
            try:
                learner, known = self._changed(base.load(), base.before,
                                               base.change._replace(rebased=False))
            except (ProEMLCError, OSError) as error:
                problem = error
                continue
            if due is not None and learner.samples != due:
                problem = (f'the journal gives a model of {learner.samples} samples where {due} '
                           'are due')
            elif self._in_order(learner, known):
                return learner
            else:
                spare = spare or learner
        if spare is not None:  # Its labels are in another order, which changes nothing else.
            return spare
        raise UndoError(f'the change cannot be made accurately: {problem}')

    # ----- inside -----

    def _learn_block(self, learner: ProEMLC, block: list[tuple[int, Annotation]]) -> ProEMLC:
        learner = self._fitted(learner, block[0][1].extractor)
        try:
            learner.test_then_train(np.array([sample.features for _, sample in block]),
                                    [accepted_labels(sample) for _, sample in block])
        except (ProEMLCError, ValueError):
            # One of them is rejected, as it was the first time, and with it the block.
            return self._learn_each(learner, block)
        return learner

    def _learn_each(self, learner: ProEMLC, block: list[tuple[int, Annotation]]) -> ProEMLC:
        for number, sample in block:
            learner = self._fitted(learner, sample.extractor)
            try:
                (self._learn_one if number in self._recent else _learn_one)(learner, sample)
            except (ProEMLCError, ValueError) as error:
                self._on_rejection(number, error)
        return learner

    def _change_columns(self, learner: ProEMLC, columns: Iterable[Event]) -> None:
        for event in columns:
            with suppress(UnknownLabelError):
                if event.kind is EventKind.REMOVE:
                    learner.remove_label(event.label)
                    continue
                try:
                    learner.rename_label(event.label, event.new_label, accepted=True)
                except LabelExistsError:
                    if self._table.base is not None:
                        raise UnlearnError(
                            f'the model file has learnt both {event.label!r} and '
                            f'{event.new_label!r}, and its samples are not in the journal; merge '
                            'them where it was taught') from None
                    raise UnlearnError('two labels become one') from None

    def _require_order_does_not_matter(self, learner: ProEMLC, before: TableState,
                                       change: Change) -> None:
        """Check that samples can be unlearnt or learnt as if at their own places.

        Raises:
            UnlearnError: they cannot.
        """
        newest = max(before.samples, default=0)
        moved = [*change.removed, *(number for number in change.added if number < newest)]
        if not moved or not self._exact:
            return
        first = min(moved)
        if learner.warming_up:
            if moved != [newest] or newest in change.added:
                raise UnlearnError('the hidden layer is drawn from samples that it is among')
            return
        comes_or_goes = {*change.removed} ^ ({*change.added} & {*moved})
        if comes_or_goes and not renewed_at_of(learner):  # A renewed layer is of no sample.
            later = sum(number >= min(comes_or_goes) for number in before.samples)
            if learner.samples - later < learner.options.warmup_samples:
                raise UnlearnError('the hidden layer was drawn from samples that it is among')
        if learner.options.forgetting < 1.0 and (len(moved) > 1 or first != newest):
            raise UnlearnError('with forgetting, the order of the samples matters')
        if learner.approximate_labels:
            raise UnlearnError('beyond partial_memory the order of incomplete annotations matters')

    def _known_elsewhere(self, learner: ProEMLC, before: TableState) -> set[str]:
        """Return the labels of a learner that it does not know from listed samples alone."""
        return {name for name, count in zip(learner.labels, learner.counts, strict=True)
                if name not in before.labels or count > before.shown.get(name, 0)}

    def _drop_unnamed(self, learner: ProEMLC, change: Change, known: set[str]) -> None:
        """Forget labels that only samples named which do not any more."""
        named = {name for sample in change.removed.values() for name in sample.named}
        unnamed = named - known - self._table.state.labels.keys()
        if self._exact and self._table.base is not None and unnamed.intersection(learner.labels):
            # The counts do not tell whether its samples have called the label absent.
            raise UnlearnError('the model file may know a label that no listed sample names')
        for name in unnamed:
            with suppress(UnknownLabelError):
                learner.remove_label(name)

    def _declare_labels(self, learner: ProEMLC, samples: dict[int, Annotation]) -> None:
        """Make new labels known in the order of the table, where that of the samples differs."""
        known = {*learner.labels}
        order = [name for name in self._table.state.labels if name not in known]
        natural = dict.fromkeys(name for sample in samples.values() for name in sample.named)
        if order != [name for name in natural if name not in known]:
            learner.add_labels(order)

    def _in_order(self, learner: ProEMLC, known: set[str]) -> bool:
        """Tell whether labels that are not known from elsewhere are in the table's order."""
        order = [name for name in self._table.state.labels if name not in known]
        return [name for name in learner.labels if name in {*order}] == order


def renewed_at_of(learner: ProEMLC) -> int:
    """Return how many samples a learner had when it was renewed last; 0: never, or not known."""
    samples = learner.extra.get('renewed_at', 0)
    return samples if type(samples) is int and samples > 0 else 0


def _learn_one(learner: ProEMLC, sample: Annotation) -> None:
    learner.learn(sample.matched_features, accepted_labels(sample))
