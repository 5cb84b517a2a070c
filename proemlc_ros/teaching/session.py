# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Teaching that survives a crash: every statement is in the journal before it is learnt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    LabelExistsError,
    ModelDirectoryError,
    ModelFileError,
    ProEMLCError,
    UndoError,
    UnknownLabelError,
)
from proemlc_ros.teaching.events import Event, EventKind
from proemlc_ros.teaching.limits import Limits
from proemlc_ros.teaching.model_directory import BEFORE_RESET, ModelDirectory
from proemlc_ros.teaching.moments import Annotation
from proemlc_ros.teaching.pupil import Pupil


class Entry(Protocol):
    """A line of the journal."""

    number: int
    statement: Annotation | Event


class Journal(Protocol):
    """What a session needs of a journal."""

    @property
    def last_number(self) -> int:
        """Number of the last entry."""

    def append(self, statements: Sequence[Annotation | Event]) -> list[int]:
        """Write statements durably; return their numbers."""

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the entries behind a number."""

    def entry(self, number: int) -> Entry | None:
        """Return one entry."""

    def continue_after(self, number: int) -> None:
        """Number new entries above this."""

    def checkpoint(self, up_to: int) -> None:
        """Note that a snapshot holds all entries up to this one."""


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


@dataclass
class Resumed:
    """What was found at the start.

    Args:
        snapshot: the file that was loaded, None without any.
        replayed: journal entries learnt again.
        refused: journal entries that were refused again, as they were the first time.
        notes: what the operator should know, in words.
    """

    snapshot: Path | None = None
    replayed: int = 0
    refused: int = 0
    notes: list[str] = field(default_factory=list)


class Session:
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

    def __init__(self, pupil: Pupil, new_model: Callable[[], ProEMLC], directory: ModelDirectory,
                 journal: Journal, limits: Limits | None = None,
                 clock: Callable[[], int] = time.time_ns) -> None:
        self.pupil = pupil
        self.directory = directory
        self.journal = journal
        self.limits = limits or Limits()
        self.position = 0
        self.snapshot_position = 0
        self.snapshot_time: int | None = None
        self._new_model = new_model
        self._clock = clock
        self._lock = threading.RLock()
        self._snapshot_lock = threading.Lock()

    # ----- teaching -----

    def teach(self, annotations: Sequence[Annotation]) -> list[Learnt | ProEMLCError]:
        """Write annotations to the journal in one transaction, then learn them.

        Args:
            annotations: with their features, in order.

        Returns:
            For each, what was learnt, or the reason why not.
        """
        with self._lock:
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
        with self._lock:
            if not len(self.pupil.lessons):
                raise UndoError('no annotation is left that can be taken back')
            self.position, = self._journal(EventKind.UNDO)
            return self.pupil.undo().annotation

    def rename(self, label: str, new_label: str) -> None:
        """Give a label another name.

        Raises:
            UnknownLabelError, LabelExistsError, LabelRejectedError, JournalError: nothing changed.
        """
        with self._lock:
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
        with self._lock:
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
        with self._lock:
            kept = None
            if self.pupil.model.samples:
                kept = self.directory.target(BEFORE_RESET)
                self.pupil.model.save(kept, extra=self._file_extra())
            self.position, = self._journal(EventKind.RESET)
            self.pupil.adopt(self._new_model(), '')
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
        with self._lock:
            path = self.directory.existing(name)
            model = self._read(path)
            self.position, = self._journal(EventKind.LOAD, file_name=path.name)
            self.pupil.adopt(model, _extractor_of(model))
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
        with self._lock:
            model, extra = self.pupil.model.copy(), self._file_extra()
        model.save(path, extra=extra)
        return path

    def snapshot(self) -> None:
        """Write the snapshot; the model can be taught on meanwhile.

        Raises:
            OSError, JournalError: the older snapshot is still there.
        """
        # Teaching may hold its lock while it asks for a snapshot, so this lock comes second.
        with self._lock:
            model, extra = self.pupil.model.copy(), self._snapshot_extra()
        with self._snapshot_lock:
            if extra['position'] < self.snapshot_position:
                return  # A newer one was written meanwhile.
            self.directory.keep_older_snapshot()
            model.save(self.directory.snapshots[0], extra=extra)
            self.snapshot_position = extra['position']
            self.snapshot_time = self._clock()
        self.journal.checkpoint(self.snapshot_position)

    @property
    def unsaved(self) -> int:
        """How many journal entries the snapshot does not hold."""
        return self.position - self.snapshot_position

    # ----- starting -----

    def begin(self) -> None:
        """Start with an untaught model, on purpose; what was learnt is kept in a file."""
        with self._lock:
            try:
                self.resume()
            except ProEMLCError:
                self.pupil.adopt(self._new_model(), '')  # It cannot be kept, as it is not whole.
            if self.journal.last_number:
                self.reset()

    def resume(self) -> Resumed:
        """Go on where the last run stopped: newest snapshot, then the journal's tail.

        Raises:
            JournalError: the journal cannot be read.
            ModelDirectoryError, ModelFileError: the journal loads a model file that is gone.
        """
        report = Resumed()
        with self._lock:
            self._take_snapshot(report)
            if self.position > self.journal.last_number:
                report.notes.append(
                    f'the snapshot holds {self.position} journal entries, the journal only '
                    f'{self.journal.last_number}; nothing learnt is lost')
                self.journal.continue_after(self.position)
            for entry in self.journal.entries(after=self.position):
                try:
                    self._apply(entry)
                    report.replayed += 1
                except (ModelDirectoryError, ModelFileError, OSError) as error:
                    raise ModelDirectoryError(
                        f'journal entry {entry.number} loads a model file that cannot be used '
                        f'any more: {error}; put it back, or start with resume: false') from error
                except ProEMLCError:
                    report.refused += 1
                self.position = entry.number
        return report

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

    def _read(self, path: Path) -> ProEMLC:
        model = ProEMLC.load(path, max_bytes=self.directory.max_file_bytes)
        self.limits.check_annotation(Annotation(0, tuple(model.labels)), ())
        return model

    def _file_extra(self) -> dict[str, object]:
        return {'extractor': self.pupil.extractor}

    def _snapshot_extra(self) -> dict[str, object]:
        return {**self.pupil.to_extra(), 'position': self.position}

    def _take_snapshot(self, report: Resumed) -> None:
        for path in self.directory.snapshots:
            try:
                model = ProEMLC.load(path, max_bytes=self.directory.max_file_bytes)
            except FileNotFoundError:
                continue
            except (ModelFileError, OSError) as error:
                report.notes.append(f'{path.name} cannot be used: {error}')
                continue
            self._adopt_snapshot(model)
            report.snapshot = path
            return

    def _adopt_snapshot(self, model: ProEMLC) -> None:
        extra = model.extra
        self.position = self.snapshot_position = int(extra.get('position', 0))
        self.pupil.adopt(model, _extractor_of(model))
        self.pupil.raise_version(int(extra.get('label_set_version', 0)))
        self.pupil.lessons.restore(extra.get('lessons', ()), self._annotation_of)
        self.snapshot_time = self.directory.snapshots[0].stat().st_mtime_ns

    def _annotation_of(self, number: int) -> Annotation | None:
        entry = self.journal.entry(number)
        if entry is None or not isinstance(entry.statement, Annotation):
            return None
        return entry.statement

    def _apply(self, entry: Entry) -> None:
        statement = entry.statement
        if isinstance(statement, Annotation):
            self.pupil.learn(entry.number, statement)
        elif statement.kind is EventKind.UNDO:
            self.pupil.undo()
        elif statement.kind is EventKind.RENAME:
            self.pupil.rename(statement.label, statement.new_label)
        elif statement.kind is EventKind.REMOVE:
            self.pupil.remove(statement.label)
        elif statement.kind is EventKind.RESET:
            self.pupil.adopt(self._new_model(), '')
        else:
            model = self._read(self.directory.existing(statement.file_name))
            self.pupil.adopt(model, _extractor_of(model))


def _extractor_of(model: ProEMLC) -> str:
    return str(model.extra.get('extractor', ''))
