# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Going on where the last run stopped, or forgetting it on purpose."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.following import Base, Follower
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    ModelDirectoryError,
    ProEMLCError,
    UndoError,
    UnlearnError,
)
from proemlc_ros.journal.entries import numbers_in_words
from proemlc_ros.journal.table import Change, SampleTable, TableState

_MOST_NOTES = 10


@dataclass
class ResumeReport:
    """What was found at the start.

    Args:
        replayed: number of entries behind the snapshot that were read.
        rejections: numbers of entries that could not be learnt again, each with the reason.
        snapshot: the file that was loaded, None without any.
        missing: numbers of journal entries behind the snapshot that are gone.
        unprovable: number of journal entries that an earlier version wrote, without a proof.
        notes: what the operator should know, in words.
    """

    replayed: int = 0
    rejections: list[tuple[int, str]] = field(default_factory=list)
    snapshot: Path | None = None
    missing: list[range] = field(default_factory=list)
    unprovable: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def rejected(self) -> int:
        """Number of journal entries that were not learnt again."""
        return len(self.rejections)


def resume(durable: DurableModel) -> ResumeReport:
    """Read the journal; let the newest valid snapshot follow it, or learn it from the start.

    Raises:
        JournalError: the journal cannot be read.
        ModelDirectoryError: the journal loads a model file that is gone.
    """
    with durable.lock:
        return _Resume(durable).run()


def begin(durable: DurableModel) -> ResumeReport:
    """Start with an untaught model, on purpose; what was learnt is kept in a file."""
    report = ResumeReport()
    with durable.lock:
        try:
            resume(durable)
        except ProEMLCError:
            # What is not whole cannot be kept.
            durable.model.replace(durable.new_learner())
            durable.position = durable.journal.last_number
        if durable.journal.last_number:
            try:
                durable.reset()
            except (JournalError, OSError) as error:
                durable.model.replace(durable.new_learner())
                durable.reset_is_due = True
                report.notes.append(f'nothing can be learnt now: {error}')
    return report


class _Resume:
    """One resume of a model."""

    def __init__(self, durable: DurableModel) -> None:
        self._durable = durable
        self._report = ResumeReport()
        self._table = SampleTable()

    def run(self) -> ResumeReport:
        durable, report = self._durable, self._report
        found = durable.snapshots.read(report.notes)
        position = durable.snapshots.position
        if found is not None:
            report.snapshot, learner = found
            self._check_end(learner, position)
            for number in durable.snapshots.not_learnt(learner):
                self._table.reject(number)
                durable.reject(number)
            durable.model.replace(learner)
            durable.model.raise_version(durable.snapshots.version)
        if found is None or position < durable.journal.last_number:
            versions = self._read(position)
            learner = self._learnt(None if found is None else found[1], position)
            durable.go_on_with(self._table, learner, rebased=True)
            durable.model.raise_version(versions)
        # What may be left are pictures, which a model does not hold.
        durable.position = max(position, durable.journal.last_number)
        report.missing = durable.journal.missing(after=position)
        report.unprovable = durable.journal.unprovable
        self._note_problems()
        return report

    def _check_end(self, learner: ProEMLC, position: int) -> None:
        """Take note where the journal ends before its snapshot, or is not the one it was."""
        journal, notes = self._durable.journal, self._report.notes
        if position > journal.last_number:
            notes.append(
                f'the snapshot holds {position} journal entries, the journal only '
                f'{journal.last_number}; entries behind the snapshot, if there were any, are lost')
            journal.continue_after(position)
            return
        chain, known = learner.extra.get('chain'), journal.chain(position)
        if chain and known is not None and known.hex() != chain:
            notes.append(f'journal entry {position} is not the one that the snapshot ends with; '
                         'the snapshot, or the journal, is of another model')

    def _read(self, position: int) -> int:
        """Read the journal; return the version of the label set behind it."""
        journal, report = self._durable.journal, self._report
        versions = self._durable.snapshots.version
        dropped = self._durable.dropped()
        for entry in journal.entries():
            change = self._table.apply(entry)
            if entry.number > position:
                report.replayed += entry.record is not None
                versions += change.renamed
                if entry.record is None:
                    report.rejections.append((entry.number, entry.error))
                elif change.unknown > dropped:
                    report.rejections.append((
                        entry.number, f'it is about entry {change.unknown}, which is lost'))
        self._table.last = max(self._table.last, journal.last_number)
        self._table.forget(dropped)
        return versions

    def _learnt(self, snapshot: ProEMLC | None, position: int) -> ProEMLC:
        """Return the learner that the journal gives."""
        durable, table, model = self._durable, self._table, self._durable.model
        follower = durable.follower(
            table, on_rejection=self._reject, recent=model.window, learn_one=model.test_then_train)
        due = None
        if snapshot is not None:
            before = table.at(position)
            change = table.since(position, before)
            try:
                return follower.followed(snapshot, before, change)
            except (UnlearnError, UndoError):
                due = None if change.rebased else (
                    snapshot.samples + len(change.added) - len(change.removed))
        try:
            return follower.relearnt(durable.bases(table), due)
        except UndoError as error:
            if snapshot is not None and due is not None:
                # Every sample is kept; what a correction took back may have left traces.
                with suppress(UnlearnError, UndoError):
                    nearly = durable.follower(table, exact=False).followed(
                        snapshot, before, change)
                    self._report.notes.append(f'the journal is followed nearly: {error}')
                    return nearly
            return self._without_file(follower, error)

    def _reject(self, number: int, error: Exception) -> None:
        self._report.rejections.append((number, str(error)))
        self._table.reject(number)

    def _without_file(self, follower: Follower, error: UndoError) -> ProEMLC:
        """Learn without the file that the layer was in."""
        durable, table = self._durable, self._table
        if table.base is not None:
            raise ModelDirectoryError(
                f'journal entry {table.base.number} loads a model file that cannot be used any '
                f'more: {error}; put it back, or start with resume: false') from error
        self._report.rejections.append(
            (table.state.layer, f'its layer and settings are not used: {error}'))
        return follower.relearnt([Base(
            durable.new_learner, Change(added=table.samples), TableState())])

    def _note_problems(self) -> None:
        report, journal = self._report, self._durable.journal
        if report.missing:
            gone = numbers_in_words(report.missing)
            report.notes.append(f'journal entries {gone} are lost; the model was resumed '
                                'without them')
        report.notes += [f'journal entry {number} was not learnt again: {reason}'
                         for number, reason in report.rejections[:_MOST_NOTES]]
        if report.rejected > _MOST_NOTES:
            report.notes.append(f'{report.rejected} journal entries were not learnt again')
        if journal.problem:
            report.notes.append(f'nothing can be learnt now: {journal.problem}')
