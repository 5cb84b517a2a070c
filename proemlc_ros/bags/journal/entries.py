# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of the journal: annotations and events, as messages of the bag and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from proemlc_ros.bags.cdr import is_whole, read_annotation, read_event
from proemlc_ros.bags.entry_definitions import entry_definition
from proemlc_ros.bags.journal.entry_proof import Row
from proemlc_ros.bags.journal.journal_file import Pair
from proemlc_ros.bags.metadata import BagTopic
from proemlc_ros.classifier.records import Annotation, Event
from proemlc_ros.conversions import (
    ANNOTATION_TYPE,
    EVENT_TYPE,
    PICTURE_TYPE,
    MessageFactory,
    annotation_message,
    annotation_of,
    event_message,
    event_of,
)

JournalRecord = Annotation | Event
ENTRY_TYPES = (ANNOTATION_TYPE, EVENT_TYPE, PICTURE_TYPE)
"""Message types of the entries, in the order of their topics."""

# Numbers of the topics.
EVENT_TOPIC, PICTURE_TOPIC = 2, 3
RECORD_TOPICS = (1, EVENT_TOPIC)

_TOPIC_ENDINGS = ('annotations', 'events', 'pictures')
# The fields that the newest version of each type has last; a definition without it is older.
NEWEST_FIELDS = ('entry', 'entry', 'data')


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


class EntryCodec:
    """Turns records to messages of the bag, and back.

    Args:
        messages: makes and serializes messages.
        node_name: fully qualified; the topics are named after it.
    """

    def __init__(self, messages: MessageFactory, node_name: str) -> None:
        self._messages = messages
        self._node_name = node_name

    def new_topics(self) -> list[BagTopic]:
        """Return the topics of a new journal."""
        prefix = self._node_name.rstrip('/')
        topics = []
        for ending, type_name in zip(_TOPIC_ENDINGS, ENTRY_TYPES, strict=True):
            definition, type_hash = entry_definition(type_name)
            topics.append(BagTopic(f'{prefix}/{ending}', type_name, definition=definition,
                                   type_hash=type_hash))
        return topics

    def is_current(self, topics: Sequence[BagTopic]) -> bool:
        """Tell whether a file with these topics takes the messages of this version."""
        return ([topic.type for topic in topics] == list(ENTRY_TYPES)
                and all(map(_has_last, topics, NEWEST_FIELDS)))

    def encode(self, record: JournalRecord) -> tuple[int, bytes]:
        """Return the index of the topic of a record, and its bytes."""
        if isinstance(record, Annotation):
            index, message = 0, annotation_message(self._messages, record)
        else:
            index, message = 1, event_message(self._messages, record)
        return index, self._messages.serialize(message, ENTRY_TYPES[index])

    def decode(self, pair: Pair) -> JournalEntry:
        """Return what was written; a record that cannot be read is None, with the reason."""
        (number, topic_number, time, data), proof = pair
        reference = '' if proof is None else proof.reference
        try:
            read = read_annotation if topic_number == 1 else read_event
            record: JournalRecord | None = read(data)
            if record is None:
                message = self._messages.deserialize(data, ENTRY_TYPES[topic_number - 1])
                record = (annotation_of if topic_number == 1 else event_of)(message)
        except Exception as error:  # Deserializers raise what they like.
            return JournalEntry(number, None, reference, f'it cannot be read: {error!r}', time)
        return JournalEntry(number, record, reference, time=time)


def _has_last(topic: BagTopic, field: str) -> bool:
    """Tell whether a field is the last one of the type that a topic defines."""
    own = topic.definition.partition('\n====')[0]  # Behind it are the types that it needs.
    lines = [line.partition('#')[0].split() for line in own.splitlines()]
    fields = [words[1] for words in lines if len(words) > 1 and '=' not in words[1]]
    return fields[-1:] == [field]


def is_valid_entry(row: Row) -> bool:
    """Tell whether an entry without a record is whole."""
    _, topic_number, timestamp, data = row
    return (timestamp > 0 and 1 <= topic_number <= len(ENTRY_TYPES)
            and is_whole(data, ENTRY_TYPES[topic_number - 1]))
