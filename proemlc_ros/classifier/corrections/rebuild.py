# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Building a model again from the journal, without annotations that were undone.

Where an annotation cannot be unlearnt accurately, the model is built again from a snapshot that
does not hold it. One entry after the other is learnt, as the first time, so that the result equals
that of a model which never learnt it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from proemlc_ros.classifier.durability.journal_protocol import EntryProtocol
from proemlc_ros.classifier.versioned_model import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    ModelDirectoryError,
    ProEMLCError,
    UndoError,
    UnknownLabelError,
    UnlearnError,
)
from proemlc_ros.journal.entries import numbers_in_words
from proemlc_ros.records import Annotation, Event, EventKind

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel

_UNDONE = 'entry:'
_STEP = 'step:'


class Base(NamedTuple):
    """A model to begin from.

    Args:
        position: number of the last journal entry that it holds.
        load: returns the model.
    """

    position: int
    load: Callable[[], ProEMLC]


def undo_reference(number: int) -> str:
    """Return how the entry of an undo refers to the annotation that it takes back."""
    return f'{_UNDONE}{number}'


def step_reference(number: int) -> str:
    """Return how the entry of a correction refers to the entry that it changes."""
    return f'{_STEP}{number}' if number else ''


def undone_number(entry: EntryProtocol) -> int | None:
    """Return the number of the annotation that an undo takes back; None where not recorded."""
    number = entry.reference.removeprefix(_UNDONE)
    stated = entry.reference.startswith(_UNDONE) and number.isdecimal() and len(number) < 20
    return int(number) if stated else None


def rebuild(durable: DurableModel, number: int, up_to: int,
            bases: Iterable[Base] = ()) -> ProEMLC:
    """Return a learner that has learnt the journal without one annotation.

    Args:
        durable: the model, its journal and its snapshots.
        number: of the annotation's entry; all annotations behind it are undone already.
        up_to: number of the last entry to be learnt.
        bases: models to begin from, tried before the snapshots.

    Raises:
        UndoError: no snapshot without the annotation is left, or entries behind it are missing.
    """
    for base in (*bases, *_stored_bases(durable)):
        if base.position >= number:
            continue
        entries = [entry for entry in durable.journal.entries(after=base.position)
                   if entry.number <= up_to]
        undone = _undone_among(entries, base.position)
        if undone is not None:
            _require_all(durable, base.position, up_to)
            return _replay(durable, base.load(), entries, undone | {number})
    raise UndoError(f'annotation {number} cannot be undone accurately, and no snapshot from '
                    'before it is left to build the model again')


def rebuild_for_undo(durable: DurableModel, reason: UnlearnError) -> ProEMLC:
    """Return a learner that has not learnt the last annotation, from snapshot and journal.

    Args:
        durable: the model, its journal and its snapshots.
        reason: why the annotation cannot be unlearnt.

    Raises:
        UndoError: there is no such learner.
    """
    number, began = durable.model.undo_stack.last.number, time.monotonic()
    history = durable.corrections.history()
    learner = (durable.corrections.without(number) if history.corrected or history.renewed
               else rebuild(durable, number, durable.position))
    due = durable.model.learner.samples - 1
    if learner.samples != due:
        raise UndoError(f'annotation {number} cannot be undone: {reason}; and the journal gives a '
                        f'model of {learner.samples} samples where {due} are due')
    durable.on_warning(f'annotation {number} was undone by building the model again, in '
                       f'{time.monotonic() - began:.2f} s: {reason}')
    return learner


def _stored_bases(durable: DurableModel) -> Iterable[Base]:
    for position, model in durable.snapshots.stored():
        yield Base(position, model.copy)
    yield Base(0, durable.new_learner)


def _require_all(durable: DurableModel, after: int, up_to: int) -> None:
    missing = [range(gap.start, min(gap.stop, up_to + 1))
               for gap in durable.journal.missing(after) if gap.start <= up_to]
    if missing:
        raise UndoError('the annotation cannot be undone accurately: journal entries '
                        f'{numbers_in_words(missing)} are missing, which are needed for that')


def _undone_among(entries: Iterable[EntryProtocol], after: int) -> set[int] | None:
    """Return the numbers of the annotations taken back; None: one of them is not among these."""
    stack: list[int] = []
    undone: set[int] = set()
    for entry in entries:
        record = entry.record
        if isinstance(record, Annotation):
            stack.append(entry.number)
        elif isinstance(record, Event) and record.kind in (EventKind.RESET, EventKind.LOAD):
            stack.clear()
        elif isinstance(record, Event) and record.kind is EventKind.UNDO:
            number = undone_number(entry)
            if number is None:
                number = stack[-1] if stack else after
            if number <= after:
                return None
            undone.add(number)
            if number in stack:
                stack.remove(number)
    return undone


def _replay(durable: DurableModel, learner: ProEMLC, entries: Iterable[EntryProtocol],
            left_out: set[int]) -> ProEMLC:
    for entry in entries:
        record = entry.record
        if isinstance(record, Annotation):
            if entry.number not in left_out:
                learner = durable.model.fitted(learner, record.extractor)
                with suppress(ProEMLCError):  # Rejected as it was the first time.
                    learner.learn(record.matched_features, accepted_labels(record))
        elif record is None:
            raise JournalError(f'journal entry {entry.number} is needed for that; {entry.error}')
        elif record.kind is EventKind.RESET:
            learner = durable.new_learner()
        elif record.kind is EventKind.RENEW:
            learner = _renewed_without(durable, entry, left_out)
        elif record.kind is EventKind.LOAD:
            learner = loaded_again(durable, entry)
        else:
            # The label may have come with an annotation that is left out.
            with suppress(UnknownLabelError):
                _change_label(learner, record)
    return learner


def loaded_again(durable: DurableModel, entry: EntryProtocol) -> ProEMLC:
    """Return the model that an entry loaded; a lost snapshot is built again from the journal.

    Raises:
        ModelDirectoryError: its content is gone, and the journal alone does not have it.
        UndoError, JournalError: entries that it needs are missing.
    """
    record = entry.record
    try:
        return durable.directory.read_again(entry, durable.journal.attachments)
    except ModelDirectoryError:
        if not isinstance(record, Event) or not record.sample:
            raise
        position = record.sample
    _require_all(durable, 0, position)
    entries = list(takewhile(lambda other: other.number <= position, durable.journal.entries()))
    return _replay(durable, durable.new_learner(), entries, _undone_among(entries, 0) or set())


def _renewed_without(durable: DurableModel, entry: EntryProtocol, left_out: set[int]) -> ProEMLC:
    """Return the renewed model of an entry without annotations that it has learnt."""
    from proemlc_ros.classifier.corrections.history import History
    learner = durable.directory.read_again(entry, durable.journal.attachments)
    history = History()
    history.follow(takewhile(lambda other: other.number < entry.number,
                             durable.journal.entries()))
    for number in sorted(left_out & history.samples.keys(), reverse=True):
        stored = durable.journal.entry(number)
        if stored is not None and isinstance(stored.record, Annotation):
            learner.unlearn(stored.record.matched_features,
                            accepted_labels(history.samples[number]))
    return learner


def _change_label(learner: ProEMLC, event: Event) -> None:
    if event.kind is EventKind.RENAME:
        learner.rename_label(event.label, event.new_label, accepted=True)
    elif event.kind is EventKind.REMOVE:
        learner.remove_label(event.label)
