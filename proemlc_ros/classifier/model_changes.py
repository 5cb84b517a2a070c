# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Changes of a classifier's model other than annotations, each behind what was asked before."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from proemlc_ros.foreign_text import shown, shown_names
from proemlc_ros.records import Event, EventKind, ModelChange

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel
    from proemlc_ros.classifier.threads import LearningThread


class ModelChanges:
    """The part of a classifier that changes the model as a whole, or its labels.

    Attributes:
        durable: the model.
        learning: the thread that does it.
    """

    durable: DurableModel
    learning: LearningThread

    def clear_buffer(self, cause: str, event: str) -> None:
        """Forget all buffered vectors: they belong to another model."""
        raise NotImplementedError

    def undo(self) -> Future[ModelChange]:
        """Unlearn the last annotation."""
        def act() -> ModelChange:
            annotation = self.durable.undo()
            labels = shown_names(annotation.labels) or 'an annotation without labels'
            return ModelChange(f'undid {labels}', self._event(EventKind.UNDO))
        return self.learning.call(act)

    def rename(self, label: str, new_label: str, annotator: str = '') -> Future[ModelChange]:
        """Give a label another name."""
        def act() -> ModelChange:
            event = self.durable.rename(label, new_label, annotator)
            return ModelChange(f'{shown(event.label)} is now {shown(event.new_label)}', event)
        return self.learning.call(act)

    def remove(self, label: str, annotator: str = '') -> Future[ModelChange]:
        """Forget a label."""
        def act() -> ModelChange:
            return ModelChange(f'removed {shown(label)}', self.durable.remove(label, annotator))
        return self.learning.call(act)

    def reset(self) -> Future[ModelChange]:
        """Forget everything."""
        def act() -> ModelChange:
            kept = self.durable.reset()
            self._model_replaced()
            undo = f'; load {kept.name} to get it back' if kept is not None else ''
            return ModelChange(f'forgot everything{undo}', self._event(EventKind.RESET))
        return self.learning.call(act)

    def load(self, file_name: str, annotator: str = '') -> Future[ModelChange]:
        """Replace the model by one of the model directory."""
        def act() -> ModelChange:
            path = self.durable.load(file_name, annotator)
            self._model_replaced()
            learner = self.durable.model.learner
            return ModelChange(
                f'loaded {path.name}: {len(learner.labels)} labels, {learner.samples} samples',
                self._event(EventKind.LOAD, path.name))
        return self.learning.call(act)

    def save(self, file_name: str, keep_existing: bool = False) -> Future[ModelChange]:
        """Write the model to a file of the model directory; keep_existing: only a new one."""
        def act() -> ModelChange:
            path: Path = self.durable.save(file_name, keep_existing)
            # The name first: a terminal may have no room for the folder.
            return ModelChange(f'wrote {path.name} to {path.parent}')
        return self.learning.call(act)

    def _event(self, kind: EventKind, file_name: str = '') -> Event:
        """Return what the last entry of the journal says; to be called in the learning thread."""
        return Event(kind, file_name=file_name, entry=self.durable.position)

    def _model_replaced(self) -> None:
        self.clear_buffer('model_replaced', 'the model was replaced')
