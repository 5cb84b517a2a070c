# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations that a bag holds twice: as sent to a classifier, and as it published them learnt.

`ros2 bag record -a` records both `~/annotations` and `~/learnt`, which have the same type. What
came by the service `~/annotate` is in `~/learnt` alone, so neither topic can be left out as a
whole.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from proemlc_ros.bags.entry_order import Record
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.cdr import read_annotation
from proemlc_ros.conversions import annotation_of
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.records import Annotation

_SENT, _LEARNT = '/annotations', '/learnt'
_Content = tuple[tuple[str, ...], tuple[str, ...], bool, str]


class _Seen(NamedTuple):
    """An annotation of a topic: its place among the messages of the topic, and what it says."""

    place: int
    stamp: int
    has_features: bool
    entry: int


@dataclass
class Copies:
    """What a bag holds twice.

    Attributes:
        skipped: places of the messages to leave out, by topic; the first message of a topic is 0.
        entries: numbers of journal entries that the copies left out have, by topic and place of
            those that stay.
    """

    skipped: dict[str, set[int]] = field(default_factory=dict)
    entries: dict[str, dict[int, int]] = field(default_factory=dict)

    def numbered(self, record: Record, topic: str, places: dict[str, int]) -> Record:
        """Return an annotation with the number that only its copy has; anything else as it is.

        Args:
            record: what was read.
            topic: from which.
            places: of the messages that were read last, by topic.
        """
        entries = self.entries.get(topic)
        if entries and isinstance(record, Annotation):
            return record._replace(entry=entries.get(places[topic], record.entry))
        return record


def node_of(topic: str) -> str:
    """Return the full name of the node whose private topic this is, such as /proemlc."""
    return topic.rpartition('/')[0]


def find_copies(bag: BagReader, topics: Sequence[BagTopic],
                prefer_learnt: bool) -> Copies:
    """Find which messages to leave out, so that each annotation is there once.

    Args:
        bag: open bag.
        topics: its topics of annotations.
        prefer_learnt: whether the copy of `~/learnt` stays, which has the stamp of the vector
            that the node found; else that of `~/annotations`.
    """
    names = {topic.name for topic in topics}
    copies = Copies()
    for topic in topics:
        node = node_of(topic.name)
        sent, learnt = node + _SENT, node + _LEARNT
        if topic.name == sent and learnt in names:
            pairs = _pairs(_contents(bag, topics, sent), _contents(bag, topics, learnt))
            copies.skipped[sent], copies.skipped[learnt] = set(), set()
            copies.entries[sent] = {}
            for one, other in pairs:
                # What ~/learnt publishes has no features, so that the other one is needed.
                if prefer_learnt and not one.has_features:
                    copies.skipped[sent].add(one.place)
                else:
                    copies.skipped[learnt].add(other.place)
                    copies.entries[sent][one.place] = other.entry
    return copies


def _contents(bag: BagReader, topics: Sequence[BagTopic],
              name: str) -> dict[_Content, list[_Seen]]:
    """Return the annotations of a topic by what they say."""
    topic = next(topic for topic in topics if topic.name == name)
    shortcut = read_annotation if bag.has_our(topic.type) else None
    found: dict[_Content, list[_Seen]] = defaultdict(list)
    for place, (_, _, data) in enumerate(bag.raw({name})):
        said = shortcut(data) if shortcut is not None else None
        if said is None:
            try:
                said = annotation_of(bag.types.deserialize_cdr(data, topic.type))
            except Exception:  # As in raw(); the stream tells of it, or stops at it.
                continue
        found[_content(said)].append(_Seen(
            place, said.stamp, said.features is not None, said.entry))
    return found


def _content(said: Annotation) -> _Content:
    return _normal(said.labels), _normal(said.absent), said.complete, said.annotator


def _normal(names: Iterable[str]) -> tuple[str, ...]:
    # As the node does before it learns a name.
    return tuple(sorted({unicodedata.normalize('NFC', name) for name in names}))


def _pairs(sent: dict[_Content, list[_Seen]],
           learnt: dict[_Content, list[_Seen]]) -> list[tuple[_Seen, _Seen]]:
    """Pair by stamp, then those about the newest vector, or about one near, in their order."""
    pairs = []
    for content, ones in sent.items():
        by_stamp: dict[int, list[_Seen]] = defaultdict(list)
        for other in learnt.get(content, ()):
            by_stamp[other.stamp].append(other)
        left = []
        for one in ones:
            others = by_stamp.get(one.stamp)
            if others:
                pairs.append((one, others.pop(0)))
            else:
                left.append(one)
        rest = sorted(other for others in by_stamp.values() for other in others)
        pairs += zip((one for one in left if not one.has_features), rest, strict=False)
    return pairs
