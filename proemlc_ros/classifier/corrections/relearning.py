# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model that a history gives: learnt again from a snapshot or a file, and from the journal.

Every sample is learnt at its place in the order with the labels that it has now, so that the
result equals that of a model which was never taught otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from proemlc_ros.classifier.corrections.history import LABEL_CHANGES, History
from proemlc_ros.classifier.corrections.rebuild import Base
from proemlc_ros.classifier.undo import UndoEntry
from proemlc_ros.classifier.versioned_model import accepted_labels, extractor_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    LabelExistsError,
    ProEMLCError,
    UndoError,
    UnknownLabelError,
)
from proemlc_ros.journal.entries import numbers_in_words
from proemlc_ros.records import Annotation, Event, EventKind

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel

_BLOCK = 1024


def relearn(durable: DurableModel, history: History) -> ProEMLC:
    """Return a learner that has learnt the samples in force.

    Args:
        durable: whose snapshots and journal are used; locked by the caller.
        history: of the journal, maybe with one more event.

    Raises:
        UndoError: what would be needed for it is not there any more.
        ModelDirectoryError: a file that the model began with is gone.
    """
    problem = 'no snapshot or file from before it is left'
    for base in _bases(durable, history):
        if base.position != history.origin and history.reach(base.position) <= base.position:
            continue  # It holds what was changed since.
        if missing := _missing(durable, base.position):
            problem = f'journal entries {missing} are missing, which are needed for that'
            continue
        try:
            return _learnt_from(durable, history, base)
        except UndoError as error:  # It knows labels apart that were merged since.
            problem = str(error)
    raise UndoError(f'the change cannot be made accurately: {problem}')


def _bases(durable: DurableModel, history: History) -> Iterator[Base]:
    """Yield what the model may be learnt from, the shortest way first."""
    origin, layer = history.origin, history.layer_origin()
    for position, model in durable.snapshots.stored():
        if position >= layer:
            yield Base(position, model.copy)
    if layer:
        entry = durable.journal.entry(layer)
        kind = None if entry is None or not isinstance(entry.record, Event) else entry.record.kind
        if entry is not None and kind in (EventKind.LOAD, EventKind.RENEW):
            read: Callable[[], ProEMLC] = partial(
                durable.directory.read_again, entry, durable.journal.attachments)
            yield Base(layer, read)
            if kind is EventKind.LOAD:
                return
            start = history.steps.get(origin)
            if start is None or start.kind is EventKind.RESET:
                # The renewed layer stays, and learns all samples again.
                yield Base(origin, lambda: read().empty_copy())
            return
    yield Base(origin, durable.new_learner)


def _missing(durable: DurableModel, after: int) -> str:
    return numbers_in_words(durable.journal.missing(after))


def _learnt_from(durable: DurableModel, history: History, base: Base) -> ProEMLC:
    learner = base.load()
    for step in history.in_force(base.position):
        if step.kind in LABEL_CHANGES and isinstance(step.record, Event):
            with suppress(UnknownLabelError):
                _change_label(learner, step.record)
    samples = stored_samples(durable, history, base.position)
    while block := list(islice(samples, _BLOCK)):
        learner = durable.model.fitted(learner, block[0][1].extractor)
        try:
            learner.learn(np.array([sample.matched_features for _, sample in block]),
                          [accepted_labels(sample) for _, sample in block])
        except (ProEMLCError, ValueError):
            # One of them is rejected, as it was the first time, and with it the block.
            for _, sample in block:
                with suppress(ProEMLCError, ValueError):
                    learner.learn(sample.matched_features, accepted_labels(sample))
    return learner


def stored_samples(durable: DurableModel, history: History,
                   after: int = 0) -> Iterator[tuple[int, Annotation]]:
    """Yield the samples in force above a number with their features, oldest first."""
    in_force, rejected = history.samples, {*durable.not_learnt}
    for entry in durable.journal.entries(after):
        sample = in_force.get(entry.number)
        if sample is None or entry.number in rejected:
            continue
        if not isinstance(entry.record, Annotation):
            raise JournalError(f'journal entry {entry.number} is needed for that; {entry.error}')
        yield entry.number, sample._replace(features=entry.record.features)


def _change_label(learner: ProEMLC, event: Event) -> None:
    if event.kind is EventKind.REMOVE:
        learner.remove_label(event.label)
    elif event.kind is EventKind.MERGE_LABELS:
        merge_labels(learner, event.label, event.new_label)
    else:
        try:
            learner.rename_label(event.label, event.new_label, accepted=True)
        except LabelExistsError:  # What had removed the other one is undone.
            merge_labels(learner, event.label, event.new_label)


def merge_labels(learner: ProEMLC, label: str, into: str) -> None:
    """Make one label part of another in a learner whose samples are not at hand.

    Raises:
        UndoError: it knows both, and cannot tell in which samples.
        UnknownLabelError: it does not know the label.
    """
    if label in learner.labels and into in learner.labels:
        raise UndoError(f'the model file has learnt both {label!r} and {into!r}, and its samples '
                        'are not in the journal; merge them where it was taught')
    learner.rename_label(label, into, accepted=True)


def extractor_after(learner: ProEMLC, history: History) -> str:
    """Return the extractor of the features that a learner has learnt from; empty: not stated."""
    return extractor_of(learner) or next(
        (sample.extractor for sample in history.samples.values() if sample.extractor), '')


def names_of_base(learner: ProEMLC, samples: dict[int, Annotation]) -> set[str]:
    """Return the labels of a learner that it does not only know from these samples."""
    named = {name for sample in samples.values() for name in sample.named}
    shown = Counter(name for sample in samples.values() for name in sample.labels)
    return {name for name, count in zip(learner.labels, learner.counts, strict=True)
            if name not in named or count > shown[name]}


def undo_entries(durable: DurableModel, history: History, learner: ProEMLC) -> list[UndoEntry]:
    """Return the annotations that can be undone one by one after a change of the history.

    Args:
        durable: whose journal and present entries have the features.
        history: after the change.
        learner: after the change.
    """
    known = names_of_base(learner, history.samples)
    recent = {number: (sample, introduced) for number, sample, introduced in
              _with_introduced(history.samples, known)}
    entries: list[UndoEntry] = []
    present = {entry.number: entry.annotation for entry in durable.model.undo_stack}
    for number in list(recent)[-durable.model.undo_stack.depth:]:
        sample, introduced = recent[number]
        stored = present.get(number) or _stored(durable, number)
        if stored is None:
            entries.clear()  # Nothing below a missing one can be reached.
        elif number not in durable.not_learnt:
            entries.append(UndoEntry(
                number, sample._replace(features=stored.features), introduced))
    return entries


def _with_introduced(samples: dict[int, Annotation],
                     known: set[str]) -> Iterator[tuple[int, Annotation, tuple[str, ...]]]:
    for number, sample in samples.items():
        introduced = tuple(name for name in dict.fromkeys(sample.named) if name not in known)
        known.update(introduced)
        yield number, sample, introduced


def _stored(durable: DurableModel, number: int) -> Annotation | None:
    entry = durable.journal.entry(number)
    return entry.record if entry is not None and isinstance(entry.record, Annotation) else None
