# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model with its label-set version, undo stack and rolling loss.

Nothing here depends on a clock or a disk: replaying a journal gives the model that wrote it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proemlc_ros.classifier.records import Annotation, Event, EventKind, LabelState, Vector
from proemlc_ros.classifier.undo import UndoEntry, UndoStack
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.core.prediction import Classification
from proemlc_ros.errors import UndoError


@dataclass(frozen=True, slots=True)
class VersionedPrediction:
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
    """

    def __init__(self, learner: ProEMLC, undo_depth: int = 100, window: int = 200) -> None:
        self.learner = learner
        self.extractor = extractor_of(learner)
        # Added to the threshold that the learner has found: above 0 predicts fewer labels.
        self.threshold_offset = 0.0
        self.hamming = PrequentialMetrics(window)
        self.undo_stack = UndoStack(undo_depth)
        self._window = window
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
        thresholds = learner.thresholds[:size] + self.threshold_offset
        version = self._version if names == self._names else self._follow_labels()
        return LabelState(names, tuple(learner.counts[:size]), tuple(map(float, thresholds)),
                          learner.samples, version)

    def learn(self, number: int, annotation: Annotation) -> tuple[str, ...]:
        """Test, then train.

        Args:
            number: of the journal entry.
            annotation: with its features.

        Returns:
            The labels that are new.

        Raises:
            ProEMLCError: the learner rejects it and is as before.
        """
        known = self.learner.labels
        features = annotation.matched_features
        found = self.learner.classify(features)
        if self.threshold_offset:
            found = found.with_offset(self.threshold_offset)
        introduced = self.learner.learn(features, annotation.labels, absent=annotation.absent,
                                        complete=annotation.complete)
        self.hamming.add(found.labels, annotation.labels, JudgedLabels.by_annotation(
            annotation.labels, annotation.absent, annotation.complete, known))
        self.extractor = self.extractor or annotation.extractor
        self.undo_stack.push(UndoEntry(number, annotation, introduced))
        self._follow_labels()
        return introduced

    def undo(self) -> Annotation:
        """Unlearn the last annotation, with the labels that it introduced.

        Returns:
            The annotation.

        Raises:
            UndoError: no annotation is left.
            UnlearnError: the learner cannot unlearn it and is as before.
        """
        if not len(self.undo_stack):
            raise UndoError('no annotation is left that can be undone')
        entry = self.undo_stack.pop()
        annotation = entry.annotation
        self.learner.unlearn(annotation.matched_features, annotation.labels,
                             absent=annotation.absent, complete=annotation.complete)
        for name in entry.introduced:
            self.learner.remove_label(name)
        self._follow_labels()
        return annotation

    def rename(self, old: str, new: str) -> None:
        """Give a label another name."""
        self.learner.rename_label(old, new)
        self.undo_stack.rename(old, new)
        self._follow_labels()

    def remove(self, name: str) -> None:
        """Forget a label."""
        self.learner.remove_label(name)
        self.undo_stack.remove(name)
        self._follow_labels()

    def repeat(self, event: Event, new_learner: Callable[[], ProEMLC]) -> bool:
        """Apply a recorded event again.

        Args:
            event: what happened.
            new_learner: makes the untaught learner that follows a reset.

        Returns:
            False for the loading of a file, which only the caller can find.
        """
        if event.kind is EventKind.UNDO:
            self.undo()
        elif event.kind is EventKind.RENAME:
            self.rename(event.label, event.new_label)
        elif event.kind is EventKind.REMOVE:
            self.remove(event.label)
        elif event.kind is EventKind.RESET:
            self.replace(new_learner())
        else:
            return False
        return True

    def replace(self, learner: ProEMLC) -> None:
        """Go on with another learner; undo stack and loss belong to the old one and go."""
        self.undo_stack.clear()
        self.hamming = PrequentialMetrics(self._window)
        self.extractor = extractor_of(learner)
        self.learner = learner
        self._follow_labels()

    def to_extra(self) -> dict[str, Any]:
        """Return what a snapshot keeps beside the learner, as plain values."""
        return {'extractor': self.extractor, 'label_set_version': self._follow_labels(),
                'lessons': self.undo_stack.to_json()}

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
