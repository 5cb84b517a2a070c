# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of the journal: annotations, events and pictures, as messages of the bag and back.

A picture that is there in time is the entry just before its annotation, in the same transaction:
so the last entry of a journal is never one that a snapshot does not know. One that comes late is
written when it comes, and names its annotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from proemlc_ros.cdr import (
    ANNOTATION_TYPE,
    EVENT_TYPE,
    PICTURE_TYPE,
    annotation_bytes,
    event_bytes,
    is_whole,
    picture_bytes,
    read_annotation,
    read_event,
)
from proemlc_ros.journal.definitions import entry_definition, is_version_of
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.journal.proof import Pair, Row
from proemlc_ros.records import Annotation, Event, Picture

JournalRecord = Annotation | Event
ENTRY_TYPES = (ANNOTATION_TYPE, EVENT_TYPE, PICTURE_TYPE)
"""Message types of the entries, in the order of their topics."""

# Numbers of the topics.
ANNOTATION_TOPIC, EVENT_TOPIC, PICTURE_TOPIC = 1, 2, 3
RECORD_TOPICS = (ANNOTATION_TOPIC, EVENT_TOPIC)

PICTURE_PREFIX = 'picture'
"""How the references of pictures begin; what follows is the number of the annotation."""

_TOPIC_ENDINGS = ('annotations', 'events', 'pictures')
# The fields that the newest version of each type has last; a definition without it is older.
_NEWEST_FIELDS = ('entry', 'entry', 'data')


class JournalEntry(NamedTuple):
    """One entry of the journal.

    Args:
        number: position, from 1 on.
        record: the annotation or event; None where it cannot be read.
        reference: what an event refers to outside the journal; empty for most entries.
        error: why it cannot be read, in words.
        time: nanoseconds since the epoch, when it was written.
    """

    number: int
    record: JournalRecord | None
    reference: str = ''
    error: str = ''
    time: int = 0


def new_topics(node_name: str) -> list[BagTopic]:
    """Return the topics of a new journal; node_name: fully qualified, begins their names."""
    topics = []
    for ending, type_name in zip(_TOPIC_ENDINGS, ENTRY_TYPES, strict=True):
        definition, type_hash = entry_definition(type_name)
        topics.append(BagTopic(f'{node_name.rstrip("/")}/{ending}', type_name,
                               definition=definition, type_hash=type_hash))
    return topics


def are_whole(topics: Sequence[BagTopic]) -> bool:
    """Tell whether topics, which may be damaged, are those of a journal of any version."""
    if [topic.type for topic in topics] != list(ENTRY_TYPES[:len(topics)]) or not topics:
        return False
    if not all(isinstance(text, str) for topic in topics
               for text in (topic.name, topic.definition, topic.type_hash)):
        return False
    if len(topics) < len(ENTRY_TYPES) and _has_last(topics[0], _NEWEST_FIELDS[0]):
        return False  # Only earlier versions had fewer topics.
    nodes = {topic.name.removesuffix(f'/{ending}')
             for topic, ending in zip(topics, _TOPIC_ENDINGS, strict=False)}
    return len(nodes) == 1 and topics[0].name not in nodes and all(
        is_version_of(topic.definition, topic.type_hash, topic.type) for topic in topics)


def are_current(topics: Sequence[BagTopic]) -> bool:
    """Tell whether a file with these topics takes the messages of this version."""
    return ([topic.type for topic in topics] == list(ENTRY_TYPES)
            and all(map(_has_last, topics, _NEWEST_FIELDS)))


def _has_last(topic: BagTopic, field: str) -> bool:
    """Tell whether a field is the last one of the type that a topic defines."""
    # Behind it are the types that it needs. Damage may have left no definition at all.
    own = (topic.definition or '').partition('\n====')[0]
    lines = [line.partition('#')[0].split() for line in own.splitlines()]
    fields = [words[1] for words in lines if len(words) > 1 and '=' not in words[1]]
    return fields[-1:] == [field]


def encode(record: JournalRecord | Picture) -> tuple[int, bytes]:
    """Return the number of the topic of a record, and its bytes."""
    if isinstance(record, Annotation):
        return ANNOTATION_TOPIC, annotation_bytes(record)
    if isinstance(record, Event):
        return EVENT_TOPIC, event_bytes(record)
    return PICTURE_TOPIC, picture_bytes(record)


def decode(pair: Pair) -> JournalEntry:
    """Return an annotation or event; a record that cannot be read is None, with the reason."""
    (number, topic, time, data), proof = pair
    record: JournalRecord | None = (read_annotation if topic == ANNOTATION_TOPIC
                                    else read_event)(data)
    error = '' if record is not None else 'it cannot be read: it is of a later version, or damaged'
    return JournalEntry(number, record, '' if proof is None else proof.reference, error, time)


def is_valid_entry(row: Row) -> bool:
    """Tell whether an entry without a record is whole."""
    _, topic, timestamp, data = row
    return (timestamp > 0 and 1 <= topic <= len(ENTRY_TYPES)
            and is_whole(data, ENTRY_TYPES[topic - 1]))


# ----- pictures -----


def late_reference(number: int) -> str:
    """Return how a picture refers to an annotation that was written before."""
    return f'{PICTURE_PREFIX}:{number}'


def with_pictures(records: Sequence[JournalRecord], references: Sequence[str] | None,
                  pictures: Sequence[Picture | None] | None
                  ) -> tuple[list[JournalRecord | Picture], list[str], Sequence[int]]:
    """Put pictures before the annotations that they belong to.

    Args:
        records: annotations and events.
        references: one per record; None: empty ones.
        pictures: one per record; None: none.

    Returns:
        All that is to be written, the references, and where among them the records are.
    """
    everything: list[JournalRecord | Picture] = []
    notes: list[str] = []
    places = []
    for place, record in enumerate(records):
        picture = pictures[place] if pictures is not None else None
        if picture is not None:
            everything.append(picture)
            notes.append(PICTURE_PREFIX)
        places.append(len(everything))
        everything.append(record)
        notes.append(references[place] if references is not None else '')
    return everything, notes, places


def pictures_of(references: Iterable[tuple[int, str]]) -> dict[int, int]:
    """Return the entry of the picture of each annotation.

    Args:
        references: number and reference of the pictures' entries.
    """
    found = {}
    for number, reference in references:
        owner = reference.removeprefix(PICTURE_PREFIX).removeprefix(':')
        if not owner:
            found[number + 1] = number
        elif owner.isdecimal():
            found[int(owner)] = number
    return found


# ----- numbers -----


def numbers_in_words(numbers: Iterable[int | range], most: int = 20) -> str:
    """Return rising numbers, or stretches of them, for people, with what follows joined.

    >>> numbers_in_words([3, 5, 6, range(7, 9), 11])
    '3, 5 to 8, 11'
    """
    parts: list[range] = []
    for number in numbers:
        # Stretches as they are: one number read wrong can make one of any length.
        part = number if isinstance(number, range) else range(number, number + 1)
        if parts and parts[-1].stop == part.start:
            parts[-1] = range(parts[-1].start, part.stop)
        else:
            parts.append(part)
    words = [str(part.start) if len(part) == 1 else f'{part.start} to {part[-1]}'
             for part in parts[:most]]
    more = len(parts) - most
    return ', '.join(words) + (f' and {more} more' if more > 0 else '')
