# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Learning from the journal as a whole: resuming, beginning again, and re-embedding.

A re-embedded model has learnt the same samples with the features of another extractor, made from
the kept pictures. In the journal that is a reset, followed by the same annotations with their
pictures and the new features, in one transaction: a crash leaves the one model or the other. Two
undos take it back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.versioned_model import Base, Follower, accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    JournalError,
    ModelDirectoryError,
    ProEMLCError,
    SampleError,
    UndoError,
    UnlearnError,
)
from proemlc_ros.journal.entries import JournalEntry, numbers_in_words
from proemlc_ros.journal.table import Change, SampleTable, TableState
from proemlc_ros.records import Annotation, ClientRequest, Event, EventKind, Picture, Vector

_MOST_NOTES = 10
# Of features that the table's reading has seen, so many bytes are kept for the learner's.
_KEPT_BYTES = 2**26


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
        began_with: the model file that a new model began with; empty: none.
    """

    replayed: int = 0
    rejections: list[tuple[int, str]] = field(default_factory=list)
    snapshot: Path | None = None
    missing: list[range] = field(default_factory=list)
    unprovable: int = 0
    notes: list[str] = field(default_factory=list)
    began_with: str = ''

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
        self._table = SampleTable(durable.journal.dropped())
        self._seen: dict[int, Vector] = {}

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
        # What an earlier version has written is compared with the journal.
        if (found is None or position < durable.journal.last_number
                or 'chain' not in found[1].extra):
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
        for entry, change in self._table.changes(journal.entries()):
            values = entry.record.features if isinstance(entry.record, Annotation) else None
            if values is not None and len(self._seen) * values.nbytes < _KEPT_BYTES:
                self._seen[entry.number] = values
            if entry.number > position:
                report.replayed += entry.record is not None
                versions += change.renamed
                if entry.record is None:
                    report.rejections.append((entry.number, entry.error))
                elif change.unknown > self._table.forgotten:
                    report.rejections.append((
                        entry.number, f'it refers to entry {change.unknown}, which is lost'))
        self._table.last = max(self._table.last, journal.last_number)
        return versions

    def _features(self, numbers: Iterable[int]) -> Iterator[tuple[int, Vector]]:
        """Yield the features of samples by rising number; most of them need no second reading."""
        seen, wanted = self._seen, sorted({*numbers})
        return merge(self._durable.features(number for number in wanted if number not in seen),
                     ((number, seen[number]) for number in wanted if number in seen),
                     key=itemgetter(0))

    def _learnt(self, snapshot: ProEMLC | None, position: int) -> ProEMLC:
        """Return the learner that the journal gives."""
        durable, table, model = self._durable, self._table, self._durable.model
        follower = durable.follower(
            table, features=self._features, on_rejection=self._reject, recent=model.window,
            learn_one=model.learn)
        due = None
        if snapshot is not None:
            before = table.at(position)
            change = table.since(position, before)
            if not durable.snapshots.agrees(snapshot, table, before):
                snapshot = None
        if snapshot is not None:
            try:
                return follower.followed(snapshot, before, change)
            except (UnlearnError, UndoError):
                due = None if change.rebased else (
                    snapshot.samples + len(change.added) - len(change.removed))
        try:
            return follower.relearnt(durable.snapshots.bases(table, durable.new_learner), due)
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


# ----- reembedding -----


class Embedding(NamedTuple):
    """Another extractor: its name, and what makes features of a compressed picture."""

    extractor: str
    vector: Callable[[str, bytes], Vector]


class _ReembeddedModel(NamedTuple):
    """How many samples were learnt again, and how many were left out."""

    samples: int
    left_out: int


class Reembedding:
    """Makes the features of a model's samples again, first without holding it up.

    Args:
        durable: the model.
        embedding: the new extractor.
        leave_out: whether samples without a usable picture may be left out.
    """

    def __init__(self, durable: DurableModel, embedding: Embedding,
                 leave_out: bool = True) -> None:
        self._durable = durable
        self._leave_out = leave_out
        self._embedding = embedding
        self._vectors: dict[int, Vector] = {}

    def prepare(self, report: Callable[[str], None] = lambda text: None) -> None:
        """Make the features of all samples that there are; the model may learn meanwhile.

        Args:
            report: called now and then with how far it is, in words; may raise to give up.

        Raises:
            SampleError: samples have no picture, and may not be left out.
            JournalError: the journal cannot be read.
        """
        durable = self._durable
        entries, samples = durable.journal.pictures(), durable.reading().samples
        self._require(samples, entries)
        for place, number in enumerate(samples):
            report(f'making features of {len(samples)} samples again, {place} done')
            durable.check()
            if number in entries and number not in self._vectors:
                picture = durable.journal.picture(entries[number])
                if picture is not None:
                    self._embed(number, picture)

    def apply(self, annotator: str) -> _ReembeddedModel:
        """Replace the model by one that has learnt the same samples with the new features.

        Raises:
            SampleError: no sample has a usable picture; nothing changed.
            JournalError, OSError: nothing changed.
        """
        durable = self._durable
        with durable.lock:
            durable.catch_up()
            self.prepare()  # Of those that came meanwhile.
            samples = durable.reading().samples
            chosen = [number for number in samples if number in self._vectors]
            self._require(samples, self._vectors)
            if not chosen:
                raise SampleError(f'none of {len(samples)} samples has a picture that features '
                                  'could be made from; pictures are kept with keep_pictures')
            annotations = self._annotations(samples, chosen)
            learner = durable.model.fitted(durable.new_learner(), self._embedding.extractor)
            learner.learn(np.array([one.matched_features for one in annotations]),
                          [accepted_labels(one) for one in annotations])
            durable.keep_before_reset()
            table = durable.table.copy().follow(self._written(annotations, chosen, annotator))
            durable.model.replace(learner)
            durable.go_on_with(table, learner, rebased=True)
            return _ReembeddedModel(len(chosen), len(samples) - len(chosen))

    def _require(self, samples: Collection[int], usable: Collection[int]) -> None:
        lacking = sum(number not in usable for number in samples)
        if lacking and not self._leave_out:
            raise SampleError(
                f'{lacking} of {len(samples)} samples have no picture that features could be made '
                'from, and would be left out; nothing changed; ask again with leave_out: true to '
                'go on without them (the model before is kept, and can be brought back by undo)')

    def _embed(self, number: int, picture: Picture) -> None:
        try:
            self._vectors[number] = self._embedding.vector(picture.format, picture.data)
        except ProEMLCError:
            return  # A broken picture; the sample is left out.

    def _annotations(self, samples: dict[int, Annotation], chosen: list[int]) -> list[Annotation]:
        group = f'burst:{os.urandom(6).hex()}'
        return [samples[number]._replace(
            features=self._vectors[number], extractor=self._embedding.extractor,
            request=ClientRequest(f'{group}:{place}', ''))
            for place, number in enumerate(chosen)]

    def _written(self, annotations: list[Annotation], chosen: list[int],
                 annotator: str) -> list[JournalEntry]:
        journal, entries = self._durable.journal, self._durable.journal.pictures()
        records: list[Annotation | Event] = [
            Event(EventKind.RESET, self._durable.clock(), annotator=annotator), *annotations]
        references = ['', *(one.request.reference for one in annotations if one.request)]
        pictures = [None, *(journal.picture(entries[number]) for number in chosen)]
        return journal.write(records, references, pictures)
