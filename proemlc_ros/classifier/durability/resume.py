# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Going on where the last run stopped, or forgetting it on purpose."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from proemlc_ros.classifier.durability.durable_model import DurableModel
from proemlc_ros.classifier.durability.journal_protocol import JournalProtocol
from proemlc_ros.classifier.durability.replay import Replay, ReplayReport
from proemlc_ros.errors import JournalError, ProEMLCError
from proemlc_ros.journal.entries import numbers_in_words
from proemlc_ros.records import Annotation

_MOST_NOTES = 10


@dataclass
class ResumeReport(ReplayReport):
    """What was found at the start.

    Args:
        snapshot: the file that was loaded, None without any.
        missing: numbers of journal entries behind the snapshot that are gone.
        unprovable: number of journal entries that an earlier version wrote, without a proof.
        notes: what the operator should know, in words.
    """

    snapshot: Path | None = None
    missing: list[range] = field(default_factory=list)
    unprovable: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def rejected(self) -> int:
        """Number of journal entries that were not learnt again."""
        return len(self.rejections)


def resume(durable: DurableModel) -> ResumeReport:
    """Load the newest valid snapshot, then replay the journal behind it.

    Raises:
        JournalError: the journal cannot be read.
        ModelDirectoryError: the journal loads a model file that is gone.
    """
    report = ResumeReport()
    with durable.lock:
        _load_snapshot(durable, report)
        journal = durable.journal
        if durable.position > journal.last_number:
            report.notes.append(
                f'the snapshot holds {durable.position} journal entries, the journal only '
                f'{journal.last_number}; entries behind the snapshot, if there were any, are lost')
            journal.continue_after(durable.position)
        report.missing = journal.missing(after=durable.position)
        if report.missing:
            gone = numbers_in_words(report.missing)
            report.notes.append(f'journal entries {gone} are lost; the model was resumed '
                                'without them')
        report.unprovable = journal.unprovable
        Replay(durable, report).run()
        report.notes += [f'journal entry {number} was not learnt again: {reason}'
                         for number, reason in report.rejections[:_MOST_NOTES]]
        if report.rejected > _MOST_NOTES:
            report.notes.append(f'{report.rejected} journal entries were not learnt again')
        if journal.problem:
            report.notes.append(f'nothing can be learnt now: {journal.problem}')
    return report


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


def _load_snapshot(durable: DurableModel, report: ResumeReport) -> None:
    found = durable.snapshots.read(report.notes)
    if found is None:
        return
    report.snapshot, learner = found
    durable.position = durable.snapshots.position
    durable.model.replace(learner)
    durable.model.raise_version(int(learner.extra.get('label_set_version', 0)))
    not_learnt = learner.extra.get('not_learnt')
    if isinstance(not_learnt, list):
        durable.not_learnt.extend(number for number in not_learnt if isinstance(number, int))
    durable.model.undo_stack.restore(
        learner.extra.get('lessons', ()), partial(_annotation_of, durable.journal))


def _annotation_of(journal: JournalProtocol, number: int) -> Annotation | None:
    entry = journal.entry(number)
    if entry is None or not isinstance(entry.record, Annotation):
        return None
    return entry.record
