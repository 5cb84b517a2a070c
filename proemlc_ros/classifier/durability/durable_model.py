# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model that survives a crash: everything is in the journal before it is learnt."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.corrections.corrections import Corrections
from proemlc_ros.classifier.corrections.rebuild import rebuild_for_undo, undo_reference
from proemlc_ros.classifier.durability.catch_up import catch_up, catch_up_error
from proemlc_ros.classifier.durability.journal_protocol import JournalProtocol
from proemlc_ros.classifier.durability.model_directory import BEFORE_RESET, ModelDirectory
from proemlc_ros.classifier.durability.snapshots import Snapshots
from proemlc_ros.classifier.pictures import PictureBuffer
from proemlc_ros.classifier.validation import ExpectedInput, Limits, validate_names
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    LabelExistsError,
    ProEMLCError,
    UnknownLabelError,
    UnlearnError,
)
from proemlc_ros.journal.attachments import position_of
from proemlc_ros.records import Annotation, Event, EventKind, Learnt

_MOST_NOT_LEARNT = 1000


class DurableModel:
    """A versioned model with journal, snapshots and model files.

    All methods may be called from any thread; those that change the model wait for each other.

    Args:
        model: what learns.
        new_learner: makes an untaught learner with the configured settings.
        directory: for model files and snapshots.
        journal: of everything learnt.
        limits: bounds on labels and vectors.
        clock: nanoseconds since the epoch.
        on_warning: called with what went wrong though the change itself was done, in words.
    """

    def __init__(self, model: VersionedModel, new_learner: Callable[[], ProEMLC],
                 directory: ModelDirectory, journal: JournalProtocol,
                 limits: Limits | None = None, clock: Callable[[], int] = time.time_ns,
                 on_warning: Callable[[str], None] = lambda text: None) -> None:
        self.model = model
        self.directory = directory
        self.journal = journal
        self.limits = limits or Limits()
        self.position = 0
        # Numbers of recent entries that the learner rejected: they are in the journal only.
        self.not_learnt: deque[int] = deque(maxlen=_MOST_NOT_LEARNT)
        self.snapshots = Snapshots(directory, journal, clock)
        self.new_learner = new_learner
        # What could not be journalled when the node started, and has to be before anything else.
        self.reset_is_due, self.first_file = False, ''
        self.clock = clock
        self.on_warning = on_warning
        self.lock = threading.RLock()
        self.corrections = Corrections(self)
        self.pictures = PictureBuffer(on_error=on_warning)

    @property
    def is_behind(self) -> bool:
        """Whether the disk did not allow to read or write something; see catch_up.py."""
        return bool(self.journal.problem or self.reset_is_due or self.first_file)

    # ----- learning -----

    def learn(self, annotations: Sequence[Annotation]) -> list[Learnt | ProEMLCError]:
        """Validate annotations, write them to the journal in one transaction, then learn them.

        Args:
            annotations: with their features, in order.

        Returns:
            For each, what was learnt, or the reason why not.
        """
        with self.lock:
            # First: it may change what is valid.
            failure = catch_up_error(self) if self.is_behind else None
            learner = self.model.learner
            expected = ExpectedInput(learner.width, self.model.extractor,
                                     dict.fromkeys(learner.labels), self.limits,
                                     self.model.version)
            validated: list[Annotation | ProEMLCError] = []
            for annotation in annotations:
                try:
                    validated.append(expected.accept_annotation(annotation))
                except ProEMLCError as error:
                    validated.append(error)
            accepted = [item for item in validated if isinstance(item, Annotation)]
            try:
                if accepted and failure is not None:
                    raise failure
                references = [item.request.reference if item.request else '' for item in accepted]
                pictures = [*map(self.pictures.find, accepted)] if self.pictures.active else None
                numbers = iter(self.journal.append(accepted, references, pictures))
            except JournalError as error:
                return [error if isinstance(item, Annotation) else item for item in validated]
            results: list[Learnt | ProEMLCError] = []
            for item in validated:
                if isinstance(item, ProEMLCError):
                    results.append(item)
                    continue
                self.position = next(numbers)
                if pictures:
                    self.pictures.settle(self.position, item)
                try:
                    introduced = self.model.learn(self.position, item)
                except ProEMLCError as error:
                    self.not_learnt.append(self.position)
                    results.append(error)
                else:
                    results.append(Learnt(item, self.position, introduced, self.model.version))
            return results

    def undo(self) -> Annotation:
        """Unlearn the last annotation, as if it had never been learnt.

        Where rounding errors would show, the model is built again from a snapshot and the journal.

        Returns:
            The annotation.

        Raises:
            UndoError: none is left, or it cannot be undone accurately; the model is as before.
            JournalError: the model is as before.
        """
        with self.lock:
            catch_up(self)
            try:
                learner = self.model.unlearnt()
            except UnlearnError as error:
                learner = rebuild_for_undo(self, error)
            number = self.model.undo_stack.last.number
            self.record(EventKind.UNDO, undo_reference(number))
            return self.model.undo(learner)

    def rename(self, label: str, new_label: str, annotator: str = '') -> Event:
        """Give a label another name.

        Returns:
            What was done, with the names in their normal form.

        Raises:
            UnknownLabelError, LabelExistsError, LabelRejectedError, JournalError: nothing changed.
        """
        with self.lock:
            catch_up(self)
            self._require(label)
            new_label, = validate_names([new_label], self.limits)
            if new_label in self.model.learner.labels:
                raise LabelExistsError(f'label {new_label!r} exists already')
            event = self.record(EventKind.RENAME, '', label=label, new_label=new_label,
                                annotator=annotator)
            self.model.rename(label, new_label)
            return event

    def remove(self, label: str, annotator: str = '') -> Event:
        """Forget a label.

        Returns:
            What was done.

        Raises:
            UnknownLabelError, JournalError: nothing changed.
        """
        with self.lock:
            catch_up(self)
            self._require(label)
            event = self.record(EventKind.REMOVE, '', label=label, annotator=annotator)
            self.model.remove(label)
            return event

    def reset(self) -> Path | None:
        """Forget everything.

        Returns:
            Where the forgotten model was kept, None where nothing was learnt.

        Raises:
            JournalError, OSError: nothing changed.
        """
        with self.lock:
            catch_up(self)
            kept = None
            if self.model.learner.samples:
                kept = self.directory.target(BEFORE_RESET)
                self.model.learner.save(kept, {'extractor': self.model.extractor},
                                        self.directory.key)
            self.record(EventKind.RESET)
            self.model.replace(self.new_learner())
            self.try_snapshot()
            return kept

    # ----- files -----

    def load(self, name: str, annotator: str = '') -> Path:
        """Replace the model by one of the model directory.

        The journal keeps the content of the file, since the file may change.

        Raises:
            ModelDirectoryError, ModelFileError, LabelRejectedError, JournalError, OSError: the
                running model is untouched.
        """
        with self.lock:
            catch_up(self)
            path = self.directory.existing(name)
            reference = self.journal.attachments.add(path)
            learner = self.directory.read_model(
                self.journal.attachments.find(reference), self.limits, path.name)
            self.record(EventKind.LOAD, reference, file_name=path.name, annotator=annotator,
                        sample=0 if name else position_of(learner))
            self.model.replace(learner)
            self.try_snapshot()
            return path

    def save(self, name: str, keep_existing: bool = False) -> Path:
        """Write the model to a file of the model directory.

        Args:
            name: of the file; empty for the snapshot.
            keep_existing: whether a file of that name is not overwritten.

        Raises:
            ModelDirectoryError, OSError: nothing was written.
        """
        path = self.directory.target(name)
        if path in self.directory.snapshots:
            self.snapshot()
            return self.directory.snapshots[0]
        if keep_existing:
            self.directory.require_new(path)
        with self.lock:
            learner, extra = self.model.learner.copy(), {'extractor': self.model.extractor}
        learner.save(path, extra, self.directory.key)
        return path

    def snapshot(self) -> None:
        """Write the snapshot; the model can go on learning meanwhile.

        Raises:
            OSError, JournalError: the older snapshot is still there.
        """
        # Whoever holds the model's lock may ask for a snapshot, so the snapshots' lock is second.
        with self.lock:
            learner = self.model.learner.copy()
            extra = {**self.model.to_extra(), 'position': self.position,
                     'not_learnt': list(self.not_learnt)}
        self.snapshots.write(learner, extra)
        if self.journal.over_limit:
            self.snapshots.write(learner, extra)  # Once both hold the oldest files, these can go.

    def compact(self) -> None:
        """Write a pair of snapshots, then drop the journal entries that both hold.

        What was dropped cannot be undone after a restart.

        Raises:
            OSError, JournalError: nothing is gone that the snapshots do not hold.
        """
        with self.lock:
            self.snapshot()
            self.snapshot()
            self.journal.compact(self.snapshots.oldest_position)

    @property
    def unsaved(self) -> int:
        """How many journal entries the snapshot does not hold."""
        return self.position - self.snapshots.position

    # ----- inside -----

    def record(self, kind: EventKind, reference: str = '', **fields: Any) -> Event:
        """Write an event to the journal."""
        event = Event(kind, self.clock(), **fields)
        self.position, = self.journal.append([event], [reference])
        return Event(kind, event.stamp, entry=self.position, **fields)

    def try_snapshot(self) -> None:
        """Write the snapshot, or say why not."""
        try:
            self.snapshot()
        except (OSError, ProEMLCError) as error:
            self.on_warning(f'cannot write the snapshot: {error}; the journal has everything')

    def _require(self, label: str) -> None:
        if label not in self.model.learner.labels:
            raise UnknownLabelError(f'there is no label {label[:100]!r}')
