# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model with its label-set version, undo stack and rolling loss.

Nothing here depends on a clock or a disk: replaying a journal gives the model that wrote it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from proemlc_ros.classifier.profiles import AUTOMATIC, is_automatic
from proemlc_ros.classifier.undo import UndoEntry, UndoStack
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.core.prediction import Classification
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.errors import UndoError, UnlearnError
from proemlc_ros.records import Annotation, LabelState, Vector

# Relative error of the scores that an undo may leave; beyond it the model is built again.
LARGEST_ERROR = 1e-9
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
    """A learner, the annotations that can be undone, and how well it did lately.

    Args:
        learner: the Pro-EMLC model.
        undo_depth: annotations that can be undone.
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
        self.hamming = PrequentialMetrics(window)
        self.undo_stack = UndoStack(undo_depth)
        self.window = window
        # Samples that the learner had when layer and settings were renewed last; 0: never.
        self.renewed_at = renewed_at_of(learner)
        # How novel the last annotated samples were before they were learnt.
        self.novelties: deque[float] = deque(maxlen=_NOVELTIES)
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
        found = self.learner.classify(features)
        if self.threshold_offset:
            found = found.with_offset(self.threshold_offset)
        unchanged = found.names is self._names or found.names == self._names
        return VersionedPrediction(found, self._version if unchanged else self._follow_labels())

    def label_state(self) -> LabelState:
        """Return the labels, their counts and thresholds."""
        learner = self.learner
        names = tuple(learner.labels)
        size = len(names)
        decision = learner.decision.with_labels(size)
        thresholds = decision.thresholds(self.threshold_offset)[:size]
        version = self._version if names == self._names else self._follow_labels()
        return LabelState(names, tuple(learner.counts[:size]), tuple(map(float, thresholds)),
                          learner.samples, version, decision.at_least, decision.rule)

    def learn(self, number: int, annotation: Annotation) -> tuple[str, ...]:
        """Test, then train.

        Args:
            number: of the journal entry.
            annotation: with its features; its names were accepted before and are not checked.

        Returns:
            The labels that are new.

        Raises:
            ProEMLCError: the learner rejects it and is as before.
        """
        if self.learner.extra.get(AUTOMATIC):
            self.learner = self.fitted(self.learner, annotation.extractor)
        known = self.learner.labels
        features = annotation.matched_features
        found = self.learner.classify(features)
        if self.threshold_offset:
            found = found.with_offset(self.threshold_offset)
        introduced = self.learner.learn(features, accepted_labels(annotation))
        self.novelties.append(float(found.novelty))
        self.hamming.add(found.labels, annotation.labels, JudgedLabels.by_annotation(
            annotation.labels, annotation.absent, annotation.complete, known))
        self.extractor = self.extractor or annotation.extractor
        self.undo_stack.push(UndoEntry(number, annotation, introduced))
        self._follow_labels()
        return introduced

    def learn_block(self, numbers: Sequence[int], annotations: Sequence[Annotation]) -> None:
        """Learn several annotations at once, as one after the other but for rounding.

        What was predicted is not counted. The decision is fitted when it would have been.

        Args:
            numbers: of the journal entries.
            annotations: with features of one width.

        Raises:
            ProEMLCError, ValueError: the learner rejects one of them and is as before.
        """
        if annotations:
            self.learner = self.fitted(self.learner, annotations[0].extractor)
        names = list(self.learner.labels)
        known = set(names)
        self.learner.test_then_train(
            np.array([annotation.matched_features for annotation in annotations]),
            [accepted_labels(annotation) for annotation in annotations])
        with self._version_lock:
            for number, annotation in zip(numbers, annotations, strict=True):
                introduced = tuple(name for name in dict.fromkeys(annotation.named)
                                   if name not in known)
                known.update(introduced)
                self._version += bool(introduced)
                self.extractor = self.extractor or annotation.extractor
                self.undo_stack.push(UndoEntry(number, annotation, introduced))
            self._names = tuple(self.learner.labels)

    def unlearnt(self, exact: bool = True) -> ProEMLC:
        """Return a learner that has not learnt the last annotation, nor its new labels.

        Args:
            exact: whether no trace of it may be left; else rounding and the centres of the
                hidden layer may keep some.

        Raises:
            UndoError: no annotation is left.
            UnlearnError: it cannot be taken back without a trace.
        """
        if not len(self.undo_stack):
            raise UndoError('no annotation is left that can be undone')
        entry = self.undo_stack.last
        learner = self.learner.copy()
        if (exact and not learner.warming_up and not self.renewed_at
                and learner.samples <= learner.options.warmup_samples):
            raise UnlearnError('the hidden layer was drawn from samples that the last one is '
                               'among')
        learner.unlearn(entry.annotation.matched_features, accepted_labels(entry.annotation),
                        tolerance=LARGEST_ERROR if exact else None)
        for name in entry.introduced:
            learner.remove_label(name)
        return learner

    def undo(self, learner: ProEMLC) -> Annotation:
        """Go on with a learner that has not learnt the last annotation.

        Returns:
            The annotation.
        """
        entry = self.undo_stack.pop()
        self.learner = learner
        self._follow_labels()
        return entry.annotation

    def go_on_with(self, learner: ProEMLC, entries: Iterable[UndoEntry],
                   extractor: str) -> None:
        """Go on with a learner that was corrected.

        Args:
            learner: of the same stream; the rolling loss goes on.
            entries: the annotations that can be undone, oldest first.
            extractor: of the features that it has learnt from.
        """
        self.extractor = extractor
        self.undo_stack.clear()
        for entry in entries:
            self.undo_stack.push(entry)
        self.learner = learner
        self._follow_labels()

    def rename(self, old: str, new: str) -> None:
        """Give a label another name, which was accepted before."""
        self.learner.rename_label(old, new, accepted=True)
        self.undo_stack.rename(old, new)
        self._follow_labels()

    def remove(self, name: str) -> None:
        """Forget a label."""
        self.learner.remove_label(name)
        self.undo_stack.remove(name)
        self._follow_labels()

    def replace(self, learner: ProEMLC) -> None:
        """Go on with another learner; undo stack and loss belong to the old one and go."""
        self.undo_stack.clear()
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
                'lessons': self.undo_stack.to_json(), 'automatic': is_automatic(self.learner),
                'renewed_at': self.renewed_at}

    def raise_version(self, at_least: int) -> None:
        """Go on counting versions where an earlier run stopped."""
        with self._version_lock:
            self._version = max(self._version, at_least)

    def count_version(self) -> None:
        """Count a change of the label set that was taken back again."""
        with self._version_lock:
            self._version += 1

    def _follow_labels(self) -> int:
        # Whoever sees changed labels first raises the version: the learning thread, or a
        # prediction that comes between the change and this call.
        with self._version_lock:
            names = tuple(self.learner.labels)
            if names != self._names:
                self._names = names
                self._version += 1
            return self._version


def accepted_labels(annotation: Annotation) -> SampleLabels:
    """Return the labels of an accepted annotation, for the learner to take as they are."""
    return SampleLabels(annotation.labels, annotation.absent, annotation.complete)


def extractor_of(learner: ProEMLC) -> str:
    """Return the extractor that a learner has learnt from; empty where not known."""
    return str(learner.extra.get('extractor', ''))


def renewed_at_of(learner: ProEMLC) -> int:
    """Return how many samples a learner had when it was renewed last; 0: never, or not known."""
    samples = learner.extra.get('renewed_at', 0)
    return samples if type(samples) is int and samples > 0 else 0
