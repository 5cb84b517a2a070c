# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model together with what is needed to go on teaching it: the same statements, the same pupil.

Nothing here depends on a clock or a disk: replaying a journal gives the pupil that wrote it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.classifier.prequential import RollingHamming
from proemlc_ros.classifier.records import Annotation, Event, EventKind
from proemlc_ros.classifier.undo import UndoEntry, UndoStack
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.prediction import Classification
from proemlc_ros.errors import UndoError


@dataclass(frozen=True, slots=True)
class LabelState:
    """The labels and what is known of them, all of one instant."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    thresholds: tuple[float, ...]
    samples: int
    version: int


class VersionedModel:
    """A model, the lessons that can be taken back, and how well it did lately.

    Args:
        model: the learner.
        undo_depth: lessons that can be taken back.
        window: annotations over which the rolling Hamming loss looks back.
    """

    def __init__(self, model: ProEMLC, undo_depth: int = 100, window: int = 200) -> None:
        self.model = model
        self.extractor = ''
        # Added to the threshold that the model has learnt: above 0 names fewer labels.
        self.threshold_offset = 0.0
        self.hamming = RollingHamming(window)
        self.lessons = UndoStack(undo_depth)
        self._window = window
        self._names = tuple(model.labels)
        self._version = 1 if self._names else 0
        self._version_lock = threading.Lock()

    def version_for(self, names: tuple[str, ...]) -> int:
        """Return the version of the label set that a classification belongs to."""
        if names is self._names or names == self._names:
            return self._version
        return self._follow_labels()

    @property
    def version(self) -> int:
        """Version of the label set; raised whenever the names or their order change."""
        return self._follow_labels()

    def classify(self, features: NDArray[np.floating]) -> Classification:
        """Say what a vector shows.

        Raises:
            ProEMLCError: the vector cannot be used.
        """
        found = self.model.classify(features)
        return found.with_offset(self.threshold_offset) if self.threshold_offset else found

    def label_state(self) -> LabelState:
        """Return the labels, their counts and thresholds."""
        model = self.model
        names = tuple(model.labels)
        size = len(names)
        thresholds = model.thresholds[:size] + self.threshold_offset
        return LabelState(names, tuple(model.counts[:size]),
                          tuple(map(float, thresholds)),
                          model.samples, self.version_for(names))

    def learn(self, number: int, annotation: Annotation) -> tuple[str, ...]:
        """Test, then train.

        Args:
            number: of the journal entry.
            annotation: with its features.

        Returns:
            The labels that are new.

        Raises:
            ProEMLCError: the model refuses it and is as before.
        """
        known = self.model.labels
        predicted = self.classify(annotation.features).labels
        introduced = self.model.learn(annotation.features, annotation.labels,
                                      absent=annotation.absent, complete=annotation.complete)
        self.hamming.add(predicted, annotation, known)
        self.extractor = self.extractor or annotation.extractor
        self.lessons.push(UndoEntry(number, annotation, introduced))
        self._follow_labels()
        return introduced

    def undo(self) -> UndoEntry:
        """Take the last lesson back, with the labels that it introduced.

        Raises:
            UndoError: no lesson is left.
            UnlearnError: the model cannot take it back and is as before.
        """
        try:
            lesson = self.lessons.pop()
        except IndexError:
            raise UndoError('no annotation is left that can be taken back') from None
        annotation = lesson.annotation
        self.model.unlearn(annotation.features, annotation.labels, absent=annotation.absent,
                           complete=annotation.complete)
        for name in lesson.introduced:
            self.model.remove_label(name)
        self._follow_labels()
        return lesson

    def rename(self, old: str, new: str) -> None:
        """Give a label another name."""
        self.model.rename_label(old, new)
        self.lessons.rename(old, new)
        self._follow_labels()

    def remove(self, name: str) -> None:
        """Forget a label."""
        self.model.remove_label(name)
        self.lessons.remove(name)
        self._follow_labels()

    def repeat(self, event: Event, new_model: Callable[[], ProEMLC]) -> bool:
        """Do again what a recorded event did.

        Args:
            event: what happened.
            new_model: makes the untaught model that follows a reset.

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
            self.adopt(new_model(), '')
        else:
            return False
        return True

    def adopt(self, model: ProEMLC, extractor: str) -> None:
        """Go on with another model; lessons and loss belong to the old one and go."""
        self.lessons.clear()
        self.hamming = RollingHamming(self._window)
        self.extractor = extractor
        self.model = model
        self._follow_labels()

    def to_extra(self) -> dict[str, Any]:
        """Return what a snapshot keeps beside the model, as plain values."""
        return {'extractor': self.extractor, 'label_set_version': self._follow_labels(),
                'lessons': self.lessons.to_json()}

    def raise_version(self, at_least: int) -> None:
        """Go on counting versions where an earlier run stopped."""
        with self._version_lock:
            self._version = max(self._version, at_least)

    def _follow_labels(self) -> int:
        # Whoever sees changed labels first raises the version: the teaching thread, or a
        # prediction that comes between the change and this call.
        with self._version_lock:
            names = tuple(self.model.labels)
            if names != self._names:
                self._names = names
                self._version += 1
            return self._version
