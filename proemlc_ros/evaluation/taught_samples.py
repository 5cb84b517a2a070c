# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What was taught in a bag: its samples as the sample table reads them, with features.

A journal, a copy of it under any name, and a recording of the classifier's topics read the same:
undone annotations do not count, corrected ones count with their present labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import BagRecord, Sources, TopicSelection, find_sources
from proemlc_ros.classifier.profiles import is_automatic
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import BadSensorDataError, ModelDirectoryError, ModelFileError
from proemlc_ros.journal.attachments import OLDER_SNAPSHOT, SNAPSHOT
from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector


@dataclass
class TaughtSamples:
    """The samples of a bag that tells what was undone and corrected.

    Args:
        bag: open bag with events, or a journal.
        topics: of it; with a pipeline, the features are made again, of a journal from the
            pictures.
        finally_only: whether only the samples in force at the end are wanted; else also those
            that were before a reset, with the reset between them.

    Attributes:
        table: the reading of the bag.
        notes: what is missing, in words.
        rejects: numbers of sensor messages that could not be used, by cause.
    """

    bag: BagReader
    topics: TopicSelection
    finally_only: bool
    table: SampleTable = field(default_factory=SampleTable)
    notes: list[str] = field(default_factory=list)
    rejects: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, bag: BagReader, topics: TopicSelection,
           finally_only: bool = False) -> TaughtSamples | None:
        """Return what was taught in a bag; None where it has nothing but annotations."""
        journal = open_journal(bag.path)
        if journal is None and not bag.of_type(EVENT_TYPE):
            return None
        if journal is not None and topics.sensors is not None and not journal.pictures():
            return None  # The features are made from other topics of the bag.
        return cls(bag, topics, finally_only)

    def records(self) -> Iterator[tuple[int, BagRecord]]:
        """Yield time and annotation of the samples; of a recording, also its vectors."""
        journal = open_journal(self.bag.path)
        if journal is None:
            yield from self._recorded(find_sources(self.bag, self.topics))
            return
        self.table.follow(journal.entries())
        self.notes += journal.repairs
        if self.topics.sensors is None:
            yield from self._chosen(_numbered(journal.entries()))
        else:
            yield from self._embedded_again(journal)
        self._note_load()

    def _recorded(self, sources: Sources) -> Iterator[tuple[int, BagRecord]]:
        with self.bag.again() as ahead:  # What is unreadable is noted when it is read for good.
            teaching = [(time, record.bare() if isinstance(record, Annotation) else record)
                        for time, record in sources.only(ANNOTATION_TYPE, EVENT_TYPE).stream(ahead)
                        if isinstance(record, Annotation | Event)]
        # An earlier version did not say which entries they are: they are counted.
        counted = not any(record.entry for _, record in teaching)
        unknown = 0
        for number, time, record in _with_numbers(teaching, counted):
            if number and isinstance(record, Annotation | Event):
                unknown += (isinstance(record, Event) and record.sample > 0
                            and record.kind is not EventKind.LOAD
                            and record.sample not in self.table.steps)
                self.table.apply(JournalEntry(number, record, time=time))
        if unknown:
            self.notes.append(f'{self.bag.path.name}: {unknown} corrections are about what was '
                              'taught before the recording, and have no effect')
        yield from self._chosen(_with_numbers(sources.stream(self.bag), counted))
        self._note_load()
        self.rejects.update(sources.rejects)
        self.notes += [f'{self.bag.path.name}: {note}' for note in self.bag.notes]

    def _chosen(self, records: Iterable[tuple[int, int, BagRecord]]
                ) -> Iterator[tuple[int, BagRecord]]:
        """Yield what counts, with its labels now; unnumbered records as they are."""
        taught = self.table.samples if self.finally_only else self.table.taught()
        for number, time, record in records:
            if isinstance(record, Annotation) and number:
                sample = taught.get(number)
                if sample is not None:
                    yield time, record._replace(labels=sample.labels, absent=sample.absent,
                                                complete=sample.complete)
            elif isinstance(record, Event):
                if not self.finally_only and self.table.begins(number):
                    yield time, record
            else:
                yield time, record  # A vector, or an annotation that was not learnt.

    def _embedded_again(self, journal: Journal) -> Iterator[tuple[int, BagRecord]]:
        # Imported late: OpenCV takes its time, and most calls make no features.
        from proemlc_ros.features.reembedding import PictureEmbedding
        assert self.topics.sensors is not None
        embedding, pictures = PictureEmbedding(self.topics.sensors(self.bag)), journal.pictures()
        left_out = broken = 0
        for number, sample in self.table.samples.items():
            picture = journal.picture(pictures[number]) if number in pictures else None
            try:
                if picture is not None:
                    yield self.table.steps[number].time, sample._replace(
                        features=embedding.vector(picture.format, picture.data),
                        extractor=embedding.extractor)
            except BadSensorDataError:
                broken, picture = broken + 1, None
            left_out += picture is None
        if left_out:
            self.notes.append(f'{left_out} samples have no usable picture and are left out')
        if broken:
            self.notes.append(f'{broken} pictures are broken')

    def _note_load(self) -> None:
        if self.table.base is not None:
            self.notes.append(f'{self.bag.path.name}: the samples of the model that was loaded '
                              'are not in it')


def open_journal(path: Path) -> Journal | None:
    """Return the journal that a path names, to be read; None where it is another bag."""
    folder = Journal.find(path)
    return None if folder is None else Journal(folder, read_only=True)


def journal_model(path: Path) -> ProEMLC | None:
    """Return an untaught model with the hidden layer that a journal's model was renewed with.

    None where it is another bag, was not renewed, or the file is gone.
    """
    journal = open_journal(path)
    if journal is None:
        return None
    layer = SampleTable().follow(journal.entries()).state.layer
    entry = journal.entry(layer) if layer else None
    if entry is None:
        return None
    try:
        return ProEMLC.load(journal.attachments.find(entry.reference)).empty_copy()
    except (ModelDirectoryError, ModelFileError, OSError):
        return None


def journal_settings(path: Path) -> dict[str, Any]:
    """Return the settings of the model that a journal belongs to.

    Returns:
        The settings; empty where it is another bag, or the journal does not tell.
    """
    journal = open_journal(path)
    if journal is None:
        return {}
    renewed = journal_model(path)
    if renewed is not None:
        return renewed.options.as_dict()
    if not journal.settings:
        for name in (SNAPSHOT, OLDER_SNAPSHOT):
            try:
                model = ProEMLC.load(journal.folder.parent / name)
            except (OSError, ModelFileError):
                continue
            if model.samples or not is_automatic(model):
                return model.options.as_dict()
    return journal.settings


def common_settings(paths: Iterable[Path]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of the first journal among some bags, and where others differ.

    Args:
        paths: Bags.

    Returns:
        The settings, empty without a journal; and a note for each journal that had others.
    """
    found: dict[str, Any] = {}
    first: Path | None = None
    notes = []
    for path in paths:
        settings = journal_settings(path)
        if settings and first is None:
            found, first = settings, path
        elif settings and settings != found:
            names = ', '.join(f'{name} = {value!r}' for name, value in settings.items()
                              if found.get(name) != value)
            notes.append(f'the node of {path} had {names}; those of {first} are used')
    return found, notes


def _numbered(entries: Iterable[JournalEntry]) -> Iterator[tuple[int, int, BagRecord]]:
    return ((entry.number, entry.time, entry.record) for entry in entries
            if entry.record is not None)


def _with_numbers(records: Iterable[tuple[int, BagRecord]],
                  counted: bool) -> Iterator[tuple[int, int, BagRecord]]:
    """Yield records with their times behind the numbers of their entries; 0: none."""
    count = 0
    for time, record in records:
        if isinstance(record, StampedVector):
            yield 0, time, record
            continue
        count += 1
        yield count if counted else record.entry, time, record
