# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model with its label-set version and rolling loss.

Nothing here depends on a clock or a disk: replaying a journal gives the model that wrote it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from proemlc_ros.classifier.following import accepted_labels, renewed_at_of
from proemlc_ros.classifier.profiles import AUTOMATIC, is_automatic
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.core.prediction import Classification
from proemlc_ros.records import Annotation, LabelState, Vector

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
        self.hamming = PrequentialMetrics(window)
        self.undo_depth = undo_depth
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

    def learn(self, annotation: Annotation) -> tuple[str, ...]:
        """Test, then train.

        Args:
            annotation: with its features; its names were accepted before and are not checked.

        Returns:
            The labels that are new.

        Raises:
            ProEMLCError: the learner rejects it and is as before.
        """
        if self.learner.extra.get(AUTOMATIC):
            self.learner = self.fitted(self.learner, annotation.extractor)
        learner, features = self.learner, annotation.matched_features
        known, found = learner.labels, learner.classify(features)
        introduced = learner.learn(features, accepted_labels(annotation))
        self._judge(annotation, found, known)
        self.extractor = self.extractor or annotation.extractor
        self._follow_labels()
        return introduced

    def test_then_train(self, learner: ProEMLC, annotation: Annotation) -> None:
        """Let a learner that is not the running one yet do the same.

        Raises:
            ProEMLCError: the learner rejects it and is as before.
        """
        features = annotation.matched_features
        known, found = learner.labels, learner.classify(features)
        learner.learn(features, accepted_labels(annotation))
        self._judge(annotation, found, known)

    def _judge(self, annotation: Annotation, found: Classification, known: list[str]) -> None:
        """Count how well a sample was predicted before it was learnt."""
        if self.threshold_offset:
            found = found.with_offset(self.threshold_offset)
        self.novelties.append(float(found.novelty))
        self.hamming.add(found.labels, annotation.labels, JudgedLabels.by_annotation(
            annotation.labels, annotation.absent, annotation.complete, known))

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
