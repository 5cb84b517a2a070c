# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators do to the model: the actions they can take, and the log of those taken."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from proemlc_ros.records import (
    WHOLE,
    Annotation,
    Event,
    EventKind,
    Region,
    StampedPrediction,
)

if TYPE_CHECKING:
    from proemlc_ros.operator.review import ReviewActions


@dataclass(frozen=True, slots=True)
class ActionResult:
    """How an action ended: whether it was done, and the classifier's message."""

    done: bool
    message: str


class Actions(Protocol):
    """The classifier's services; `who` is the operator, for the activity log."""

    @property
    def review(self) -> ReviewActions:
        """The services for looking through what was taught, and correcting it."""

    async def annotate(self, annotation: Annotation, request_id: str = '') -> ActionResult:
        """Teach an annotation; done only once it is durable. Without an id it gets one."""

    async def undo(self, who: str) -> ActionResult:
        """Undo the last annotation."""

    async def rename(self, who: str, label: str, new_label: str) -> ActionResult:
        """Rename a label."""

    async def remove(self, who: str, label: str) -> ActionResult:
        """Remove a label and what was learnt of it."""

    async def save(self, who: str, file_name: str, keep_existing: bool = False) -> ActionResult:
        """Write the model to a file; an empty name means the classifier's own snapshot."""

    async def load(self, who: str, file_name: str) -> ActionResult:
        """Replace the model by that of a file."""

    async def control_source(self, command: str, position: int,
                             things: tuple[str, ...]) -> ActionResult:
        """Play, pause, step or move the source of the pictures, or put things before it."""

    async def predict(self, stamp: int, region: Region = WHOLE) -> StampedPrediction | None:
        """Return the prediction of a held vector by the present model; None where it cannot."""

    async def draw(self, stamp: int, region: Region) -> None:
        """Have a box of a picture classified; one of no size only keeps the picture for later."""


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
    """The last changes of the model.

    Args:
        max_count: entries kept; the oldest are dropped first.
    """

    def __init__(self, max_count: int = 50) -> None:
        self._entries: deque[ActivityEntry] = deque(maxlen=max_count)
        self._count = 0

    @property
    def entries(self) -> list[ActivityEntry]:
        """The entries, oldest first."""
        return list(self._entries)

    def restore(self, entries: Iterable[ActivityEntry]) -> None:
        """Put entries of an earlier run before those of this one, which are numbered after."""
        later = self.entries
        self._entries.clear()
        for entry in entries:
            self._entries.append(entry)
            self._count = max(self._count, entry.number)
        for entry in later:
            self.add(entry.who, entry.text)

    def add(self, who: str, text: str) -> None:
        """Add an entry."""
        self._count += 1
        self._entries.append(ActivityEntry(self._count, time.time(), who, text))


def describe_event(event: Event) -> str:
    """Return a change of the model in words.

    >>> describe_event(Event(EventKind.RENAME, label='cups', new_label='cup'))
    'renamed cups to cup'
    """
    return {
        EventKind.UNDO: f'took back entry {event.sample}' if event.sample else (
            'took back the last annotation'),
        EventKind.RENAME: f'renamed {event.label} to {event.new_label}',
        EventKind.REMOVE: f'removed {event.label}',
        EventKind.RESET: 'reset the model',
        EventKind.LOAD: f'loaded {event.file_name or "the snapshot"}',
        EventKind.RENEW: 'renewed the model',
        EventKind.RELABEL: f'relabelled sample {event.sample} as '
                           f'{", ".join(event.labels) or "none of the labels"}',
        EventKind.DELETE: f'deleted sample {event.sample}',
        EventKind.MERGE_LABELS: f'merged {event.label} into {event.new_label}',
        EventKind.REDO: f'made entry {event.sample} again',
    }[event.kind]


def describe_annotation(annotation: Annotation) -> str:
    """Return the labels of an annotation in words.

    >>> describe_annotation(Annotation(0, ('cup',), ('bowl',), complete=False))
    'cup, not bowl'
    """
    words = [*annotation.labels, *(f'not {name}' for name in annotation.absent)]
    if not words:
        return 'none of the labels' if annotation.complete else 'nothing'
    return ', '.join(words)
