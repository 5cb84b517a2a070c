# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The samples of a journal as they are in force, with features of now or made again.

A journal whose samples were corrected later is not played as it happened: what counts is what the
corrections have made of it. The same with other features, made from the kept pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import BagRecord, TopicSelection
from proemlc_ros.bags.stored_journal import StoredJournal
from proemlc_ros.conversions import EVENT_TYPE
from proemlc_ros.errors import BadSensorDataError


def counts_as_it_stands(bag: BagReader, topics: TopicSelection) -> bool:
    """Tell whether the samples in force of a journal count, not how they came to be."""
    if not bag.of_type(EVENT_TYPE) or not bag.path.is_dir():
        return False
    journal = StoredJournal(bag.path)
    return journal.has_pictures() if topics.sensors is not None else journal.is_corrected()


def samples_in_force(bag: BagReader, topics: TopicSelection,
                     notes: list[str]) -> Iterator[tuple[int, BagRecord]]:
    """Yield time and annotation of the samples in force.

    Args:
        bag: the journal.
        topics: with a pipeline, the features are made again from the pictures.
        notes: gets a line about samples that have none.
    """
    journal = StoredJournal(bag.path)
    if topics.sensors is None:
        yield from ((time, sample) for _, time, sample in journal.samples())
    else:
        yield from _embedded_again(bag, topics, journal, notes)


def _embedded_again(bag: BagReader, topics: TopicSelection, journal: StoredJournal,
                    notes: list[str]) -> Iterator[tuple[int, BagRecord]]:
    # Imported late: OpenCV takes its time, and most calls make no features.
    from proemlc_ros.features.reembedding import PictureEmbedding
    assert topics.sensors is not None
    embedding = PictureEmbedding(topics.sensors(bag))
    vectors = {}
    broken = 0
    for number, picture in journal.pictures():
        try:
            vectors[number] = embedding.vector(picture.format, picture.data)
        except BadSensorDataError:
            broken += 1
    left_out = 0
    for number, time, sample in journal.samples():
        if number in vectors:
            yield time, sample._replace(features=vectors[number], extractor=embedding.extractor)
        else:
            left_out += 1
    if left_out:
        notes.append(f'{left_out} samples have no usable picture and are left out')
    if broken:
        notes.append(f'{broken} pictures are broken')
