# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model that survives a crash: the journal is the truth, the model follows its reading.

Every change goes one way: it is written to the journal, read into the sample table, and the model
follows. A change other than an annotation is worked out on a copy first, so that nothing is
written which the model cannot follow; predictions go on with the model as it was.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.model_directory import BEFORE_RESET, ModelDirectory, Snapshots
from proemlc_ros.classifier.pictures import PictureBuffer
from proemlc_ros.classifier.plans import CorrectionPlans, Plan
from proemlc_ros.classifier.validation import ExpectedInput, Limits
from proemlc_ros.classifier.versioned_model import Features, Follower, VersionedModel, extractor_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    ModelDirectoryError,
    ProEMLCError,
    UndoError,
    UnlearnError,
    WorkCancelledError,
)
from proemlc_ros.journal.entries import (
    REJECTED_REFERENCE,
    JournalEntry,
    last_reference,
    together_reference,
)
from proemlc_ros.journal.journal import Journal, position_of
from proemlc_ros.journal.table import Change, SampleTable, TableState, difference
from proemlc_ros.records import Annotation, Event, EventKind, Learnt, Vector


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
        self.plans = CorrectionPlans(self._expected, journal.missing, clock)
        self.on_warning = on_warning
        self.lock = threading.RLock()
        self.pictures = PictureBuffer(on_error=on_warning)
        # Set when the node shuts down: long work ends.
        self.stopping = threading.Event()
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
            table = SampleTable(self.journal.dropped())
            for number in self._rejected:
                table.reject(number)
            self._table = table.follow(self.journal.entries())
            # Pictures are not among them.
            table.last = max(table.last, self.position)
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
            failure: JournalError | None = None
            try:
                if self.is_behind:  # First: it may change what is valid.
                    self.catch_up()
            except JournalError as error:
                failure = error
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
            rejected: list[int] = []
            results = [item if isinstance(item, ProEMLCError)
                       else self._learn(next(entries), item, rejected) for item in validated]
            if rejected:
                self._record_rejected(rejected)
            return results

    def _expected(self) -> ExpectedInput:
        learner = self.model.learner
        return ExpectedInput(learner.width, self.model.extractor, dict.fromkeys(learner.labels),
                             self.limits, self.model.version)

    def _learn(self, entry: JournalEntry, annotation: Annotation,
               rejected: list[int]) -> Learnt | ProEMLCError:
        self._apply(entry)
        if self.pictures.active:
            self.pictures.settle(entry.number, annotation)
        try:
            introduced = self.model.learn(annotation)
        except ProEMLCError as error:
            self.reject(entry.number)
            rejected.append(entry.number)
            return error
        return Learnt(annotation, entry.number, introduced, self.model.version)

    def _record_rejected(self, numbers: Sequence[int]) -> None:
        """Let all readers of the journal know what the learner did not take."""
        events = [Event(EventKind.UNDO, self.clock(), sample=number) for number in numbers]
        with suppress(JournalError):  # The snapshot knows it, too.
            for entry in self.journal.write(events, [REJECTED_REFERENCE] * len(events)):
                self._apply(entry)

    # ----- corrections -----

    def undo(self) -> Annotation:
        """Unlearn the last annotation, as if it had never been learnt.

        Returns:
            The annotation, without features.

        Raises:
            UndoError: none is left, or it cannot be undone accurately; the model is as before.
            JournalError: the model is as before.
        """
        def plan(table: SampleTable) -> list[Event]:
            number = next(reversed(table.samples), 0)
            recent = (step.number for step in reversed(table.steps.values()) if step.kind is None)
            if not number or number not in islice(recent, self.model.undo_depth):
                raise UndoError('no annotation is left that can be undone')
            return [Event(EventKind.UNDO, self.clock(), sample=number)]

        with self.lock:
            samples = dict(self.table.samples)
            event, = self.make(plan, lambda event: last_reference(event.sample))
            return samples[event.sample]

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
            self.record(Event(EventKind.RESET, self.clock()))
            self.model.replace(self.new_learner())
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
        samples of another one are not listed. The journal keeps the content of the file.

        Raises:
            ProEMLCError, OSError: the running model is untouched.
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
            keep_existing: whether such a file is not overwritten.

        Raises:
            ModelDirectoryError, OSError: nothing was written.
        """
        path = self.directory.target(name)
        if path == self.directory.snapshots[1]:
            raise ModelDirectoryError(f'{path.name} is kept by the classifier itself; give '
                                      'another name')
        if path == self.directory.snapshots[0]:
            self.snapshot()
            return path
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

    def make(self, plan: Plan, reference: Callable[[Event], str] | None = None,
             ahead: tuple[TableState, ProEMLC] | None = None) -> list[Event]:
        """Work out table and model after a change, write its events, go on with the model.

        Args:
            plan: of the change.
            reference: of its events; None: the sample, or a group where there are several.
            ahead: a model that has followed the change already, and what was in force then.

        Returns:
            What was done.

        Raises:
            ProEMLCError: nothing changed.
        """
        with self.lock:
            self.catch_up()
            events, table, state = plan(self.table), self.table.copy(), self.table.state
            references = [*map(reference or _references(events), events)]
            change, learner = self._applied(table, events, references), None
            if ahead is not None:
                with suppress(UnlearnError):
                    learner = self.follower(table).followed(ahead[1], ahead[0], difference(
                        ahead[0], table.state)._replace(restored=True))
            learner = learner or self._followed(table, change, self.model.learner, state)
            entries = self.journal.write(events, references)
            for entry in entries:
                table.date(entry.number, entry.time)
            self.go_on_with(table, learner, change.rebased)
            return [event._replace(entry=entry.number)
                    for event, entry in zip(events, entries, strict=True)]

    def aside(self, plan: Plan, check: Callable[[], None]) -> Callable[[], list[Event]]:
        """Work a long change out while the model goes on learning.

        Args:
            plan: of the change.
            check: called now and then; raises where the work is given up.

        Returns:
            What makes the change, soon, whatever was learnt meanwhile; see `make`.

        Raises:
            ProEMLCError: the change is not possible, or was given up.
        """
        with self.lock:
            self.catch_up()
            table, learner = self.table.copy(), self.model.learner.copy()
        events, before = plan(table), table.state.copy()
        change = self._applied(table, events, [*map(_references(events), events)])
        learner = self._followed(table, change, learner, before, check)
        return lambda: self.make(plan, ahead=(table.state, learner))

    def check(self) -> None:
        """Raise where work is to end.

        Raises:
            WorkCancelledError: the node shuts down.
        """
        if self.stopping.is_set():
            raise WorkCancelledError('the node is shut down')

    def features(self, numbers: Iterable[int]) -> Iterator[tuple[int, Vector]]:
        """Yield the features of samples by rising number; those that are gone are left out."""
        for entry in self.journal.select(numbers):
            if isinstance(entry.record, Annotation):
                yield entry.number, entry.record.matched_features

    def follower(self, table: SampleTable, features: Features | None = None,
                 **more: Any) -> Follower:
        """Return what makes models follow a table of this journal; more: as in Follower."""
        return Follower(table, features or self.features, self.model.fitted, **more)

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
            state = self.table.state
            change = table.since(self.position, state)
            learner = self._followed(table, change, self.model.learner, state)
            self.go_on_with(table, learner, change.rebased)
            self.position = self.journal.last_number
        if self.reset_is_due:
            self.record(Event(EventKind.RESET, self.clock()))
            self.model.replace(self.new_learner())
            self.reset_is_due = False
        if self.first_file:
            self._load_first_file()

    # ----- inside -----

    def _applied(self, table: SampleTable, events: Sequence[Event],
                 references: Sequence[str]) -> Change:
        """Read events that are not written yet into a table; return what they do together."""
        before, first = table.state.copy(), self.journal.last_number + 1
        changes = [change for _, change in table.changes(
            JournalEntry(number, event, reference, time=event.stamp)
            for number, event, reference in zip(count(first), events, references))]
        return changes[0] if len(changes) == 1 else difference(before, table.state)._replace(
            restored=any(one.columns or one.merged or one.restored for one in changes))

    def _followed(self, table: SampleTable, change: Change, learner: ProEMLC,
                  before: TableState, check: Callable[[], None] | None = None) -> ProEMLC:
        """Return a learner that has followed a change, or has learnt the table again."""
        follower, began = self.follower(table, check=check or self.check), time.monotonic()
        try:
            return follower.followed(learner, before, change)
        except UnlearnError as error:
            reason = error
        due = (None if change.rebased
               else learner.samples + len(change.added) - len(change.removed))
        learner = follower.relearnt(self.snapshots.bases(table, self.new_learner), due)
        seconds = time.monotonic() - began
        if seconds > 1.0 and check is None:
            self.on_warning(f'the model was learnt again, in {seconds:.2f} s: {reason}')
        return learner

    def _apply(self, entry: JournalEntry) -> None:
        with self._reading:
            self._copy = None
            self.position = entry.number
            # Where it is not read yet, or was while this was written, it has the entry.
            if self._table is not None and self._table.last < entry.number:
                self._table.apply(entry)

    def _load_first_file(self) -> None:
        name, self.first_file = self.first_file, ''
        try:
            self.load(name)
        except (ProEMLCError, OSError) as error:
            self.first_file = name
            raise JournalError(
                f'cannot journal that the model began with {name}: {error}') from error

    def _forget_dropped(self) -> None:
        """Let go what the journal has dropped; else the table would grow for ever."""
        with self.lock, self._reading:
            dropped = self.journal.dropped()
            if self._table is not None and self._table.forgotten < dropped:
                self._table.forget(dropped)
                self._copy = None


def _references(events: Sequence[Event]) -> Callable[[Event], str]:
    """Return what gives the references of events; several corrections are one step."""
    if len(events) > 1 and events[0].kind in (EventKind.RELABEL, EventKind.DELETE):
        group = together_reference(os.urandom(6).hex())
        return lambda event: group
    return lambda event: f'step:{event.sample}' if event.sample else ''
