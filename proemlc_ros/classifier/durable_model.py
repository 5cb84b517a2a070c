# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Teaching that survives a crash: every statement is in the journal before it is learnt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from proemlc_ros.classifier.journal_protocol import JournalProtocol
from proemlc_ros.classifier.limits import Limits
from proemlc_ros.classifier.model_directory import BEFORE_RESET, ModelDirectory
from proemlc_ros.classifier.records import Annotation, Event, EventKind
from proemlc_ros.classifier.snapshots import Snapshots
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    LabelExistsError,
    ProEMLCError,
    UndoError,
    UnknownLabelError,
)


@dataclass(frozen=True, slots=True)
class Learnt:
    """The good answer to an annotation.

    Args:
        number: of the journal entry.
        introduced: labels that are new.
        version: of the label set afterwards.
    """

    number: int
    introduced: tuple[str, ...]
    version: int


class DurableModel:
    """A pupil whose lessons are durable.

    All methods may be called from any thread; those that change the model wait for each other.

    Args:
        pupil: who learns.
        new_model: makes an untaught model with the configured settings.
        directory: for model files and snapshots.
        journal: of everything taught.
        limits: bounds on labels.
        clock: nanoseconds since the epoch.
    """

    def __init__(self, pupil: VersionedModel, new_model: Callable[[], ProEMLC], directory: ModelDirectory,
                 journal: JournalProtocol, limits: Limits | None = None,
                 clock: Callable[[], int] = time.time_ns) -> None:
        self.pupil = pupil
        self.directory = directory
        self.journal = journal
        self.limits = limits or Limits()
        self.position = 0
        self.snapshots = Snapshots(directory, journal, clock)
        self.new_model = new_model
        self._clock = clock
        self.lock = threading.RLock()

    # ----- teaching -----

    def teach(self, annotations: Sequence[Annotation]) -> list[Learnt | ProEMLCError]:
        """Write annotations to the journal in one transaction, then learn them.

        Args:
            annotations: with their features, in order.

        Returns:
            For each, what was learnt, or the reason why not.
        """
        with self.lock:
            answers = self._refusals(annotations)
            accepted = [index for index in range(len(annotations)) if index not in answers]
            try:
                numbers = self.journal.append([annotations[index] for index in accepted])
            except JournalError as error:
                answers.update(dict.fromkeys(accepted, error))
            else:
                for index, number in zip(accepted, numbers, strict=True):
                    answers[index] = self._learn(number, annotations[index])
            return [answers[index] for index in range(len(annotations))]

    def undo(self) -> Annotation:
        """Take the last annotation back.

        Returns:
            What was taken back.

        Raises:
            UndoError: none is left.
            UnlearnError, JournalError: the model is as before.
        """
        with self.lock:
            if not len(self.pupil.lessons):
                raise UndoError('no annotation is left that can be taken back')
            self.position, = self._journal(EventKind.UNDO)
            return self.pupil.undo().annotation

    def rename(self, label: str, new_label: str) -> None:
        """Give a label another name.

        Raises:
            UnknownLabelError, LabelExistsError, LabelRejectedError, JournalError: nothing changed.
        """
        with self.lock:
            self._require(label)
            self.limits.check_name(new_label)
            if new_label in self.pupil.model.labels:
                raise LabelExistsError(f'label {new_label!r} exists already')
            self.position, = self._journal(EventKind.RENAME, label=label, new_label=new_label)
            self.pupil.rename(label, new_label)

    def remove(self, label: str) -> None:
        """Forget a label.

        Raises:
            UnknownLabelError, JournalError: nothing changed.
        """
        with self.lock:
            self._require(label)
            self.position, = self._journal(EventKind.REMOVE, label=label)
            self.pupil.remove(label)

    def reset(self) -> Path | None:
        """Forget everything.

        Returns:
            Where the forgotten model was kept, None where nothing was learnt.

        Raises:
            JournalError, OSError: nothing changed.
        """
        with self.lock:
            kept = None
            if self.pupil.model.samples:
                kept = self.directory.target(BEFORE_RESET)
                self.pupil.model.save(kept, extra=self._file_extra())
            self.position, = self._journal(EventKind.RESET)
            self.pupil.adopt(self.new_model(), '')
            self.snapshot()
            return kept

    # ----- files -----

    def load(self, name: str) -> Path:
        """Replace the model by one of the model directory.

        Args:
            name: of the file.

        Raises:
            ModelDirectoryError, ModelFileError, LabelRejectedError, JournalError, OSError: the
                running model is untouched.
        """
        with self.lock:
            path = self.directory.existing(name)
            model = self.read_model(path)
            self.position, = self._journal(EventKind.LOAD, file_name=path.name)
            self.pupil.adopt(model, extractor_of(model))
            self.snapshot()
            return path

    def save(self, name: str) -> Path:
        """Write the model to a file of the model directory.

        Args:
            name: of the file; empty for the snapshot.

        Raises:
            ModelDirectoryError, OSError: nothing was written.
        """
        path = self.directory.target(name)
        if path in self.directory.snapshots:
            self.snapshot()
            return self.directory.snapshots[0]
        with self.lock:
            model, extra = self.pupil.model.copy(), self._file_extra()
        model.save(path, extra=extra)
        return path

    def snapshot(self) -> None:
        """Write the snapshot; the model can be taught on meanwhile.

        Raises:
            OSError, JournalError: the older snapshot is still there.
        """
        # Teaching may hold its lock while it asks for a snapshot, so theirs comes second.
        with self.lock:
            model = self.pupil.model.copy()
            extra = {**self.pupil.to_extra(), 'position': self.position}
        self.snapshots.write(model, extra)

    def read_model(self, path: Path) -> ProEMLC:
        """Return the model of a file, if its labels are within the limits."""
        model = ProEMLC.load(path, max_bytes=self.directory.max_file_bytes)
        self.limits.check_annotation(Annotation(0, tuple(model.labels)), ())
        return model

    @property
    def unsaved(self) -> int:
        """How many journal entries the snapshot does not hold."""
        return self.position - self.snapshots.position

    # ----- inside -----

    def _refusals(
            self, annotations: Sequence[Annotation]) -> dict[int, Learnt | ProEMLCError]:
        known = dict.fromkeys(self.pupil.model.labels)
        width = self.pupil.model.width
        refusals: dict[int, Learnt | ProEMLCError] = {}
        for index, annotation in enumerate(annotations):
            try:
                self.limits.check_annotation(annotation, known)
                self.limits.check_vector(annotation.features, width)
            except ProEMLCError as error:
                refusals[index] = error
            else:
                known.update(dict.fromkeys(annotation.labels))
                width = annotation.features.size
        return refusals

    def _learn(self, number: int, annotation: Annotation) -> Learnt | ProEMLCError:
        self.position = number
        try:
            introduced = self.pupil.learn(number, annotation)
        except ProEMLCError as error:
            return error
        return Learnt(number, introduced, self.pupil.version)

    def _journal(self, kind: EventKind, **fields: str) -> list[int]:
        return self.journal.append([Event(kind, self._clock(), **fields)])

    def _require(self, label: str) -> None:
        if label not in self.pupil.model.labels:
            raise UnknownLabelError(f'there is no label {label[:100]!r}')

    def _file_extra(self) -> dict[str, object]:
        return {'extractor': self.pupil.extractor}


def extractor_of(model: ProEMLC) -> str:
    """Return the extractor that a model has learnt from; empty where not known."""
    return str(model.extra.get('extractor', ''))
