# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model as a function of the sample table, with its label-set version and rolling loss.

A change is followed by learning and unlearning exactly. Where a down-date would be inaccurate or
slower than learning again, the model is learnt from the nearest base: a snapshot, the file of a
load or renewal, or an untaught model. Weights are exact in any order, so the way does not matter.

Nothing here depends on a clock or a disk: replaying a journal gives the model that wrote it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from proemlc_ros.classifier.profiles import AUTOMATIC, is_automatic, unknown_above_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.deciding.decider import LeftOutQuality
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.core.prediction import Classification
from proemlc_ros.errors import (
    LabelExistsError,
    ProEMLCError,
    UndoError,
    UnknownLabelError,
    UnlearnError,
    WorkCancelledError,
)
from proemlc_ros.journal.table import Change, SampleTable, TableState
from proemlc_ros.records import Annotation, Event, EventKind, LabelState, Vector

_NOVELTIES = 20


class VersionedPrediction(NamedTuple):
    """What the model says about one feature vector.

    Args:
        classification: labels, scores and novelty.
        version: of the label set.
    """

    classification: Classification
    version: int


class VersionedModel:
    """A learner, the version of its label set, and how well it did lately.

    Args:
        learner: the Pro-EMLC model.
        undo_depth: how far back the last annotations can be undone one by one.
        window: annotations over which the rolling Hamming loss looks back.
        fitted: returns the learner for a sample of an extractor, given the present one.
    """

    def __init__(self, learner: ProEMLC, undo_depth: int = 100, window: int = 200,
                 fitted: Callable[[ProEMLC, str], ProEMLC] = lambda learner, _: learner) -> None:
        self.learner = learner
        self.fitted = fitted
        self.extractor = extractor_of(learner)
        # Added to the threshold that the learner has found: above 0 predicts fewer labels.
        self.threshold_offset = 0.0
        # Novelty above which no label is predicted; above 1: never; 0: as fits the features.
        self.unknown_above = 0.0
        self.hamming = PrequentialMetrics(window)
        self.undo_depth = undo_depth
        self.window = window
        # Samples that the learner had when layer and settings were renewed last; 0: never.
        self.renewed_at = renewed_at_of(learner)
        # How novel the last annotated samples were before they were learnt.
        self.novelties: deque[float] = deque(maxlen=_NOVELTIES)
        self._quality = LeftOutQuality()
        self._names = tuple(learner.labels)
        self._version = 1 if self._names else 0
        self._version_lock = threading.Lock()

    @property
    def version(self) -> int:
        """Version of the label set; raised whenever the names or their order change."""
        return self._follow_labels()

    def classify(self, features: Vector) -> VersionedPrediction:
        """Return labels, scores and novelty of a validated vector.

        Raises:
            ProEMLCError: the vector cannot be used.
        """
        found = self._decided(self.learner.classify(features))
        unchanged = found.names is self._names or found.names == self._names
        return VersionedPrediction(found, self._version if unchanged else self._follow_labels())

    def _decided(self, found: Classification) -> Classification:
        """Return a classification as the settings of the operator have it."""
        if self.threshold_offset:
            found = found.with_offset(self.threshold_offset)
        above = self.unknown_above or unknown_above_of(self.extractor)
        return found.or_unknown(above) if found.novelty > above else found

    def judge(self) -> None:
        """Find out how good predictions are for what was taught, as label_state() then tells."""
        self._quality = self.learner.left_out_quality()

    def label_state(self) -> LabelState:
        """Return the labels, their counts and thresholds, and how they were judged last."""
        learner = self.learner
        names = tuple(learner.labels)
        size = len(names)
        decision = learner.decision.with_labels(size)
        thresholds = decision.thresholds(self.threshold_offset)[:size]
        version = self._version if names == self._names else self._follow_labels()
        return LabelState(names, tuple(learner.counts[:size]), tuple(map(float, thresholds)),
                          learner.samples, version, decision.at_least, decision.rule,
                          self._quality.samples, self._quality.right,
                          *self._quality.by_label(names))

    def learn(self, annotation: Annotation, other: ProEMLC | None = None) -> tuple[str, ...]:
        """Test, then train.

        Args:
            annotation: with its features; its names were accepted before and are not checked.
            other: learns in place of the running learner, which it is to become.

        Returns:
            The labels that are new.

        Raises:
            ProEMLCError: the learner rejects it and is as before.
        """
        if other is None and self.learner.extra.get(AUTOMATIC):
            self.learner = self.fitted(self.learner, annotation.extractor)
        learner = self.learner if other is None else other
        features = annotation.matched_features
        found = self._decided(learner.classify(features))
        introduced = learner.learn(features, accepted_labels(annotation))
        self.novelties.append(float(found.novelty))
        self.hamming.add(found.labels, annotation.labels, JudgedLabels.by_annotation(
            annotation.labels, annotation.absent, annotation.complete, found.names))
        if other is None:
            self.extractor = self.extractor or annotation.extractor
        return introduced

    def go_on_with(self, learner: ProEMLC, extractor: str) -> None:
        """Go on with a learner of the same stream that was corrected; the rolling loss goes on.

        Args:
            learner: has followed a change.
            extractor: of the features that it has learnt from.
        """
        self.extractor = extractor
        self.renewed_at = renewed_at_of(learner)
        self.learner = learner
        self._follow_labels()

    def replace(self, learner: ProEMLC) -> None:
        """Go on with another learner; the rolling loss belongs to the old one and goes."""
        self.hamming = PrequentialMetrics(self.window)
        self.extractor = extractor_of(learner)
        self.renewed_at = renewed_at_of(learner)
        self.learner = learner
        self._follow_labels()

    def renew(self, learner: ProEMLC) -> None:
        """Go on with a learner that has learnt the same samples; all else goes on, too."""
        self.novelties.clear()
        self.renewed_at = renewed_at_of(learner)
        self.learner = learner
        self._follow_labels()

    def to_extra(self) -> dict[str, Any]:
        """Return what a snapshot keeps beside the learner, as plain values."""
        return {'extractor': self.extractor, 'label_set_version': self._follow_labels(),
                'automatic': is_automatic(self.learner), 'renewed_at': self.renewed_at}

    def raise_version(self, at_least: int) -> None:
        """Go on counting versions where an earlier run stopped."""
        with self._version_lock:
            self._version = max(self._version, at_least)

    def _follow_labels(self) -> int:
        # Whoever sees changed labels first raises the version: the learning thread, or a
        # prediction that comes between the change and this call.
        with self._version_lock:
            names = tuple(self.learner.labels)
            if names != self._names:
                self._names = names
                self._version += 1
            return self._version


def extractor_of(learner: ProEMLC) -> str:
    """Return the extractor that a learner has learnt from; empty where not known."""
    return str(learner.extra.get('extractor', ''))


# ----- following -----


# Relative error of the scores that a down-date may leave; beyond it the model is learnt again.
_LARGEST_ERROR = 1e-9
_BLOCK = 1024
# Samples that a young learner learns one by one: it decides otherwise with each of them.
_YOUNG = 100
# Samples that are unlearnt one by one at most, beside a share of all of them.
_FEW, _SHARE = 32, 8

Features = Callable[[Iterable[int]], Iterator[tuple[int, Vector]]]
"""Returns the features of samples by rising number; those that are gone are left out."""
_LearnOne = Callable[[Annotation, ProEMLC], object]
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


def _takes_long(before: TableState, change: Change) -> bool:
    """Return whether so many samples are unlearnt that learning all again is faster.

    Those that only get other labels count half: what is learnt of young models anew takes longest.
    """
    relabelled = len(change.removed.keys() & change.added.keys())
    return len(change.removed) - relabelled / 2 > _FEW + len(before.samples) // _SHARE


def _long_ones_last(bases: Iterable[Base]) -> Iterator[Base]:
    """Yield bases; behind a compaction one that takes long may be the only way."""
    late = []
    for base in bases:
        if _takes_long(base.before, base.change):
            late.append(base)
        else:
            yield base
    yield from late


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
        check: called now and then; raises where the work is given up.
    """

    def __init__(self, table: SampleTable, features: Features,
                 fitted: Callable[[ProEMLC, str], ProEMLC] = lambda learner, _: learner,
                 exact: bool = True,
                 on_rejection: Callable[[int, Exception], None] = lambda number, error: None,
                 recent: int = 0, learn_one: _LearnOne | None = None,
                 check: Callable[[], None] = lambda: None) -> None:
        self._table = table
        self._features = features
        self._fitted = fitted
        self._exact = exact
        self._on_rejection = on_rejection
        self._recent = {*list(table.samples)[-recent:]} if recent else set()
        self._learn_one = learn_one or _learn_one
        self._check = check

    def followed(self, learner: ProEMLC, before: TableState, change: Change) -> ProEMLC:
        """Return a copy of a learner that has followed a change.

        Args:
            learner: has learnt what was in force before.
            before: what was in force.
            change: what happened.

        Raises:
            UnlearnError: it has to be learnt again.
        """
        if not change.rebased and _takes_long(before, change):
            raise UnlearnError('learning again is faster')
        learner, known = self._changed(learner, before, change)
        if self._exact and not self._in_order(learner, known):
            raise UnlearnError('the labels are in another order')
        return learner

    def _changed(self, learner: ProEMLC, before: TableState,
                 change: Change) -> tuple[ProEMLC, set[str]]:
        """Return a copy that has followed a change, and the labels it knows from elsewhere."""
        if change.rebased:
            raise UnlearnError('the model has another base now')
        learner, known = learner.copy(), self._known_elsewhere(learner, before)
        if self._exact and (known.intersection(change.merged) or change.restored and (
                self._table.base is not None or self._table.forgotten)):
            raise UnlearnError('a label changes that samples have which are not in the journal')
        self._change_columns(learner, change.columns)
        self._require_order_does_not_matter(learner, before, change)
        features = dict(self._features(sorted({*change.removed})))
        for number, sample in change.removed.items():
            self._check()
            if number not in features:
                raise UndoError(f'the features of sample {number} are not in the journal any more')
            learner.unlearn(features[number], accepted_labels(sample),
                            tolerance=_LARGEST_ERROR if self._exact else None)
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
            self._check()
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
        for base in _long_ones_last(bases):
            try:
                learner, known = self._changed(base.load(), base.before,
                                               base.change._replace(rebased=False))
            except WorkCancelledError:
                raise
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
                (self._learn_one if number in self._recent else _learn_one)(sample, learner)
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
        if comes_or_goes:
            later = sum(number >= min(comes_or_goes) for number in before.samples)
            if learner.samples - later < learner.layer_samples:
                raise UnlearnError('the hidden layer was drawn from samples that it is among')
        if learner.options.forgets and (len(moved) > 1 or first != newest):
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
        if (self._exact and (self._table.base is not None or self._table.forgotten)
                and unnamed.intersection(learner.labels)):
            # The counts do not tell whether its samples have called the label absent.
            raise UnlearnError('the model may know a label that no listed sample names')
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


def _learn_one(sample: Annotation, learner: ProEMLC) -> None:
    learner.learn(sample.matched_features, accepted_labels(sample))
