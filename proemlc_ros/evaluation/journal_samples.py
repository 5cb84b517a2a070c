# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The samples in force of a journal or a recording, with features of now or made again.

Where samples were corrected later, a bag is not played as it happened: what counts is what the
corrections have made of it. The same with other features, made from the kept pictures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import BagRecord, Sources, TopicSelection, find_sources
from proemlc_ros.classifier.corrections.history import History, is_correction
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE
from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Event, EventKind


def counts_as_it_stands(bag: BagReader, topics: TopicSelection, wanted: bool = False) -> bool:
    """Tell whether the samples in force of a bag count, not how they came to be.

    Args:
        bag: open bag.
        topics: of it.
        wanted: whether they do even where nothing was corrected.
    """
    if not bag.of_type(EVENT_TYPE):
        return False
    journal = _journal_of(bag)
    if journal is not None:
        return (bool(journal.pictures()) if topics.sensors is not None
                else wanted or _is_corrected(journal))
    with bag.again() as ahead:  # What is unreadable is noted when it is read for good.
        sources = find_sources(ahead, topics)
        corrected = wanted or any(isinstance(event, Event) and is_correction(event)
                                  for _, event in sources.only(EVENT_TYPE).stream(ahead))
        return corrected and _tells_its_history(ahead, sources)


def samples_in_force(bag: BagReader, topics: TopicSelection, notes: list[str],
                     rejects: Counter[str]) -> Iterator[tuple[int, BagRecord]]:
    """Yield time and annotation of the samples in force; of a recording, also its vectors.

    Args:
        bag: a journal, or a recording that tells its history.
        topics: with a pipeline, the features are made again, of a journal from the pictures.
        notes: gets a line about what is missing.
        rejects: gets the numbers of sensor messages that could not be used, by cause.
    """
    journal = _journal_of(bag)
    if journal is None:
        sources = find_sources(bag, topics)
        yield from _recorded(bag, sources, notes)
        rejects.update(sources.rejects)
    elif topics.sensors is None:
        yield from ((time, sample) for _, time, sample in stored_samples(journal))
    else:
        yield from _embedded_again(bag, topics, journal, notes)


def stored_samples(journal: Journal) -> Iterator[tuple[int, int, Annotation]]:
    """Yield number, time and annotation of the samples in force, with their labels now."""
    history = History()
    history.follow(journal.entries())
    for entry in journal.entries():
        sample = history.samples.get(entry.number)
        if sample is not None and isinstance(entry.record, Annotation):
            yield entry.number, entry.time, sample._replace(features=entry.record.features)


def _journal_of(bag: BagReader) -> Journal | None:
    folder = Journal.find(bag.path) if bag.path.is_dir() else None
    return None if folder is None else Journal(folder, read_only=True)


def _is_corrected(journal: Journal) -> bool:
    """Tell whether an entry changes what an earlier one did, beside undoing the last one."""
    return any(isinstance(entry.record, Event) and is_correction(entry.record)
               for entry in journal.events())


def _tells_its_history(bag: BagReader, sources: Sources) -> bool:
    """Tell whether the annotations of a recording say which entries they are.

    Those of `~/learnt` do, unless an earlier version published them.
    """
    return any(isinstance(said, Annotation) and said.entry
               for _, said in sources.only(ANNOTATION_TYPE).stream(bag))


def _recorded(bag: BagReader, sources: Sources,
              notes: list[str]) -> Iterator[tuple[int, BagRecord]]:
    with bag.again() as ahead:
        history = _recorded_history(ahead, sources, notes)
    for time, record in sources.stream(bag):
        if isinstance(record, Annotation) and record.entry:
            sample = history.samples.get(record.entry)
            if sample is not None:
                yield time, record._replace(labels=sample.labels, absent=sample.absent,
                                            complete=sample.complete)
        elif not isinstance(record, Event):
            yield time, record  # A vector, or an annotation that the classifier did not learn.
    notes += [f'{bag.path.name}: {note}' for note in bag.notes]


def _recorded_history(bag: BagReader, sources: Sources, notes: list[str]) -> History:
    history, unknown = History(), 0
    for time, record in sources.only(ANNOTATION_TYPE, EVENT_TYPE).stream(bag):
        if isinstance(record, Event) or isinstance(record, Annotation) and record.entry:
            unknown += (isinstance(record, Event) and record.sample > 0
                        and record.kind is not EventKind.LOAD
                        and record.sample not in history.steps)
            history.add(record.entry or history.last, time, record)
    if unknown:
        notes.append(f'{bag.path.name}: {unknown} corrections are about what was taught before '
                     'the recording, and have no effect')
    start = history.steps.get(history.origin)
    if start is not None and start.kind is EventKind.LOAD:
        notes.append(f'{bag.path.name}: the samples of the model that was loaded are not in it')
    return history


def _embedded_again(bag: BagReader, topics: TopicSelection, journal: Journal,
                    notes: list[str]) -> Iterator[tuple[int, BagRecord]]:
    # Imported late: OpenCV takes its time, and most calls make no features.
    from proemlc_ros.features.reembedding import PictureEmbedding
    assert topics.sensors is not None
    embedding = PictureEmbedding(topics.sensors(bag))
    vectors = {}
    broken = 0
    for number, entry in journal.pictures().items():
        picture = journal.picture(entry)
        if picture is None:
            continue
        try:
            vectors[number] = embedding.vector(picture.format, picture.data)
        except BadSensorDataError:
            broken += 1
    left_out = 0
    for number, time, sample in stored_samples(journal):
        if number in vectors:
            yield time, sample._replace(features=vectors[number], extractor=embedding.extractor)
        else:
            left_out += 1
    if left_out:
        notes.append(f'{left_out} samples have no usable picture and are left out')
    if broken:
        notes.append(f'{broken} pictures are broken')
