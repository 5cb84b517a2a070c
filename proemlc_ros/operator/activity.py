# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What was done to the model and by whom, for everybody at the table to see."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from proemlc_ros.classifier.records import Event, EventKind


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One change of the model.

    Args:
        number: counts up from 1.
        time: seconds since 1970.
        who: the operator, empty where not known.
        text: what was done, for people.
    """

    number: int
    time: float
    who: str
    text: str


class ActivityLog:
    """The last deeds, newest last."""

    def __init__(self, max_count: int = 50) -> None:
        self._deeds: deque[ActivityEntry] = deque(maxlen=max_count)
        self._count = 0

    @property
    def last_number(self) -> int:
        """Number of the newest deed; 0 before the first."""
        return self._count

    @property
    def deeds(self) -> list[ActivityEntry]:
        """The deeds, oldest first."""
        return list(self._deeds)

    def add(self, who: str, text: str) -> ActivityEntry:
        """Note a deed and return it."""
        self._count += 1
        deed = ActivityEntry(self._count, time.time(), who, text)
        self._deeds.append(deed)
        return deed


def describe_event(event: Event) -> str:
    """Say in words how the model was changed.

    >>> describe_event(Event(EventKind.RENAME, label='cups', new_label='cup'))
    'renamed cups to cup'
    """
    return {
        EventKind.UNDO: 'took back the last annotation',
        EventKind.RENAME: f'renamed {event.label} to {event.new_label}',
        EventKind.REMOVE: f'removed {event.label}',
        EventKind.RESET: 'reset the model',
        EventKind.LOAD: f'loaded {event.file_name or "the snapshot"}',
    }[event.kind]


def describe(labels: tuple[str, ...], absent: tuple[str, ...], complete: bool) -> str:
    """Say in words what an annotation states.

    >>> describe(('cup',), ('bowl',), False)
    'cup, not bowl'
    """
    words = [*labels, *(f'not {name}' for name in absent)]
    if not words:
        return 'none of the labels' if complete else 'nothing'
    return ', '.join(words)
