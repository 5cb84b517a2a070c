# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Going on where the last run stopped, or forgetting it on purpose."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.journal_protocol import EntryProtocol, JournalProtocol
from proemlc_ros.classifier.records import Annotation
from proemlc_ros.errors import ModelDirectoryError, ModelFileError, ProEMLCError


@dataclass
class ResumeReport:
    """What was found at the start.

    Args:
        snapshot: the file that was loaded, None without any.
        replayed: journal entries learnt again.
        rejected: journal entries that were rejected again, as they were the first time.
        notes: what the operator should know, in words.
    """

    snapshot: Path | None = None
    replayed: int = 0
    rejected: int = 0
    notes: list[str] = field(default_factory=list)


def resume(durable: DurableModel) -> ResumeReport:
    """Load the newest valid snapshot, then replay the journal behind it.

    Raises:
        JournalError: the journal cannot be read.
        ModelDirectoryError: the journal loads a model file that is gone.
    """
    report = ResumeReport()
    with durable.lock:
        _load_snapshot(durable, report)
        if durable.position > durable.journal.last_number:
            report.notes.append(
                f'the snapshot holds {durable.position} journal entries, the journal only '
                f'{durable.journal.last_number}; nothing learnt is lost')
            durable.journal.continue_after(durable.position)
        for entry in durable.journal.entries(after=durable.position):
            try:
                _apply(durable, entry)
                report.replayed += 1
            except (ModelDirectoryError, ModelFileError, OSError) as error:
                raise ModelDirectoryError(
                    f'journal entry {entry.number} loads a model file that cannot be used '
                    f'any more: {error}; put it back, or start with resume: false') from error
            except ProEMLCError:
                report.rejected += 1  # As it was the first time.
            durable.position = entry.number
    return report


def begin(durable: DurableModel) -> None:
    """Start with an untaught model, on purpose; what was learnt is kept in a file."""
    with durable.lock:
        try:
            resume(durable)
        except ProEMLCError:
            # What is not whole cannot be kept.
            durable.model.replace(durable.new_learner())
        if durable.journal.last_number:
            durable.reset()


def _load_snapshot(durable: DurableModel, report: ResumeReport) -> None:
    found = durable.snapshots.read(report.notes)
    if found is None:
        return
    report.snapshot, learner = found
    durable.position = durable.snapshots.position
    durable.model.replace(learner)
    durable.model.raise_version(int(learner.extra.get('label_set_version', 0)))
    durable.model.undo_stack.restore(
        learner.extra.get('lessons', ()), partial(_annotation_of, durable.journal))


def _annotation_of(journal: JournalProtocol, number: int) -> Annotation | None:
    entry = journal.entry(number)
    if entry is None or not isinstance(entry.record, Annotation):
        return None
    return entry.record


def _apply(durable: DurableModel, entry: EntryProtocol) -> None:
    model, record = durable.model, entry.record
    if isinstance(record, Annotation):
        model.learn(entry.number, record)
    elif not model.repeat(record, durable.new_learner):
        model.replace(durable.read_model(durable.directory.existing(record.file_name)))
