# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model that survives a crash: the journal is the truth, the model follows its reading.

Every change goes one way: it is written to the journal, read into the sample table, and the model
follows. A change other than an annotation is worked out on a copy first, so that nothing is
written which the model cannot follow; predictions go on with the model as it was.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.following import Base, Follower
from proemlc_ros.classifier.model_directory import BEFORE_RESET, ModelDirectory
from proemlc_ros.classifier.pictures import PictureBuffer
from proemlc_ros.classifier.snapshots import Snapshots
from proemlc_ros.classifier.validation import ExpectedInput, Limits, validate_names
from proemlc_ros.classifier.versioned_model import VersionedModel, extractor_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    LabelExistsError,
    ProEMLCError,
    SampleError,
    UndoError,
    UnknownLabelError,
    UnlearnError,
)
from proemlc_ros.journal.attachments import position_of
from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import (
    Change,
    ModelStep,
    SampleTable,
    TableState,
    difference,
    last_reference,
)
from proemlc_ros.records import Annotation, Correction, Event, EventKind, Learnt, Vector


class DurableModel:
    """A versioned model with journal, sample table, snapshots and model files.

    All methods may be called from any thread; those that change the model wait for each other.

    Args:
        model: what learns.
        new_learner: makes an untaught learner with the configured settings.
        directory: for model files and snapshots.
        journal: of everything learnt.
        limits: bounds on labels and vectors.
        clock: nanoseconds since the epoch.
        on_warning: called with what went wrong though the change itself was done, in words.

    Attributes:
        position: number of the last journal entry that the model holds.
        lock: held while the model changes.
    """

    def __init__(self, model: VersionedModel, new_learner: Callable[[], ProEMLC],
                 directory: ModelDirectory, journal: Journal,
                 limits: Limits | None = None, clock: Callable[[], int] = time.time_ns,
                 on_warning: Callable[[str], None] = lambda text: None) -> None:
        self.model = model
        self.directory = directory
        self.journal = journal
        self.limits = limits or Limits()
        self.position = 0
        self.snapshots = Snapshots(directory, journal, clock)
        self.new_learner = new_learner
        # What could not be journalled when the node started, and has to be before anything else.
        self.reset_is_due, self.first_file = False, ''
        self.clock = clock
        self.on_warning = on_warning
        self.lock = threading.RLock()
        self.pictures = PictureBuffer(on_error=on_warning)
        # Guards the table while it is changed or copied.
        self._reading = threading.Lock()
        # None: not read yet. A start that finds all in its snapshot does not need it.
        self._table: SampleTable | None = None
        self._copy: SampleTable | None = None
        # Annotations that the learner rejected while the table is not read.
        self._rejected: set[int] = set()

    @property
    def is_behind(self) -> bool:
        """Whether the disk did not allow to read or write something; see `catch_up`."""
        return bool(self.journal.problem or self.reset_is_due or self.first_file)

    def reading(self) -> SampleTable:
        """Return the table as it is now, to be read while the model goes on learning."""
        with self._reading:
            if self._copy is None:
                self._copy = self._read().copy()
            return self._copy

    @property
    def table(self) -> SampleTable:
        """The reading of the journal, to be used under the lock; others use `reading`."""
        with self._reading:
            return self._read()

    def _read(self) -> SampleTable:
        if self._table is None:
            table = SampleTable()
            for number in self._rejected:
                table.reject(number)
            self._table = table.follow(self.journal.entries())
            # Pictures, and entries that were dropped, are not among them.
            table.last = max(table.last, self.position)
            table.forget(self.dropped())
        return self._table

    @property
    def rejected(self) -> Collection[int]:
        """Numbers of annotations that the learner rejected: they are in the journal only."""
        return self._rejected if self._table is None else self._table.rejected

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
            failure = self._catch_up_error() if self.is_behind else None
            expected = self._expected()
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
                entries = iter(self.journal.write(accepted, references, pictures))
            except JournalError as error:
                return [error if isinstance(item, Annotation) else item for item in validated]
            return [item if isinstance(item, ProEMLCError) else self._learn(next(entries), item)
                    for item in validated]

    def _expected(self) -> ExpectedInput:
        learner = self.model.learner
        return ExpectedInput(learner.width, self.model.extractor, dict.fromkeys(learner.labels),
                             self.limits, self.model.version)

    def _learn(self, entry: JournalEntry, annotation: Annotation) -> Learnt | ProEMLCError:
        self._apply(entry)
        if self.pictures.active:
            self.pictures.settle(entry.number, annotation)
        try:
            introduced = self.model.learn(annotation)
        except ProEMLCError as error:
            self.reject(entry.number)
            return error
        return Learnt(annotation, entry.number, introduced, self.model.version)

    # ----- corrections -----

    def undo(self) -> Annotation:
        """Unlearn the last annotation, as if it had never been learnt.

        Returns:
            The annotation, without features.

        Raises:
            UndoError: none is left, or it cannot be undone accurately; the model is as before.
            JournalError: the model is as before.
        """
        with self.lock:
            self.catch_up()
            number = next(reversed(self.table.samples), 0)
            recent = (step.number for step in reversed(self.table.steps.values())
                      if step.kind is None)
            depth = self.model.undo_depth
            if not number or number not in (n for n, _ in zip(recent, range(depth))):
                raise UndoError('no annotation is left that can be undone')
            sample = self.table.samples[number]
            self._change([Event(EventKind.UNDO, self.clock(), sample=number)],
                         [last_reference(number)])
            return sample

    def turn(self, kind: EventKind, numbers: Sequence[int] = (), annotator: str = '',
             mine: bool = False) -> list[tuple[ModelStep, Event]]:
        """Undo the last steps, or redo those undone last.

        Args:
            kind: UNDO or REDO.
            numbers: of the steps that are meant, in any order; empty: the next one.
            annotator: who asks.
            mine: whether only steps of that annotator count.

        Returns:
            The steps with the events of it.

        Raises:
            UndoError: these are not the next ones, or cannot be turned; nothing changed.
            JournalError: nothing changed.
        """
        with self.lock:
            self.catch_up()
            steps = self.table.meant(kind, {*numbers}, annotator if mine else None)
            events = [Event(kind, self.clock(), sample=step.number, annotator=annotator)
                      for step in steps]
            return [*zip(steps, self._change(events), strict=True)]

    def correct(self, corrections: Sequence[Correction], annotator: str = '') -> list[Event]:
        """Give learnt samples other labels, or delete them, all or none.

        Returns:
            What was done.

        Raises:
            ProEMLCError: nothing changed.
        """
        with self.lock:
            self.catch_up()
            expected, events = self._expected(), []
            for correction in dict.fromkeys(corrections):
                number, sample = correction.number, self.table.samples.get(correction.number)
                if sample is None:
                    raise SampleError(f'sample {number} is not part of the model (any more)')
                vector = next(self.features([number]), None)
                if vector is None:
                    raise SampleError(f'sample {number} is part of the model, but its journal '
                                      'entry is gone; it cannot be changed any more')
                if correction.delete:
                    events.append(Event(EventKind.DELETE, self.clock(), sample=number,
                                        annotator=annotator))
                    continue
                accepted = expected.accept_annotation(sample._replace(
                    labels=correction.labels, absent=correction.absent,
                    complete=correction.complete, features=vector[1]))
                events.append(Event(
                    EventKind.RELABEL, self.clock(), sample=number, annotator=annotator,
                    labels=accepted.labels, absent=accepted.absent, complete=accepted.complete))
            return self._change(events)

    def merge_labels(self, label: str, into: str, annotator: str = '') -> Event:
        """Make one label part of another.

        Raises:
            UnknownLabelError, UndoError, JournalError: nothing changed.
        """
        with self.lock:
            self.catch_up()
            for name in (label, into):
                self._require(name)
            if label == into:
                raise UnknownLabelError(f'{label[:100]!r} cannot be merged with itself')
            return self._change([Event(EventKind.MERGE_LABELS, self.clock(), label, into,
                                       annotator=annotator)])[0]

    def rename(self, label: str, new_label: str, annotator: str = '') -> Event:
        """Give a label another name.

        Returns:
            What was done, with the names in their normal form.

        Raises:
            UnknownLabelError, LabelExistsError, LabelRejectedError, JournalError: nothing changed.
        """
        with self.lock:
            self.catch_up()
            self._require(label)
            new_label, = validate_names([new_label], self.limits)
            if new_label in self.model.learner.labels:
                raise LabelExistsError(f'label {new_label!r} exists already')
            return self._change([Event(EventKind.RENAME, self.clock(), label, new_label,
                                       annotator=annotator)])[0]

    def remove(self, label: str, annotator: str = '') -> Event:
        """Forget a label.

        Returns:
            What was done.

        Raises:
            UnknownLabelError, JournalError: nothing changed.
        """
        with self.lock:
            self.catch_up()
            self._require(label)
            return self._change([Event(EventKind.REMOVE, self.clock(), label,
                                       annotator=annotator)])[0]

    def reset(self) -> Path | None:
        """Forget everything.

        Returns:
            Where the forgotten model was kept, None where nothing was learnt.

        Raises:
            JournalError, OSError: nothing changed.
        """
        with self.lock:
            self.catch_up()
            kept = self.keep_before_reset()
            self._record_reset()
            self.try_snapshot()
            return kept

    def keep_before_reset(self) -> Path | None:
        """Save the model where a reset keeps it; return the file, None where nothing is learnt."""
        if not self.model.learner.samples:
            return None
        kept = self.directory.target(BEFORE_RESET)
        self.model.learner.save(kept, self._file_extra(), self.directory.key)
        return kept

    # ----- files -----

    def load(self, name: str, annotator: str = '') -> Path:
        """Replace the model by one of the model directory.

        A file that was saved from this journal takes the table back to where it was then; the
        samples of another one are not listed. The journal keeps the content of the file, since
        the file may change.

        Raises:
            ModelDirectoryError, ModelFileError, LabelRejectedError, JournalError, OSError: the
                running model is untouched.
        """
        with self.lock:
            self.catch_up()
            path = self.directory.existing(name)
            reference = self.journal.attachments.add(path)
            learner = self.directory.read_model(
                self.journal.attachments.find(reference), self.limits, path.name)
            self.record(Event(EventKind.LOAD, self.clock(), file_name=path.name,
                              annotator=annotator, sample=self._place_of(learner, not name)),
                        reference)
            self.model.replace(learner)
            self.try_snapshot()
            return path

    def _place_of(self, learner: ProEMLC, own: bool) -> int:
        """Return the entry up to which a file has learnt this journal; 0: another one.

        Args:
            learner: of the file.
            own: whether the file is this model's own snapshot.
        """
        position, chain = position_of(learner), learner.extra.get('chain')
        if chain is None:  # A snapshot of an earlier version.
            return position if own else 0
        known = self.journal.chain(position) if position else None
        return position if known is not None and known.hex() == chain else 0

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
            learner, extra = self.model.learner.copy(), self._file_extra()
        learner.save(path, extra, self.directory.key)
        return path

    def _file_extra(self) -> dict[str, Any]:
        """Return what a model file keeps beside the learner: what it is, and up to where."""
        chain = self.journal.chain(self.position) if self.position else None
        return {'extractor': self.model.extractor, 'renewed_at': self.model.renewed_at,
                'position': self.position, 'chain': '' if chain is None else chain.hex()}

    def snapshot(self) -> None:
        """Write the snapshot; the model can go on learning meanwhile.

        Raises:
            OSError, JournalError: the older snapshot is still there.
        """
        # Whoever holds the model's lock may ask for a snapshot, so the snapshots' lock is second.
        with self.lock:
            learner = self.model.learner.copy()
            extra = {**self.model.to_extra(), **self._file_extra(),
                     'not_learnt': sorted(self.rejected)}
        self.snapshots.write(learner, extra)
        if self.journal.over_limit:
            self.snapshots.write(learner, extra)  # Once both hold the oldest files, these can go.
        self._forget_dropped()

    def compact(self) -> None:
        """Write a pair of snapshots, then drop the journal entries that both hold.

        What was dropped cannot be corrected any more.

        Raises:
            OSError, JournalError: nothing is gone that the snapshots do not hold.
        """
        with self.lock:
            self.snapshot()
            self.snapshot()
            self.journal.compact(self.snapshots.oldest_position)
            self._forget_dropped()

    def try_snapshot(self) -> None:
        """Write the snapshot, or say why not."""
        try:
            self.snapshot()
        except (OSError, ProEMLCError) as error:
            self.on_warning(f'cannot write the snapshot: {error}; the journal has everything')

    @property
    def unsaved(self) -> int:
        """How many journal entries the snapshot does not hold."""
        return self.position - self.snapshots.position

    # ----- journal, table, model -----

    def record(self, event: Event, reference: str = '') -> Event:
        """Write an event whose model the caller has, and read it into the table."""
        entry, = self.journal.write([event], [reference])
        self._apply(entry)
        return event._replace(entry=entry.number)

    def features(self, numbers: Iterable[int]) -> Iterator[tuple[int, Vector]]:
        """Yield the features of samples by rising number; those that are gone are left out."""
        for entry in self.journal.select(numbers):
            if isinstance(entry.record, Annotation):
                yield entry.number, entry.record.matched_features

    def follower(self, table: SampleTable, **more: Any) -> Follower:
        """Return what makes models follow a table of this journal; more: as in Follower."""
        return Follower(table, self.features, self.model.fitted, **more)

    def bases(self, table: SampleTable) -> Iterator[Base]:
        """Yield what a model may be learnt from, the shortest way first."""
        state = table.state
        for position, learner in self.snapshots.stored():
            before = table.at(position)
            if (before.origin, before.layer) == (state.origin, state.layer):
                yield Base(learner.copy, table.since(position, before), before)
        everything = Change(added=state.samples)
        entry = self.journal.entry(state.layer) if state.layer else None
        if entry is not None:
            before = table.at(state.layer)
            read = partial(self.directory.read_again, entry, self.journal.attachments)
            yield Base(read, table.since(state.layer, before), before)
            if table.base is None and not table.forgotten:
                # The renewed layer stays, and learns all samples again.
                yield Base(partial(_emptied, read), everything, TableState())
        elif not state.layer and not table.forgotten:
            yield Base(self.new_learner, everything, TableState())

    def go_on_with(self, table: SampleTable, learner: ProEMLC, rebased: bool = False) -> None:
        """Let a table and the learner that has followed it become the running ones."""
        with self._reading:
            self._table, self._copy = table, None
        self.position = max(self.position, table.last)
        extractor = '' if rebased else self.model.extractor
        self.model.go_on_with(learner, extractor or extractor_of(learner) or next(
            (sample.extractor for sample in table.samples.values() if sample.extractor), ''))

    def reject(self, number: int) -> None:
        """Take note that the learner cannot take an annotation: it is in the journal only."""
        with self._reading:
            self._rejected.add(number)
            if self._table is not None:
                self._table.reject(number)
            self._copy = None

    def catch_up(self) -> None:
        """Read and write what the disk did not allow when the node started, under the lock.

        A node also starts on a disk that is full, read-only or failing.

        Raises:
            JournalError: the disk still does not allow it.
        """
        if not self.is_behind:
            return
        self.journal.retry()
        if self.journal.problem:
            raise JournalError(self.journal.problem)
        if self.journal.last_number > self.position:
            table = self.table.copy().follow(self.journal.entries(after=self.position))
            change = table.since(self.position, self.table.state)
            self.go_on_with(table, self._followed(table, change), change.rebased)
            self.position = self.journal.last_number
        if self.reset_is_due:
            self._record_reset()
            self.reset_is_due = False
        if self.first_file:
            self._load_first_file()

    # ----- inside -----

    def _change(self, events: Sequence[Event], references: Sequence[str] = ()) -> list[Event]:
        """Work out table and model after events, write the events, go on with the model."""
        table = self.table.copy()
        first = self.journal.last_number + 1
        references = references or [f'step:{event.sample}' if event.sample else ''
                                    for event in events]
        changes = [table.apply(JournalEntry(number, event, reference, time=event.stamp))
                   for number, event, reference in zip(
                       range(first, first + len(events)), events, references, strict=True)]
        change = changes[0] if len(changes) == 1 else difference(
            self.table.state, table.state)._replace(restored=any(
                one.columns or one.merged or one.restored for one in changes))
        learner = self._followed(table, change)
        entries = self.journal.write(events, references)
        for entry in entries:
            table.date(entry.number, entry.time)
        self.go_on_with(table, learner, change.rebased)
        return [event._replace(entry=entry.number)
                for event, entry in zip(events, entries, strict=True)]

    def _followed(self, table: SampleTable, change: Change) -> ProEMLC:
        """Return a learner that has followed a change, or has learnt the table again."""
        follower, began = self.follower(table), time.monotonic()
        try:
            return follower.followed(self.model.learner, self.table.state, change)
        except UnlearnError as error:
            reason = error
        due = (None if change.rebased else self.model.learner.samples + len(change.added)
               - len(change.removed))
        learner = follower.relearnt(self.bases(table), due)
        seconds = time.monotonic() - began
        if seconds > 1.0:
            self.on_warning(f'the model was learnt again, in {seconds:.2f} s: {reason}')
        return learner

    def _apply(self, entry: JournalEntry) -> None:
        with self._reading:
            self._copy = None
            self.position = entry.number
            # Where it is not read yet, or was while this was written, it has the entry.
            if self._table is not None and self._table.last < entry.number:
                self._table.apply(entry)

    def _record_reset(self) -> None:
        self.record(Event(EventKind.RESET, self.clock()))
        self.model.replace(self.new_learner())

    def _load_first_file(self) -> None:
        name, self.first_file = self.first_file, ''
        try:
            self.load(name)
        except (ProEMLCError, OSError) as error:
            self.first_file = name
            raise JournalError(
                f'cannot journal that the model began with {name}: {error}') from error

    def _catch_up_error(self) -> JournalError | None:
        try:
            self.catch_up()
        except JournalError as error:
            return error
        return None

    def _forget_dropped(self) -> None:
        """Let go what the journal has dropped; else the table would grow for ever."""
        with self.lock, self._reading:
            if self._table is not None and self._table.forgotten < self.dropped():
                self._table.forget(self.dropped())
                self._copy = None

    def dropped(self) -> int:
        """Return the number of the last entry that the journal has dropped."""
        return max((gap.stop - 1 for gap in self.journal.missing()[:1] if gap.start == 1),
                   default=0)

    def _require(self, label: str) -> None:
        if label not in self.model.learner.labels:
            raise UnknownLabelError(f'there is no label {label[:100]!r}')


def _emptied(read: Callable[[], ProEMLC]) -> ProEMLC:
    """Return a model with the layer of another one that has learnt nothing."""
    model = read()
    empty = model.empty_copy()
    empty.extra.update(model.extra)
    return empty
