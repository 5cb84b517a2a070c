# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Going on where the last run stopped, or forgetting it on purpose."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from proemlc_ros.classifier.durable_model import DurableModel, extractor_of
from proemlc_ros.classifier.journal_protocol import EntryProtocol, JournalProtocol
from proemlc_ros.classifier.records import Annotation
from proemlc_ros.errors import ModelDirectoryError, ModelFileError, ProEMLCError


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


def resume(session: DurableModel) -> Resumed:
    """Load the newest valid snapshot, then replay the journal behind it.

    Raises:
        JournalError: the journal cannot be read.
        ModelDirectoryError: the journal loads a model file that is gone.
    """
    report = Resumed()
    with session.lock:
        _take_snapshot(session, report)
        if session.position > session.journal.last_number:
            report.notes.append(
                f'the snapshot holds {session.position} journal entries, the journal only '
                f'{session.journal.last_number}; nothing learnt is lost')
            session.journal.continue_after(session.position)
        for entry in session.journal.entries(after=session.position):
            try:
                _apply(session, entry)
                report.replayed += 1
            except (ModelDirectoryError, ModelFileError, OSError) as error:
                raise ModelDirectoryError(
                    f'journal entry {entry.number} loads a model file that cannot be used '
                    f'any more: {error}; put it back, or start with resume: false') from error
            except ProEMLCError:
                report.refused += 1  # As it was the first time.
            session.position = entry.number
    return report


def begin(session: DurableModel) -> None:
    """Start with an untaught model, on purpose; what was learnt is kept in a file."""
    with session.lock:
        try:
            resume(session)
        except ProEMLCError:
            # What is not whole cannot be kept.
            session.pupil.adopt(session.new_model(), '')
        if session.journal.last_number:
            session.reset()


def _take_snapshot(session: DurableModel, report: Resumed) -> None:
    found = session.snapshots.read(report.notes)
    if found is None:
        return
    report.snapshot, model = found
    session.position = session.snapshots.position
    session.pupil.adopt(model, extractor_of(model))
    session.pupil.raise_version(int(model.extra.get('label_set_version', 0)))
    session.pupil.lessons.restore(
        model.extra.get('lessons', ()), partial(_annotation_of, session.journal))


def _annotation_of(journal: JournalProtocol, number: int) -> Annotation | None:
    entry = journal.entry(number)
    if entry is None or not isinstance(entry.statement, Annotation):
        return None
    return entry.statement


def _apply(session: DurableModel, entry: EntryProtocol) -> None:
    pupil, statement = session.pupil, entry.statement
    if isinstance(statement, Annotation):
        pupil.learn(entry.number, statement)
    elif not pupil.repeat(statement, session.new_model):
        model = session.read_model(session.directory.existing(statement.file_name))
        pupil.adopt(model, extractor_of(model))
