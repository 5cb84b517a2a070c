# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What was taught in a bag: its samples as the sample table reads them, with features.

A journal, a copy of it under any name, and a recording of the classifier's topics read the same:
undone annotations do not count, corrected ones count with their present labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import BagRecord, TopicSelection, find_sources
from proemlc_ros.classifier.profiles import is_automatic
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import BadSensorDataError, BagError, ModelDirectoryError, ModelFileError
from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.journal.journal import OLDER_SNAPSHOT, SNAPSHOT, Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Annotation, Event, StampedVector

if TYPE_CHECKING:
    from proemlc_ros.bags.picture_labels import TaughtPicture
    from proemlc_ros.features.settings import PictureEmbedding


class TaughtSamples:
    """The samples of a bag that tells what was undone and corrected.

    Args:
        name: of the bag.
        finally_only: whether only the samples in force at the end are wanted; else also those
            that were before a reset, with the reset between them.

    Attributes:
        table: the reading of the bag.
        start: of the bag, in nanoseconds.
        notes: what is missing, in words.
        rejects: numbers of what could not be used, by cause.
    """

    def __init__(self, name: str, finally_only: bool) -> None:
        self.name = name
        self.table = SampleTable()
        self.start = 0
        self.notes: list[str] = []
        self.rejects: Counter[str] = Counter()
        self._finally_only = finally_only

    def records(self) -> Iterator[tuple[int, BagRecord]]:
        """Yield time and annotation of the samples; of a recording, also its vectors."""
        raise NotImplementedError

    def _chosen(self, records: Iterable[tuple[int, int, BagRecord]]
                ) -> Iterator[tuple[int, BagRecord]]:
        """Yield what counts, with its labels now; unnumbered records as they are."""
        taught = self.table.samples if self._finally_only else self.table.taught()
        for number, time, record in records:
            if isinstance(record, Annotation) and number:
                sample = taught.get(number)
                if sample is not None:
                    yield time, record._replace(labels=sample.labels, absent=sample.absent,
                                                complete=sample.complete)
            elif isinstance(record, Event):
                if not self._finally_only and self.table.begins(number):
                    yield time, record
            else:
                yield time, record  # A vector, or an annotation that was not learnt.
        if self.table.base is not None:
            self.notes.append(f'{self.name}: the samples of the model that was loaded are not in '
                              'it')


class TaughtInBag(TaughtSamples):
    """Those of a recording of the classifier's topics.

    Args:
        bag: open bag with events.
        topics: of it.
        finally_only: as in TaughtSamples.
    """

    def __init__(self, bag: BagReader, topics: TopicSelection, finally_only: bool) -> None:
        super().__init__(bag.path.name, finally_only)
        self._bag, self._topics, self.start = bag, topics, bag.start

    def records(self) -> Iterator[tuple[int, BagRecord]]:
        """Yield time and record of annotations and vectors."""
        bag, sources = self._bag, find_sources(self._bag, self._topics)
        # An earlier version did not say which entries they are: they are counted.
        counted = not any(record.entry for _, record in sources.taught)
        unknown = 0
        for number, time, record in _with_numbers(sources.taught, counted):
            if counted and isinstance(record, Event) and record.sample:
                self.rejects[f'not_repeated_{record.kind.name.lower()}'] += 1
            elif number and isinstance(record, Annotation | Event):
                unknown += self.table.apply(JournalEntry(number, record, time=time)).unknown > 0
        if unknown:
            self.notes.append(f'{self.name}: {unknown} corrections are about what was taught '
                              'before the recording, and have no effect')
        yield from self._chosen(_with_numbers(sources.stream(bag), counted))
        self.rejects.update(sources.rejects)
        self.notes += [f'{self.name}: {note}' for note in bag.notes]


class _TaughtInJournal(TaughtSamples):
    """Those of a journal.

    Args:
        journal: to be read.
        embedding: makes their features again from the kept pictures; None: they stay.
        finally_only: as in TaughtSamples.
    """

    def __init__(self, journal: Journal, embedding: PictureEmbedding | None,
                 finally_only: bool) -> None:
        super().__init__(journal.folder.name, finally_only)
        self._journal, self._embedding = journal, embedding
        self.start = min((report.first_time for report in journal.reports
                          if report.first_time is not None), default=0)
        self.notes += [f'{self.name}: {repair}' for repair in journal.repairs]

    def records(self) -> Iterator[tuple[int, BagRecord]]:
        """Yield time and annotation of the samples."""
        self.table = table_of(self._journal)
        if self._embedding is None:
            return self._chosen((entry.number, entry.time, entry.record)
                                for entry in self._journal.entries() if entry.record is not None)
        return self._chosen(self._embedded_again(self._embedding))

    def _embedded_again(self, embedding: PictureEmbedding
                        ) -> Iterator[tuple[int, int, Annotation]]:
        journal, pictures = self._journal, self._journal.pictures()
        left_out = broken = 0
        for number, sample in self.table.samples.items():
            picture = journal.picture(pictures[number]) if number in pictures else None
            try:
                if picture is not None:
                    yield number, self.table.steps[number].time, sample._replace(
                        features=embedding.vector(picture.format, picture.data),
                        extractor=embedding.extractor)
            except BadSensorDataError:
                broken, picture = broken + 1, None
            left_out += picture is None
        if left_out:
            self.notes.append(f'{left_out} samples have no usable picture and are left out')
        if broken:
            self.notes.append(f'{broken} pictures are broken')


def taught_in_journal(path: Path, topics: TopicSelection, finally_only: bool,
                      best_effort: bool) -> TaughtSamples | None:
    """Return what was taught in a journal; None where a path names another bag.

    Args:
        path: a folder or file.
        topics: with a pipeline, the features are made again.
        finally_only: as in TaughtSamples.
        best_effort: whether to use what is readable of a damaged one.

    Raises:
        BagError: it is damaged.
    """
    journal = open_journal(path)
    if journal is None:
        return None
    if journal.repairs and not best_effort:
        raise BagError(f'{path}: {journal.repairs[0]}; use --best-effort to read the intact part')
    if topics.sensors is None:
        return _TaughtInJournal(journal, None, finally_only)
    if not journal.pictures():
        return None  # The features are made from other topics of the bag.
    # Imported late: OpenCV takes its time, and most calls make no features.
    from proemlc_ros.features.settings import PictureEmbedding
    with BagReader(path, best_effort=True) as bag:
        return _TaughtInJournal(journal, PictureEmbedding(topics.sensors(bag)), finally_only)


def taught_pictures(path: Path) -> tuple[list[TaughtPicture], int]:
    """Return the kept pictures of the samples in force, and how many samples have none.

    Args:
        path: a journal.

    Raises:
        BagError: it is no journal.
    """
    journal = open_journal(path)
    if journal is None:
        raise BagError(f'{path}: not a journal, which alone keeps pictures')
    from proemlc_ros.bags.picture_labels import TaughtPicture
    table = table_of(journal)
    entries, found = journal.pictures(), []
    for number, sample in table.samples.items():
        picture = journal.picture(entries[number]) if number in entries else None
        if picture is not None:
            found.append(TaughtPicture(number, bytes(picture.data), sample.labels, sample.absent,
                                       sample.complete, sample.region))
    return found, len(table.samples) - len(found)


def pictures_by_time(paths: Iterable[Path], wanted: Collection[int]) -> dict[int, bytes]:
    """Return kept pictures of journals by the times of the annotations' entries.

    Args:
        paths: journals, and other bags, which keep none.
        wanted: times, in nanoseconds.
    """
    found = {}
    for path in paths:
        journal = open_journal(path)
        if journal is not None:
            times = {entry.number: entry.time for entry in journal.entries()
                     if entry.time in wanted}
            for number, place in journal.pictures().items():
                picture = journal.picture(place) if number in times else None
                if picture is not None:
                    found[times[number]] = bytes(picture.data)
    return found


def open_journal(path: Path) -> Journal | None:
    """Return the journal that a path names, to be read; None where it is another bag."""
    folder = Journal.find(path)
    return None if folder is None else Journal(folder, read_only=True)


def table_of(journal: Journal) -> SampleTable:
    """Return the reading of a whole journal."""
    return SampleTable(journal.dropped()).follow(journal.entries())


def journal_model(path: Path) -> ProEMLC | None:
    """Return an untaught model with the hidden layer that a journal's model was renewed with.

    None where it is another bag, was not renewed, or the file is gone.
    """
    journal = open_journal(path)
    return None if journal is None else _renewed_model(journal)


def _renewed_model(journal: Journal) -> ProEMLC | None:
    layer = table_of(journal).state.layer
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
    renewed = _renewed_model(journal)
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
