# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When a recording shows which label, in memory that depends on the number of labels alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from proemlc_ros import conversions
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.classifier.records import EventKind


@dataclass
class LabelHistory:
    """The labels over the length of a recording.

    Attributes:
        start: Beginning in nanoseconds.
        end: End in nanoseconds.
        bins: For each label, in order of appearance, how often each part of the length shows it.
        first: For each label, when it was named first, in nanoseconds.
        annotations: Number of annotations.
        incomplete: Number of annotations that leave labels unknown.
        events: Numbers of changes of the model by kind, for a journal.

    """

    start: int
    end: int
    bins: dict[str, list[int]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    annotations: int = 0
    incomplete: int = 0
    events: Counter[str] = field(default_factory=Counter)

    def count(self, label: str) -> int:
        """Return how many annotations show a label."""
        return sum(self.bins[label])


def label_history(bag: BagReader, parts: int = 60) -> LabelHistory:
    """Read the annotations and model events of a recording.

    Args:
        bag: The recording.
        parts: Into how many parts to divide its length.

    """
    history = LabelHistory(bag.start, bag.end)
    span = max(1, bag.end - bag.start)
    topics = bag.of_type(conversions.ANNOTATION_TYPE, conversions.EVENT_TYPE)
    for topic, time, message in bag.records(topics):
        if topic.type == conversions.EVENT_TYPE:
            history.events[_event_name(message.kind)] += 1
            continue
        said = conversions.annotation_of(message)
        history.annotations += 1
        history.incomplete += not said.complete
        part = min(parts - 1, (time - bag.start) * parts // span)
        for label in said.labels:
            history.first.setdefault(label, time)
            history.bins.setdefault(label, [0] * parts)[part] += 1
    return history


def _event_name(kind: int) -> str:
    try:
        return EventKind(kind).name.lower()
    except ValueError:
        return f'unknown ({kind})'
